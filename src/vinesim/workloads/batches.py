"""Jobs of many tasks with a demand and a time: the workload of the energy-aware scheduler thesis."""

from dataclasses import replace

import numpy as np

from vinesim.model.catalog import SERVER_TYPES, code_of
from vinesim.model.errors import InputError, Problem
from vinesim.model.time import US_PER_S
from vinesim.model.workload import Workload
from vinesim.workloads.assemble import assemble, check_counts
from vinesim.workloads.setting import Setting


def affinity() -> np.ndarray:
    """Return the operations per us [A B C D, TASK], all 1: a task's operations are its time in us on any server."""
    return np.ones((len(SERVER_TYPES), 1))


def batches(
    setting: Setting,
    *,
    n_batches: int = 20,
    tasks_per_batch: int = 2000,
    demand_min: int = 1,
    demand_max: int = 100,
    time_min_s: int = 1,
    time_max_s: int = 100,
    task_type: str | None = None,
) -> Workload:
    """One job of many tasks per inter-arrival time; demands and times (in s) are uniform whole numbers of a range.

    A job is a batch of the thesis, and the inter-arrival time is its batch period. ``task_type`` defaults to the first
    one. Source: energy-aware scheduler thesis, sections 3.5 (ranges) and 4 (20 batches of 2,000). That the ranges
    exclude zero, and that values are whole and uniform, is VineSim's reading; it gives the thesis' energies.
    """
    check_counts(n_batches=n_batches, tasks_per_batch=tasks_per_batch)
    problems = [
        Problem((f"{name}_min",), f"{least} or more, not above {name}_max", f"{low} and {high}")
        for name, least, low, high in (("demand", 0, demand_min, demand_max), ("time", 0, time_min_s, time_max_s))
        if not least <= low <= high
    ]
    if problems:
        raise InputError(problems)
    n_tasks = n_batches * tasks_per_batch
    random = setting.sizes()
    demand = random.integers(demand_min, demand_max + 1, n_tasks).astype(np.float64)
    time_us = random.integers(time_min_s, time_max_s + 1, n_tasks) * US_PER_S
    code = code_of(("task_type",), task_type or setting.task_types[0].name, setting.task_types)
    sizes = np.full(n_batches, tasks_per_batch)
    return replace(
        assemble(sizes, np.full(n_batches, code), 1.0, **setting.common()), operations=time_us, demand=demand
    )
