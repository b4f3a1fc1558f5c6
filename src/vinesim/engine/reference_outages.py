"""What happens between the events of the loop in the reference engine: nodes go down and come up, jobs are
withdrawn."""

import math
from collections import defaultdict
from typing import Any

import numpy as np

from vinesim.engine.changes import FailureClock
from vinesim.model.outage import Outage, units_of
from vinesim.model.result import FAILED, INTERRUPTED
from vinesim.model.scenario import Scenario
from vinesim.model.workload import NO_GANG
from vinesim.state.model import Model


class OutageClock:
    """The pauses of one run: when the next one is, and what is done in it."""

    def __init__(self, run: Any, model: Model, scenario: Scenario):
        self.run, self.failures = run, FailureClock(scenario)
        self._job_gang, self._task_job = model.job_gang, model.task_job
        self._rack, self._shelf = model.node_rack[model.unit_node], model.node_shelf[model.unit_node]
        self._n_down = np.zeros(len(model.unit_node), np.int32)  # outages and failures of each unit's node
        self._ends: dict[float, list[Outage]] = defaultdict(list)
        self._begins: dict[float, list[Outage]] = defaultdict(list)
        self._withdrawn: dict[float, list[int]] = defaultdict(list)
        for outage in scenario.outages:
            self._begins[outage.down_us].append(outage)
            if outage.up_us < math.inf:
                self._ends[outage.up_us].append(outage)
        self._reservations = scenario.reservations
        cuts = {one.start_us for one in scenario.reservations if one.interrupts}
        over = {one.end_us for one in scenario.reservations if one.end_us < math.inf}
        withdraw_us = scenario.workload.withdraw_us
        if withdraw_us is not None:
            for job in np.flatnonzero(withdraw_us < math.inf).tolist():
                self._withdrawn[float(withdraw_us[job])].append(job)
        self._times = sorted({*self._begins, *self._ends, *self._withdrawn, *cuts, *over})
        self._n_done = 0
        self._last_us, self._last = -math.inf, np.empty(0, np.int64)  # when tasks were interrupted last, and which

    @property
    def next_us(self) -> float:
        """Return when something happens next; infinite if nothing does."""
        listed = self._times[self._n_done] if self._n_done < len(self._times) else math.inf
        return min(listed, self.failures.next_us)

    @property
    def only_fails(self) -> bool:
        """Whether nodes can only fail from now on, which starts nothing."""
        return self._n_done == len(self._times) and self.failures.n_down == 0

    def tick(self) -> None:
        """Bring nodes up, then take nodes down, then withdraw jobs; then the policy must be called."""
        time_us = self.next_us
        self.run.set_clock(time_us)
        ended, begun = ([self.failures.had[i] for i in some] for some in self.failures.at(time_us))
        is_listed = self._n_done < len(self._times) and self._times[self._n_done] == time_us
        withdrawn = []
        if is_listed:
            ended, withdrawn = self._ends[time_us] + ended, self._withdrawn[time_us]
            self._n_done += 1
        listed = self._begins[time_us] if is_listed else []
        for outage in ended:
            self._count(outage, -1)
        for outage in (*listed, *begun):
            self._count(outage, 1)
        why = np.zeros(len(self._n_down), np.int64)
        for outages, reason in ((begun, FAILED), (listed, INTERRUPTED)):
            for outage in outages:
                if outage.running == "requeue":
                    why[units_of(outage, self._rack, self._shelf)] = reason
        cut = [one for one in self._reservations if one.interrupts and one.start_us == time_us]
        for one in cut:
            why[one.has(self._rack, self._shelf)] = INTERRUPTED
        is_over = any(one.end_us == time_us for one in self._reservations)  # then others may start there
        is_outage = bool(ended or begun or listed or cut or is_over)
        if is_outage:
            self._interrupt(why, time_us)
        if withdrawn:
            self.run.withdraw(np.array(withdrawn, np.int64))
        self.run.ask(is_outage)

    def _count(self, outage: Outage, change: int) -> None:
        """Note that an outage of a node begins or ends; the node is down while it has any."""
        units = units_of(outage, self._rack, self._shelf)
        self._n_down[units] += change
        if change > 0:
            self.run.close(units)
        else:
            self.run.open(units[self._n_down[units] == 0])

    def _interrupt(self, why: np.ndarray, time_us: float) -> None:
        """Make what runs on the units with a reason pending again."""
        columns = self.run.columns()
        unit = columns["task_unit"]
        tasks = np.flatnonzero((unit >= 0) & (why[np.maximum(unit, 0)] > 0) & (columns["task_finish_us"] > time_us))
        reason = why[unit[tasks]]
        if len(self._job_gang):
            tasks, reason = self._with_gangs(tasks, reason, columns, time_us)
        if self._last_us == time_us:  # a node that is repaired at once: the policy is called for both together
            before = np.setdiff1d(self._last, tasks)
            order = np.argsort(np.concatenate([before, tasks]))
            tasks = np.concatenate([before, tasks])[order]
            reason = np.concatenate([np.zeros(len(before), np.int64), reason])[order]
        self._last_us, self._last = time_us, tasks
        self.run.interrupt(tasks, reason)

    def _with_gangs(
        self, tasks: np.ndarray, why: np.ndarray, columns: dict[str, np.ndarray], time_us: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return interrupted tasks and the running tasks of their gangs, and why."""
        of_job = np.zeros(len(self._job_gang), np.int64)
        np.maximum.at(of_job, self._task_job[tasks], why)
        reason = np.where(self._job_gang != NO_GANG, of_job, 0)[self._task_job]
        reason[(columns["task_unit"] < 0) | ~(columns["task_finish_us"] > time_us)] = 0
        reason[tasks] = np.maximum(reason[tasks], why)
        found = np.flatnonzero(reason)
        return found, reason[found]
