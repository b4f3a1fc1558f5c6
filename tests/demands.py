"""The rule of demands once more, plainly, so that tests do not judge the package by its own."""

import math

import numpy as np

import vinesim as vs


def taken(demand, capacity):
    """What a task of that demand takes of a unit of that capacity."""
    if math.isnan(demand):
        return min(1.0, capacity)
    return capacity if demand == math.inf else demand


takes = np.vectorize(taken, otypes=[float])


def demands_of(work: vs.Workload) -> np.ndarray:
    """[N] as given; NaN where nobody gave one."""
    return np.full(work.n_tasks, np.nan) if work.demand is None else work.demand
