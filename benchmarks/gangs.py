"""Training jobs of 1 to 128 GPUs: the policies that take gangs."""

from itertools import product

import numpy as np

from benchmarks import engine
from benchmarks.measure import best_of
from benchmarks.report import Report, Table, Target, figure
from benchmarks.training import N_JOBS, N_NODES, scenario

POLICIES = ("fcfs", "easy_backfill", "las", "srtf")
LOADS = (0.9, 1.1)  # at 0.9 few jobs wait; at 1.1 more and more


def run(quick: bool) -> Report:
    n_jobs, n_nodes = (4_000, 60) if quick else (N_JOBS, N_NODES)
    rows, targets = [], []
    for name, load in product(POLICIES, LOADS):
        made = scenario(name, load, n_jobs, n_nodes)
        took_s, finish_us = best_of(1, lambda made=made: engine.loop_of(made))
        latency_us = np.maximum.reduceat(finish_us, made.workload.job_first[:-1]) - made.workload.arrival_us
        hours = [figure(float(value) / 3.6e9) for value in (latency_us.mean(), np.median(latency_us))]
        rows.append([f"{name}, load {load:g}", figure(took_s), *hours])
        targets.append(Target(f"{name}, load {load:g}, s", took_s, 10.0, None, "", True))
    title = f"{n_jobs:,} jobs of 1 to 128 GPUs on {n_nodes} nodes of 8"
    note = "CPU time of the event loop, one run; the latency of a job from its arrival to its last finish, in hours."
    return Report([Table(title, ["", "s", "mean latency", "median"], rows, note)], [] if quick else targets)
