"""Tasks that hold several units: pods of GPUs, cores and memory on a large cluster, and B with two companions."""

import math
from dataclasses import replace

import numpy as np

import vinesim as vs
from benchmarks import engine
from benchmarks.cases import B_CONST, B_VAR, Case
from benchmarks.measure import best_of
from benchmarks.report import Report, Table, Target, figure

POD_TYPES = (
    vs.ProcessorType("CPU", capacity=96.0),
    vs.ProcessorType("GPU"),
    vs.ProcessorType("MEMORY", capacity=768.0),
)
GPUS = 8  # a node
# GPUs, share of each, cores, GiB
SHAPES = ((1, 1.0, 8, 64), (1, 0.5, 4, 24), (1, 0.25, 4, 16), (2, 1.0, 16, 128), (4, 1.0, 32, 256), (8, 1.0, 64, 512))


def cluster(n_nodes: int) -> vs.Datacenter:
    """Nodes of one CPU, 8 GPUs and memory, 20 a rack."""
    a_node = np.array([0, *[1] * GPUS, 2])
    node = np.repeat(np.arange(n_nodes), len(a_node))
    return vs.Datacenter(np.tile(a_node, n_nodes), node // 20, node % 20, POD_TYPES)


def pods(n_nodes: int, n_pods: int, load: float) -> vs.Scenario:
    """Pods of the shapes at random, in the order of arrival, at a load of the GPUs."""
    random = np.random.default_rng(1)
    units, share, cores, memory = np.array(SHAPES)[random.integers(0, len(SHAPES), n_pods)].T
    took_us = random.exponential(1e6, n_pods)
    rate = load * n_nodes * GPUS / float((units * share).mean() * 1e6)
    nothing = np.zeros(n_pods)
    work = vs.Workload(
        job_task_type=nothing,
        job_first=np.arange(n_pods + 1),
        arrival_us=np.cumsum(random.exponential(1 / rate, n_pods)),
        operations=took_us,
        data_bytes=nothing,
        data_rack=nothing,
        data_shelf=nothing,
        preferred_type=nothing - 1,
        demand=share,
        units=units,
        companions={"CPU": cores, "MEMORY": memory},
        lead_types=nothing,
        lead_sets=(("GPU",),),
        task_types=(vs.TaskType("POD"),),
    )
    return vs.Scenario(cluster(n_nodes), work, "flat", {"order": "xy"}, affinity=np.array([[0.0], [1.0], [0.0]]))


def with_companions(case: Case) -> vs.Scenario:
    """The case with two further units at each node, of which each task holds some; there is always enough of both."""
    plain = case.scenario()
    types = (*plain.datacenter.processor_types, vs.ProcessorType("MEMORY", capacity=64.0), vs.ProcessorType("DISK"))
    per_node = np.arange(0, case.n_units, 10)
    center = replace(
        plain.datacenter,
        unit_type=np.r_[plain.datacenter.unit_type, *([len(types) - 2 + i] * len(per_node) for i in range(2))],
        rack=np.r_[plain.datacenter.rack, per_node // 100, per_node // 100],
        shelf=np.r_[plain.datacenter.shelf, per_node % 100 // 10, per_node % 100 // 10],
        processor_types=types,
    )
    beside = {"MEMORY": np.full(case.n_tasks, 4.0), "DISK": np.full(case.n_tasks, 0.05)}
    affinity = np.zeros((len(types), plain.affinity.shape[1]))
    affinity[: len(plain.affinity)] = plain.affinity
    return replace(plain, datacenter=center, workload=case.workload(companions=beside), affinity=affinity)


def run(quick: bool) -> Report:
    n_nodes, n_pods = (1_000, 100_000) if quick else (100_000, 1_000_000)
    rows, targets = [], []
    for load in (0.5, 0.9, 1.1):
        (rate,) = _rates([pods(n_nodes, n_pods, load)], 1 if quick else 3)
        rows.append([f"{n_nodes:,} nodes, {n_pods:,} pods, load {load:g}", figure(rate)])
    targets.append(Target("pods a second at load 0.9, millions", float(rows[1][1].replace(",", "")), 1.0, None, ""))
    scored = replace(pods(n_nodes, n_pods, 0.9), policy="fgd", options={})
    engine.built(replace(pods(100, 100, 0.9), policy="fgd", options={}))  # compiles it
    took_s, _ = best_of(1, lambda: lambda: vs.simulate(scored, engine="compiled"))
    rows.append(["the same at load 0.9 under fgd, simulate() as a whole", figure(n_pods / took_s / 1e6)])
    targets.append(Target("pods a second under fgd, millions", n_pods / took_s / 1e6, 0.1, None, ""))
    for case in (B_CONST, B_VAR):
        part = case.first(200_000) if quick else case
        alone, beside = _rates([part.scenario(), with_companions(part)], 7)
        rows.append([f"{case.name}", figure(alone)])
        rows.append([f"{case.name}, each task with two companions", figure(beside)])
        targets.append(Target(f"{case.name}, time with two companions", alone / beside, 1.3, None, " x", True))
    note = "CPU time of the event loop, best of several runs; pods under flat in the order of the units, B under HIGH."
    return Report([Table("Tasks that hold several units, million tasks a second", ["", ""], rows, note)], targets)


def _rates(scenarios: list[vs.Scenario], n_rounds: int) -> list[float]:
    """Million tasks a second of each, measured in turns: the speed of the machine changes."""
    best_s = [math.inf] * len(scenarios)
    for _ in range(n_rounds):
        for i, scenario in enumerate(scenarios):
            best_s[i] = min(best_s[i], best_of(1, lambda: engine.loop_of(scenario))[0])  # noqa: B023  called at once
    return [one.workload.n_tasks / took_s / 1e6 for one, took_s in zip(scenarios, best_s, strict=True)]
