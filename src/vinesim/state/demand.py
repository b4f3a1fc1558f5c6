"""How much of a unit's capacity a task takes: the one rule, for a task and for arrays of tasks.

A demand is a number, 0 or more; infinite (``WHOLE_UNIT``) for all the capacity of whatever unit runs the task; or NaN
(``ONE_SLOT``), where nobody gave one.
"""

import math
from typing import Any

import numpy as np


def amount_of(demand: float, capacity: float) -> float:
    """What a task of that demand takes of a unit of that capacity: one slot is 1, or all of a smaller unit."""
    if math.isnan(demand):
        return min(1.0, capacity)
    return capacity if math.isinf(demand) else demand


def amounts(demand: Any, capacity: Any) -> np.ndarray:
    """The same for arrays, which are broadcast; the result is not to be written to."""
    demand, capacity = np.asarray(demand, np.float64), np.asarray(capacity, np.float64)
    if np.isfinite(demand).all():
        return np.broadcast_to(demand, np.broadcast_shapes(demand.shape, capacity.shape))
    return np.where(np.isnan(demand), np.minimum(1.0, capacity), np.where(np.isinf(demand), capacity, demand))
