"""The state that policies see outside a run: the reference engine's, with completions reported from outside."""

import math
from typing import Any

from vinesim.engine.reference_ends import release
from vinesim.engine.reference_state import ReferenceState
from vinesim.engine.reference_waits import Ahead
from vinesim.live.columns import Requests, gone
from vinesim.policies.requests.slowdown import slowdown_at
from vinesim.state import queries
from vinesim.state.layout import ATTACHED, PENDING


class LiveAhead(Ahead):
    """Units that take tasks ahead: when a task begins is known once it has ended."""

    def __init__(self, state: Any):
        super().__init__(state)
        self.left_us: dict[int, float] = {}  # unit -> when a task last left it

    def times(self, started: list[int], unit: int, transfer: float) -> tuple[float, float]:
        """The times as if the unit were free for the task at once."""
        return self.state.now_us, self.state.now_us + transfer

    def left(self, task: int) -> None:
        """Note that a task has left its unit, which computes one after another."""
        state, unit = self.state, self.state.task_unit[task]
        if self.is_possible(unit):
            state.task_init_us[task] = max(state.task_init_us[task], self.left_us.get(unit, -math.inf))
            self.left_us[unit] = state.now_us


class LiveState(ReferenceState):
    """Pending requests and the resource map. Entries live as long as their tasks; nothing is predicted."""

    def __init__(self, model: Any, seed: int):
        super().__init__(model, seed)
        self.ahead: LiveAhead = LiveAhead(self)
        self.is_more_to_come = False  # whether the policy should expect more events in this instant
        columns: Any = self
        columns.task_unit = gone()
        columns.task_init_us, columns.task_start_us, columns.task_finish_us = {}, {}, {}

    def next_arrival_us(self) -> float:
        """Return now if the policy should wait for the rest of this instant, otherwise infinity."""
        return self.now_us if self.is_more_to_come else math.inf

    def next_finish_us(self) -> float:
        """Return infinity: it is unknown."""
        return math.inf

    def queue(self, task: int, time_us: float) -> None:
        """Do nothing: the finish time is unknown."""

    def check_time(self, started: list[int], unit: int, service: float, finish_us: float) -> None:
        """Do nothing: the time is unknown."""

    def advance_work(self, unit: int) -> None:
        """Do nothing: the progress is unknown."""

    def requeue_first(self, unit: int) -> None:
        """Do nothing: which task of a shared unit finishes first is unknown."""

    def arrive(self, job: int) -> None:
        """Make the first task of a job pending; the others are attached to it."""
        first: int = self.model.job_first[job]
        columns: Any = self.task_unit
        for task in range(first, self.model.job_first[job + 1]):
            columns[task] = PENDING if task == first else ATTACHED
        self.pending.append(first)
        self.next_job = job + 1

    def release(self, task: int) -> list[int]:
        """Remove a task and its followers from their unit. Returns all of them."""
        release(self, task)
        self.ahead.left(task)
        return [task, *self.followers[task]]

    def forget(self, task: int, requests: Requests) -> int:
        """Remove a task that has ended. Returns its job if it was the job's last task, else -1."""
        times = self.task_init_us, self.task_start_us, self.task_finish_us, self.work_due
        progress = self.progress.before, self.progress.work, self.progress.event
        for column in (*times, *progress, self.followers, self.held, self.task_unit):
            entries: Any = column
            entries.pop(task, None)
        return requests.forget(task)


def expected_us(model: Any, state: LiveState, tasks: list[int], unit: int) -> float:
    """Return the expected time of consolidated tasks by the affinities, if the unit is as full as it can be."""
    own_type = state.task_type_of(tasks[0])
    overhead = float(model.overhead_us[model.unit_type[unit], own_type])
    alone = overhead + sum(float(queries.execution_us(model, state, task, unit)) - overhead for task in tasks)
    full = float(model.unit_capacity[unit])
    return alone * float(slowdown_at(model, state, tasks[0], unit, full))
