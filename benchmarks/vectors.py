"""Tasks that hold several units: pods of GPUs, cores and memory on a large cluster, and B with two companions."""

import math
from dataclasses import replace

import vinesim as vs
from benchmarks import engine
from benchmarks.cases import B_CONST, B_VAR
from benchmarks.measure import best_of
from benchmarks.pods import pods, with_companions
from benchmarks.report import Report, Table, Target, figure


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
        alone, companions = _rates([part.scenario(), with_companions(part)], 7)
        rows.append([f"{case.name}", figure(alone)])
        rows.append([f"{case.name}, each task with two companions", figure(companions)])
        targets.append(Target(f"{case.name}, time with two companions", alone / companions, 1.3, None, " x", True))
    note = "CPU time of the event loop, best of several runs; pods under flat in the order of the units, B under HIGH."
    return Report([Table("Tasks that hold several units, million tasks a second", ["", ""], rows, note)], targets)


def _rates(scenarios: list[vs.Scenario], n_rounds: int) -> list[float]:
    """Million tasks a second of each, measured in turns: the speed of the machine changes."""
    best_s = [math.inf] * len(scenarios)
    for _ in range(n_rounds):
        for i, scenario in enumerate(scenarios):
            best_s[i] = min(best_s[i], best_of(1, lambda: engine.loop_of(scenario))[0])  # noqa: B023  called at once
    return [one.workload.n_tasks / took_s / 1e6 for one, took_s in zip(scenarios, best_s, strict=True)]
