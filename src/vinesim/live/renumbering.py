"""Make room in a window of requests: what is left is renumbered, in the same order; number 0 stands for the rest."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vinesim.core.turn import Window, empty_window
from vinesim.state import bit_levels
from vinesim.state.layout import DROPPED, PENDING
from vinesim.state.scratch import EVENT_OF_TASK, FACTOR, TASK_COUNT, TASK_ID

OF_TASKS = {  # columns of the state that turns use, and what they hold for a task that has not arrived
    "task_unit": PENDING,
    "task_init_us": np.nan,
    "task_start_us": np.nan,
    "task_finish_us": np.nan,
    "task_follower": -1,
}


@dataclass(frozen=True)
class Surviving:
    """The tasks and jobs that are left, by their numbers so far; the first of each is 0."""

    tasks: np.ndarray
    jobs: np.ndarray
    task_now: np.ndarray  # the new number of each task, 0 for those that are gone

    def renumbered(self, values: np.ndarray, how: str) -> np.ndarray:
        """Return what a scratch array that holds numbers of tasks holds now."""
        if how == TASK_COUNT:
            return np.searchsorted(self.tasks, values).astype(values.dtype)
        if how == EVENT_OF_TASK:
            of = ((values - 1) >> 1).clip(0, len(self.task_now) - 1)
            return np.where(values < 1, values, 2 * self.task_now[of] + 2 - (values & 1)).astype(values.dtype)
        shift = 0 if how == TASK_ID else 1
        known = values.clip(shift, len(self.task_now) - 1 + shift) - shift
        return np.where(values < shift, values, self.task_now[known] + shift).astype(values.dtype)


def surviving(state: Any, window: Window, queued: Sequence[np.ndarray] = ()) -> Surviving:
    """Return what is left: all tasks of each job of which some task waits, runs, or is in a policy's own queue."""
    run = state.run[0]
    n_tasks, n_jobs = int(run["n_arrived"]), int(run["next_job"])
    unit, finish_us = state.task_unit[:n_tasks], state.task_finish_us[:n_tasks]
    is_live = (unit == PENDING) | ((unit >= 0) & (finish_us == np.inf))
    of_job = np.zeros(n_jobs, bool)
    of_job[window.task_job[:n_tasks][is_live]] = True
    for tasks in queued:
        of_job[window.task_job[tasks]] = True
    of_job[0] = True
    tasks, jobs = np.flatnonzero(of_job[window.task_job[:n_tasks]]), np.flatnonzero(of_job)
    task_now = np.zeros(n_tasks + 1, np.int64)
    task_now[tasks] = np.arange(len(tasks))
    return Surviving(tasks, jobs, task_now)


def moved_window(old: Window, left: Surviving, n_tasks: int, n_resources: int) -> Window:
    """Return a window of that length with what is left; the chains of groups and the applications are not filled in."""
    new, tasks, jobs = empty_window(n_tasks, n_resources), left.tasks, left.jobs
    for name in ("job_arrival_us", "job_deadline_us", "job_request", "job_application", "job_gang"):
        getattr(new, name)[: len(jobs)] = getattr(old, name)[jobs]
    new.job_first[1 : len(jobs) + 1] = np.cumsum(np.diff(old.job_first)[jobs])
    job_now = np.searchsorted(jobs, old.task_job[tasks])
    new.task_job[: len(tasks)] = job_now
    for name in ("task_operations", "task_demand", "task_group"):
        getattr(new, name)[: len(tasks)] = getattr(old, name)[tasks]
    return new._replace(n_requests=old.n_requests)


def moved_state(old: Any, left: Surviving, window: Window, n_groups: int) -> Any:
    """Return the state with what is left, and the chains of its groups, which are written to the window too."""
    n_tasks, n_left = len(window.task_job), len(left.tasks)
    columns = {}
    for name, nothing in OF_TASKS.items():
        column = np.full(n_tasks, nothing, getattr(old, name).dtype)
        column[:n_left] = getattr(old, name)[left.tasks]
        columns[name] = column
    follower = columns["task_follower"][:n_left]
    follower[follower >= 0] = left.task_now[follower[follower >= 0]]
    columns["task_unit"][0] = DROPPED
    old.run["n_arrived"], old.run["next_job"] = n_left, len(left.jobs)
    tasks = np.arange(1, n_left)
    group = window.task_group[1:n_left]
    by_group = tasks[np.argsort(group, kind="stable")]
    same = window.task_group[by_group[1:]] == window.task_group[by_group[:-1]]
    window.task_next[by_group[:-1][same]] = by_group[1:][same]
    window.group_tail[window.task_group[by_group]] = by_group  # the last of each counts
    pending = tasks[columns["task_unit"][1:n_left] == PENDING]
    head = np.full(n_groups, n_tasks, np.int64)
    found, first = np.unique(window.task_group[pending], return_index=True)
    head[found] = pending[first]
    is_head = np.zeros((1, n_tasks), bool)
    is_head[0, pending[first]] = True
    heads = bit_levels.levels_of_rows(is_head)
    waiting = np.bincount(window.task_group[pending], minlength=n_groups)
    return old._replace(
        **columns,
        answered=np.zeros(n_tasks, old.answered.dtype),
        heads=heads[0],
        heads_1=heads[1],
        heads_2=heads[2],
        group_head=head,
        group_pending=waiting.astype(np.int64),
    )


def moved_scratch(
    scratch: Any, declared: Mapping[str, tuple[str, str]], numbers: Mapping[str, str], left: Surviving, n_tasks: int
) -> Any:
    """Return a policy's arrays: those by task or job with what is left, and the numbers of tasks in them changed."""
    found = {}
    for name, (_, size) in declared.items():
        values = getattr(scratch, name)
        if name in numbers:
            values = left.renumbered(values, numbers[name])
        of, *times = size.split(FACTOR)
        if of in ("tasks", "jobs"):
            rows, each = left.tasks if of == "tasks" else left.jobs, math.prod(map(int, times))
            moved = np.zeros((n_tasks, each), values.dtype)
            moved[: len(rows)] = values.reshape(-1, each)[rows]
            values = moved.reshape(-1)
        elif size == "queue":
            moved = np.zeros(n_tasks, values.dtype)
            n = min(n_tasks, len(values))
            moved[:n] = values[:n]
            values = moved
        found[name] = values
    return scratch._replace(**found)
