"""An independent, simple implementation of the rule of demands, to test the package against."""

import math

import numpy as np

import vinesim as vs


def taken(demand, capacity):
    """Return what a task with this demand takes of a unit with this capacity."""
    if math.isnan(demand):
        return min(1.0, capacity)
    return capacity if demand == math.inf else demand


takes = np.vectorize(taken, otypes=[float])


def demands_of(work: vs.Workload) -> np.ndarray:
    """Return [N] the demands; NaN where none is given."""
    return np.full(work.n_tasks, np.nan) if work.demand is None else work.demand
