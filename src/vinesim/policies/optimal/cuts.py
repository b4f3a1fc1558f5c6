"""Linear constraints on the classes of units that run each task, which every schedule with a given end satisfies.

In the exact model of R | r_j | Cmax, for each unit and each release time q, the tasks released at q or later that run
there fit between q and the end. Summed over the m units of a class, ``sum p x <= m (end - q)``. This also holds after
rounding by a dual feasible function, because at most k tasks longer than (end - q) / (k + 1) run on a unit.
Source: S. P. Fekete, J. Schepers, New classes of fast lower bounds for bin packing problems, 2001.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from vinesim.policies.optimal.instance import WholeTimes

MAX_PARTS = 5  # k: higher values gain little
MAX_RELEASES = 64  # release times considered for each class


def may_run(whole: WholeTimes, end: int) -> np.ndarray:
    """[N, C] bool: whether the task, begun at its release, finishes on the class by the end."""
    return (whole.times >= 0) & (whole.release[:, None] + whole.times <= end)


def add_cuts(cp: Any, whole: WholeTimes, count: np.ndarray, assigned: dict[tuple[int, int], Any], end: int) -> None:
    """Add the constraints for schedules that end by ``end``. ``assigned`` [task, class] are the choices."""
    for c, m in enumerate(count.tolist()):
        tasks = np.array([task for task, k in assigned if k == c], np.int64)
        for q, members in _later(whole.release, tasks, m):
            room = end - q
            times = whole.times[members, c]
            chosen = [assigned[task, c] for task in members.tolist()]
            _at_most(cp, chosen, times, m * room)
            for k in range(1, MAX_PARTS + 1):
                _at_most(cp, chosen, np.maximum(0, (k + 1) * times - 1) // max(1, room), k * m)


def _later(release: np.ndarray, tasks: np.ndarray, m: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield release times with the tasks that are released then or later, if there are more of them than units."""
    times = np.unique(release[tasks])
    for q in times[:: max(1, -(-len(times) // MAX_RELEASES))].tolist():
        members = tasks[release[tasks] >= q]
        if len(members) <= m:
            return
        yield q, members


def _at_most(cp: Any, chosen: list[Any], weights: np.ndarray, limit: int) -> None:
    if int(weights.sum()) > limit:
        cp.add(sum(int(w) * x for w, x in zip(weights, chosen, strict=True) if w) <= limit)
