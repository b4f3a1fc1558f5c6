"""How much of a unit's capacity a task takes: the only rule, for one task and for arrays of tasks.

A demand is a number, 0 or more; infinite (``WHOLE_UNIT``) for the whole capacity of any unit; or NaN (``ONE_SLOT``) if
none was given.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from vinesim.model.workload import ONE_SLOT, Workload


def amount_of(demand: float, capacity: float) -> float:
    """Return how much of a unit of that capacity a task of that demand takes: one slot is 1, or all of a smaller
    unit."""
    if math.isnan(demand):
        return min(1.0, capacity)
    return capacity if math.isinf(demand) else demand


def amounts(demand: Any, capacity: Any) -> np.ndarray:
    """Return the same as ``amount_of`` for arrays, which are broadcast; do not write to the result."""
    demand, capacity = np.asarray(demand, np.float64), np.asarray(capacity, np.float64)
    if np.isfinite(demand).all():
        return np.broadcast_to(demand, np.broadcast_shapes(demand.shape, capacity.shape))
    return np.where(np.isnan(demand), np.minimum(1.0, capacity), np.where(np.isinf(demand), capacity, demand))


def comparable(demand: np.ndarray) -> np.ndarray:
    """Return the demands with -1 in place of ``ONE_SLOT``, which as NaN equals nothing and has no order."""
    return np.where(np.isnan(demand), -1.0, demand)


def take_whole_units(demand: np.ndarray | None, sizes: Iterable[float]) -> bool:
    """Whether tasks of these demands [N], or without any, take the whole of units of each of these capacities."""
    if demand is None:
        return all(amount_of(ONE_SLOT, size) == size for size in sizes)
    return all((amounts(demand, size) == size).all() for size in sizes)


def demands(work: Workload) -> np.ndarray:
    """[N] the tasks' demands, spelled out where a workload has none."""
    return np.full(work.n_tasks, ONE_SLOT) if work.demand is None else work.demand
