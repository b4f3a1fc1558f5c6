"""What else a task waits for in the reference engine: the twin of core/pools.py, core/tasks.py, core/ledger.py and
core/laws, in plain Python.

Beyond a node, quotas and power can run short: quotas count what the running tasks of their accounts hold, and power
caps limit what the units of a rack, and of the datacenter, draw. A job waits until those before it are over, and a task
that is given ahead until those before it on its unit are done.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from vinesim.engine.reference_trial import attached_to, is_of_gang
from vinesim.state import queries
from vinesim.state.layout import ATTACHED, DOWN, DROPPED, HELD, OVERFULL, PENDING
from vinesim.state.power import draw_of, level_of


class HeldQuotas:
    """What the running tasks hold of each quota."""

    def __init__(self, state: Any):
        self.state, self.model = state, state.model
        n = len(state.model.quota_limit)
        self.held, self.n_tasks = [0.0] * n, [0] * n

    def of(self, task: int) -> Iterator[int]:
        """The quotas against which a task counts."""
        model = self.model
        account = model.job_account[model.task_job[task]] if len(model.job_account) else -1
        if account >= 0:
            yield from model.account_quota[model.account_first[account] : model.account_first[account + 1]].tolist()

    def count(self, task: int, unit: int, sign: int) -> None:
        """Count a task that starts on a unit, 1, or leaves it, -1."""
        for quota in self.of(task):
            self.n_tasks[quota] += sign
            amount = queries.counted_amount(self.model, self.state, task, unit, self.model.quota_counts[quota])
            self.held[quota] = self.held[quota] + sign * amount if self.n_tasks[quota] else 0.0

    def allow(self, task: int, unit: int) -> bool:
        """Whether they leave room for a task on a unit, with those that are attached to it where they fit."""
        return all(self._allows(quota, self.state.place_of(task, unit)) for quota in self.of(task))

    def _allows(self, quota: int, place: dict[int, int]) -> bool:
        held, counted = self.held[quota], self.model.quota_counts[quota]
        for member, own in place.items():
            held += queries.counted_amount(self.model, self.state, member, own, counted)
        return self.may_hold(quota, held)

    def may_hold(self, quota: int, held: float) -> bool:
        """Whether a quota and its cohort allow that its tasks hold an amount."""
        model, cohort = self.model, int(self.model.quota_cohort[quota])
        if held > model.quota_limit[quota] * OVERFULL:
            return False
        if cohort < 0 or held <= model.quota_kept[quota] * OVERFULL:
            return True
        lent = held - model.quota_kept[quota]
        for other in model.cohort_quota[model.cohort_first[cohort] : model.cohort_first[cohort + 1]].tolist():
            if other != quota:
                lent += max(0.0, self.held[other] - model.quota_kept[other])
        return bool(lent <= model.cohort_lent[cohort] * OVERFULL)

    def leave_room(self, task: int) -> bool:
        """Whether they leave room for the least that a pending task and those attached to it could hold."""
        return all(self._leaves_room(quota, task) for quota in self.of(task))

    def _leaves_room(self, quota: int, task: int) -> bool:
        held, model = self.held[quota], self.model
        for member in [task, *attached_to(self.state, task)]:
            held += model.class_least[self.state.task_type_of(member), model.quota_counts[quota]]
        return self.may_hold(quota, held)


class Draws:
    """What racks draw, added up each time from what is held of their units."""

    def __init__(self, state: Any):
        self.state, self.model = state, state.model
        self.peaks_mw = [self.draw_mw(pool) for pool in range(len(self.model.cap_mw))]

    def note_peaks(self) -> None:
        """Note what racks draw as a task has started."""
        self.peaks_mw = [max(peak, self.draw_mw(pool)) for pool, peak in enumerate(self.peaks_mw)]

    def are_kept(self) -> bool:
        """Whether no rack draws more than its cap, nor the datacenter."""
        return all(self.draw_mw(pool) <= cap for pool, cap in enumerate(self.model.cap_mw.tolist()))

    def draw_mw(self, pool: int) -> int:
        """What the units of a rack draw; of the datacenter after the last rack."""
        return sum(self._draw_of(unit) for unit in self._units(pool))

    def allow(self, task: int, unit: int) -> bool:
        """Whether the caps are kept if a task starts on a unit, where there is room for all that it holds."""
        if not len(self.model.cap_mw):
            return True
        with self.state.trial():
            self.state.hold_all(task, unit)
            return self.are_kept()

    def _draw_of(self, unit: int) -> int:
        state, holders = self.state, self.state.holders[unit]
        level = sum(int(level_of(self.model, state.task_type_of(task), unit, amount)) for task, amount in holders)
        return int(draw_of(self.model, unit, len(holders) > 0, level))

    def _units(self, pool: int) -> Iterator[int]:
        model, is_all = self.model, pool == len(self.model.cap_mw) - 1
        return (u for u in range(len(model.unit_type)) if is_all or model.node_rack[model.unit_node[u]] == pool)


class Dependencies:
    """Which job arrives next: the first of the jobs that have not arrived for which all jobs that it waits for are
    over."""

    def __init__(self, state: Any):
        self.state, model = state, state.model
        n_jobs = len(model.job_arrival_us)
        self.eligible_us = np.full(n_jobs, math.nan)
        self._to_come = list(range(n_jobs))
        self._waits_for: list[set[int]] = [set() for _ in range(n_jobs)]
        for job in range(len(model.job_predecessors)):
            for other in model.successor[model.successor_first[job] : model.successor_first[job + 1]]:
                self._waits_for[other].add(job)
        self._pass_over(0)

    def next_job(self) -> int:
        """The next job to arrive, unless another one becomes ready; the number of jobs if there is none."""
        return next((job for job in self._to_come if self._is_ready(job)), len(self._waits_for))

    def _is_ready(self, job: int) -> bool:
        is_withdrawn = self.state.task_unit[int(self.state.model.job_first[job])] == DROPPED
        return not is_withdrawn and all(self._is_over(other) for other in self._waits_for[job])

    def _is_over(self, job: int) -> bool:
        state, first = self.state, self.state.model.job_first
        running = state.running_tasks()
        tasks = range(int(first[job]), int(first[job + 1]))
        return all(state.task_unit[task] not in (PENDING, ATTACHED, HELD) and task not in running for task in tasks)

    def arrive(self, job: int, tasks: Sequence[int]) -> None:
        """Note that a job arrives: its first task is pending, the others too or, of a gang, attached to it."""
        state = self.state
        self._to_come.remove(job)
        self.eligible_us[job] = state.now_us
        state.arrived += tasks
        for task in tasks:
            state.task_unit[task] = ATTACHED if is_of_gang(state, task) and task > tasks[0] else PENDING
        if job >= state.next_job:
            self._pass_over(job + 1)

    def _pass_over(self, job: int) -> None:
        """Pass over the jobs from one on that wait: their tasks are known, but not pending."""
        while job < len(self._waits_for) and not self._is_ready(job):
            job += 1
        self.state.next_job = job


class Ahead:
    """The tasks that wait on units for those before them, and the places that the units offer."""

    def __init__(self, state: Any):
        self.state = state
        self.granted_us: dict[int, float] = {}  # task -> when it was given to its unit
        self.there_us: dict[int, float] = {}  # leader -> when its data is there

    def is_possible(self, unit: int) -> bool:
        """Whether a unit takes tasks ahead."""
        model = self.state.model
        return len(model.type_ahead) > 0 and bool(model.type_ahead[model.unit_type[unit]] > 0)

    def times(self, started: list[int], unit: int, transfer: float) -> tuple[float, float]:
        """Return when a unit is free for tasks that start as one now, and when their data is there too."""
        state, task = self.state, started[0]
        if not len(state.model.type_ahead):
            return state.now_us, state.now_us + transfer
        self.granted_us.update(dict.fromkeys(started, state.now_us))
        self.there_us[task] = state.now_us + transfer
        before = state.running[unit] if self.is_possible(unit) else []
        init_us = state.task_finish_us[before[-1]] if before else state.now_us
        return init_us, max(self.there_us[task], init_us)

    def waits(self, task: int) -> bool:
        """Whether its unit has not come to a task yet."""
        return len(self.state.model.type_ahead) > 0 and bool(self.state.task_init_us[task] > self.state.now_us)

    def close_up(self, unit: int, behind: list[int]) -> None:
        """Make the last tasks of a unit, which all wait, begin as early as they can now that one before them has
        left."""
        state, before = self.state, self.state.running[unit][: -len(behind) or None]
        free_us = state.task_finish_us[before[-1]] if before else state.now_us
        for task in behind:
            start_us = max(self.there_us[task], free_us)
            state.progress.before[task] = start_us - free_us
            for one in [task, *state.followers[task]]:
                state.task_init_us[one], state.task_start_us[one] = free_us, start_us
                state.task_finish_us[one] = start_us + state.progress.work[task]
            state.queue(task, state.task_finish_us[task])
            free_us = state.task_finish_us[task]

    def offer(self, unit: int) -> None:
        """Open the units of a unit's type for as many tasks as the one with the fewest has, and one more."""
        if not self.is_possible(unit):
            return
        state, model = self.state, self.state.model
        of_type = [u for u in range(len(model.unit_type)) if model.unit_type[u] == model.unit_type[unit]]
        up = [u for u in of_type if state.unit_open[u] != DOWN]
        fewest = min([int(model.type_ahead[model.unit_type[unit]]), *(len(state.running[u]) for u in up)])
        for one in up:
            state.unit_open[one] = float(model.unit_capacity[one] * (1.0 + fewest))

    def column(self) -> np.ndarray:
        """[N] us: when each task was given to its unit; NaN: never."""
        return np.array([self.granted_us.get(task, np.nan) for task in range(len(self.state.task_unit))])
