"""RBSS: a million jobs on 10,000 nodes of three devices; does a job cost the same however many wait?"""

import numpy as np

import vinesim as vs
from benchmarks import engine
from benchmarks.measure import best_of
from benchmarks.report import Report, Table, figure

TYPES = (
    vs.ProcessorType("CPU6", attributes={"cores": 6}),
    vs.ProcessorType("CPU12", attributes={"cores": 12}),
    vs.ProcessorType("GPU7", attributes={"sms": 7}),
    vs.ProcessorType("GPU13", attributes={"sms": 13}),
    vs.ProcessorType("GPU15", attributes={"sms": 15}),
)
NODES = ((0, 2, 3), (1, 3, 4), (1, 4, 2))  # in turn: a CPU and two GPUs
SPEED = np.array([1.0, 2.0, 2.0, 4.0, 5.0])
N_TASK_TYPES, MEAN_OPERATIONS, LOAD = 10, 1e7, 0.9
POLICIES = ("rb_fifo", "rb_sjf", "rb_ljf", "rb_ljf_ba", "rb_ljf_ocl")


def scenario(n_jobs: int, n_nodes: int, policy: str, n_waiting: int = 0) -> vs.Scenario:
    """Ten types of jobs, three requests of cores and of SMs; ``n_waiting`` are there from the beginning."""
    rng = np.random.default_rng(1)
    node = np.repeat(np.arange(n_nodes), 3)
    unit_type = np.array(NODES)[np.arange(n_nodes) % 3].reshape(-1)
    center = vs.Datacenter(unit_type, node // 50, node % 50, TYPES)
    gap = MEAN_OPERATIONS / (SPEED[unit_type].sum() * LOAD)
    arrival = np.sort(rng.uniform(0, gap * n_jobs, n_jobs))
    arrival[:n_waiting] = 0.0
    nothing = np.zeros(n_jobs)
    work = vs.Workload(
        rng.integers(0, N_TASK_TYPES, n_jobs),
        np.arange(n_jobs + 1),
        arrival,
        rng.uniform(0.5, 1.5, n_jobs) * MEAN_OPERATIONS,
        *(nothing, nothing, nothing),
        np.full(n_jobs, -1),
        requests={"cores": rng.choice([4, 6, 12], n_jobs), "sms": rng.choice([7, 13, 15], n_jobs)},
        task_types=tuple(vs.TaskType(f"T{t}") for t in range(N_TASK_TYPES)),
    )
    affinity = SPEED[:, None] * rng.uniform(0.6, 1.4, (len(TYPES), N_TASK_TYPES))
    return vs.Scenario(center, work, policy, affinity=affinity)


def run(quick: bool) -> Report:
    n_jobs, n_nodes = (50_000, 1_000) if quick else (1_000_000, 10_000)
    waiting = (0, n_jobs // 5)
    rows = []
    for policy in POLICIES[-2:] if quick else POLICIES:
        row = [policy]
        for n_waiting in waiting:
            made = scenario(n_jobs, n_nodes, policy, n_waiting)
            best_s, _ = best_of(1 if quick else 2, lambda made=made: engine.loop_of(made))
            row += [figure(best_s), figure(n_jobs / best_s)]
        rows.append(row)
    columns = ["", *(f"{what}, {n:,} waiting at first" for n in waiting for what in ("s", "jobs a second"))]
    note = f"{n_jobs:,} jobs of 90 groups on {n_nodes:,} nodes of three devices, 90 % load; the event loop."
    return Report([Table("RBSS", columns, rows, note)])
