"""The CP-SAT model: for each task an optional interval on each class of units, exactly one present; a cumulative
constraint for each class, since its units are identical; and the cuts of ``cuts.py``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from vinesim.policies.optimal.cuts import add_cuts, may_run
from vinesim.policies.optimal.instance import Instance, Objective, WholeTimes
from vinesim.policies.optimal.schedule import Schedule
from vinesim.policies.optimal.solver import cp_sat


class ScheduleModel:
    """The CP-SAT model of the schedules that end by a step and are not below the bound."""

    def __init__(
        self, instance: Instance, whole: WholeTimes, objective: Objective, best: Schedule, bound: int, end: int
    ):
        self.instance, self.whole = instance, whole
        self.cp = cp = cp_sat().CpModel()
        able = may_run(whole, end)
        n = instance.n_tasks
        hint_start = np.floor(best.start_us / whole.step_us).astype(np.int64)
        self.starts, self.ends = [], []
        self.assigned: dict[tuple[int, int], Any] = {}
        intervals: list[list[Any]] = [[] for _ in instance.units]
        for task in range(n):
            classes = np.flatnonzero(able[task]).tolist()
            release, times = int(whole.release[task]), whole.times[task]
            least = int(times[classes].min())
            start = cp.new_int_var(release, end - least, "")
            finish = cp.new_int_var(release + least, end, "")
            cp.add_hint(start, max(release, min(int(hint_start[task]), end - least)))
            for c in classes:
                self.assigned[task, c] = cp.new_bool_var("")
                intervals[c].append(
                    cp.new_optional_fixed_size_interval_var(start, int(times[c]), self.assigned[task, c], "")
                )
                cp.add_hint(self.assigned[task, c], c == best.chosen[task])
            cp.add_exactly_one(self.assigned[task, c] for c in classes)
            cp.add(finish == start + sum(int(times[c]) * self.assigned[task, c] for c in classes))
            self.starts.append(start)
            self.ends.append(finish)
        for c, m in enumerate(instance.count.tolist()):
            if len(intervals[c]) > m:
                cp.add_cumulative(intervals[c], [1] * len(intervals[c]), m)
        add_cuts(cp, whole, instance.count, self.assigned, end)
        self._order_alike(objective)
        if objective == "makespan":
            self._minimize_makespan(bound, end)
        else:
            self._minimize_sum(bound, end)

    def _order_alike(self, objective: Objective) -> None:
        """Start the older of two tasks first if they take the same time everywhere: they could swap places."""
        single = np.bincount(self.instance.job)[self.instance.job] == 1
        free = single | (objective == "makespan")
        last: dict[tuple[int, ...], int] = {}
        for task in np.argsort(self.whole.release, kind="stable").tolist():
            kind = (-1 if free[task] else int(self.instance.job[task]), *self.whole.times[task].tolist())
            if kind in last:
                self.cp.add(self.starts[last[kind]] <= self.starts[task])
            last[kind] = task

    def _minimize_sum(self, bound: int, end: int) -> None:
        """Minimise the sum of the jobs' finish times."""
        jobs: dict[int, list[Any]] = {}
        for task, job in enumerate(self.instance.job.tolist()):
            jobs.setdefault(job, []).append(self.ends[task])
        last: list[Any] = []
        for ends in jobs.values():
            if len(ends) == 1:
                last += ends
            else:
                last.append(self.cp.new_int_var(0, end, ""))
                self.cp.add_max_equality(last[-1], ends)
        self.cp.add(sum(last) >= bound)
        self.cp.minimize(sum(last))

    def _minimize_makespan(self, bound: int, end: int) -> None:
        """Minimise the makespan, with the work released at q or later on a class as a bound, for a good relaxation."""
        makespan = self.cp.new_int_var(bound, end, "")
        self.cp.add_max_equality(makespan, self.ends)
        for c, m in enumerate(self.instance.count.tolist()):
            tasks = np.array([task for task, k in self.assigned if k == c], np.int64)
            for q in np.unique(self.whole.release[tasks]).tolist():
                later = tasks[self.whole.release[tasks] >= q].tolist()
                work = sum(int(self.whole.times[task, c]) * self.assigned[task, c] for task in later)
                self.cp.add(m * makespan - m * q >= work)
        self.cp.minimize(makespan)

    def schedule(self, value: Callable[[Any], int]) -> tuple[np.ndarray, np.ndarray]:
        """Return the starts [N] and the classes [N] of a solution."""
        starts = np.array([value(start) for start in self.starts], np.int64)
        chosen = np.empty(len(starts), np.int64)
        for (task, c), variable in self.assigned.items():
            if value(variable):
                chosen[task] = c
        return starts, chosen
