"""Pods of GPUs, cores and memory on a large cluster, and tasks with two companions: the models of vectors.py."""

from dataclasses import replace

import numpy as np

import vinesim as vs
from benchmarks.cases import Case

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
    companions = {"MEMORY": np.full(case.n_tasks, 4.0), "DISK": np.full(case.n_tasks, 0.05)}
    affinity = np.zeros((len(types), plain.affinity.shape[1]))
    affinity[: len(plain.affinity)] = plain.affinity
    return replace(plain, datacenter=center, workload=case.workload(companions=companions), affinity=affinity)
