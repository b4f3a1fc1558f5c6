"""Jobs that wait for others in the reference engine: the twin of core/dependencies.py."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from vinesim.engine.reference_gangs import is_of_gang
from vinesim.state.layout import ATTACHED, DROPPED, HELD, PENDING


class Dependencies:
    """Of the jobs that have not arrived, the first one for which all are over that it waits for arrives next."""

    def __init__(self, state: Any):
        self.state, model = state, state.model
        self.are_any = len(model.job_predecessors) > 0
        n_jobs = len(model.job_predecessors)
        self.eligible_us = np.full(n_jobs, math.nan)
        self._to_come = list(range(n_jobs))
        self._waits_for: list[set[int]] = [set() for _ in range(n_jobs)]
        for job in range(n_jobs):
            for other in model.successor[model.successor_first[job] : model.successor_first[job + 1]]:
                self._waits_for[other].add(job)
        self._pass_over(0)

    def next_job(self) -> int:
        """The next job to arrive, unless another one becomes ready; the number of jobs if there is none."""
        if not self.are_any:
            return int(self.state.next_job)
        return next((job for job in self._to_come if self._is_ready(job)), len(self._waits_for))

    def _is_ready(self, job: int) -> bool:
        is_withdrawn = self.state.task_unit[int(self.state.model.job_first[job])] == DROPPED
        return not is_withdrawn and all(self._is_over(other) for other in self._waits_for[job])

    def _is_over(self, job: int) -> bool:
        state, first = self.state, self.state.model.job_first
        running = {one for some in state.running for task in some for one in (task, *state.followers[task])}
        tasks = range(int(first[job]), int(first[job + 1]))
        return all(state.task_unit[task] not in (PENDING, ATTACHED, HELD) and task not in running for task in tasks)

    def arrive(self, job: int, tasks: Sequence[int]) -> None:
        """Note that a job arrives: its first task is pending, the others too or, of a gang, attached to it."""
        state = self.state
        if not self.are_any:
            state.next_job += 1
            return
        self._to_come.remove(job)
        self.eligible_us[job] = state.now_us
        state.arrived += tasks
        for task in tasks:
            state.task_unit[task] = ATTACHED if is_of_gang(state, task) and task > tasks[0] else PENDING
        if job >= state.next_job:
            self._pass_over(job + 1)

    def _pass_over(self, job: int) -> None:
        """Let the jobs from one on that wait be passed over: their tasks are known, but not pending."""
        while job < len(self._waits_for) and not self._is_ready(job):
            job += 1
        self.state.next_job = job
