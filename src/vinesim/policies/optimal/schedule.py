"""A schedule: the class of units that runs each task, and the order. Its times follow from that."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vinesim.policies.optimal.instance import Instance, Objective


@dataclass(frozen=True, eq=False)
class Schedule:
    """Every task on a unit from a start to a finish, in float64 us."""

    unit: np.ndarray  # [N] int32
    chosen: np.ndarray  # [N] int64: class of the unit
    start_us: np.ndarray  # [N]
    finish_us: np.ndarray  # [N]

    def value_us(self, instance: Instance, objective: Objective) -> float:
        """Return the makespan, or the sum of the jobs' finish times."""
        if objective == "makespan":
            return float(self.finish_us.max())
        first = np.flatnonzero(np.diff(instance.job, prepend=-1))
        return float(np.maximum.reduceat(self.finish_us, first).sum())


def in_order(instance: Instance, order: Sequence[int], chosen: np.ndarray | None = None) -> Schedule:
    """Assign the tasks in this order to the unit of their class that is free first; without classes, to the class where
    they finish first."""
    n = instance.n_tasks
    free = [[(0.0, int(unit)) for unit in units] for units in instance.units]
    unit, where = np.empty(n, np.int32), np.empty(n, np.int64)
    start, finish = np.empty(n), np.empty(n)
    for task in order:
        release, times = instance.release_us[task], instance.times_us[task]
        if chosen is None:
            ready = np.maximum(release, [units[0][0] for units in free])
            c = int(np.argmin(ready + times))
        else:
            c = int(chosen[task])
        free_us, unit[task] = free[c][0]
        where[task], start[task] = c, max(release, free_us)
        finish[task] = start[task] + times[c]
        heapq.heapreplace(free[c], (float(finish[task]), int(unit[task])))
    return Schedule(unit, where, start, finish)


def orders(release_us: np.ndarray, times_us: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return orders of the tasks [N] to try: by arrival, longest first, shortest first, by release + time, and by
    release - time."""
    keys = (release_us, -times_us, times_us, release_us + times_us, release_us - times_us)
    return tuple(np.argsort(key, kind="stable") for key in keys)


def greedy(instance: Instance, objective: Objective) -> Schedule:
    """Return the best of several list schedules by earliest finish."""
    found = [in_order(instance, order.tolist()) for order in orders(instance.release_us, instance.times_us.min(axis=1))]
    return min(found, key=lambda schedule: schedule.value_us(instance, objective))


def turns(schedule: Schedule, n_units: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first task of each unit [U], and the task that follows each one on its unit [N]; -1 for none."""
    first, following = np.full(n_units, -1, np.int64), np.full(len(schedule.unit), -1, np.int64)
    last: dict[int, int] = {}
    for task in np.lexsort((np.arange(len(schedule.unit)), schedule.finish_us, schedule.start_us)).tolist():
        unit = int(schedule.unit[task])
        if unit in last:
            following[last[unit]] = task
        else:
            first[unit] = task
        last[unit] = task
    return first, following
