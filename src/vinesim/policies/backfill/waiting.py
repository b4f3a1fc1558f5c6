"""The queue in order of arrival; keeps it and the profiles up to date with events."""

from collections.abc import Mapping
from typing import Any

from vinesim.policies.backfill.changes import to_be_indexed
from vinesim.policies.backfill.profile import PROFILE_SCRATCH, run_on, stop
from vinesim.state.layout import OUTAGE, PENDING
from vinesim.state.queries import first_interrupted, next_interrupted, start

SCRATCH: Mapping[str, tuple[str, str]] = {
    **PROFILE_SCRATCH,
    "next": ("i4", "tasks"),  # the queue, a doubly linked chain; tasks are numbered from 1, 0 = none
    "previous": ("i4", "tasks"),
    "first": ("i8", "one"),
    "last": ("i8", "one"),
    "seen": ("i8", "one"),  # tasks below this number have arrived
}


def enter(scratch: Any, task: int) -> None:
    """Insert the task into the queue: at the end, unless it returns after an interruption."""
    item = task + 1
    before = int(scratch.last[0])
    while before > item:
        before = int(scratch.previous[before - 1])
    after = int(scratch.next[before - 1]) if before > 0 else int(scratch.first[0])
    scratch.previous[item - 1], scratch.next[item - 1] = before, after
    if before > 0:
        scratch.next[before - 1] = item
    else:
        scratch.first[0] = item
    if after > 0:
        scratch.previous[after - 1] = item
    else:
        scratch.last[0] = item


def leave(scratch: Any, task: int) -> None:
    """Remove the task from the queue."""
    before, after = int(scratch.previous[task]), int(scratch.next[task])
    if before > 0:
        scratch.next[before - 1] = after
    else:
        scratch.first[0] = after
    if after > 0:
        scratch.previous[after - 1] = before
    else:
        scratch.last[0] = before


def begin(model: Any, state: Any, view: Any, task: int, unit: int) -> Any:
    """Start a waiting task that has no reservation."""
    leave(view.scratch, task)
    run_on(model, state, view.scratch, task, unit, view.now_us)
    return start(task, unit)


def hear(model: Any, state: Any, view: Any) -> None:
    """Process arrivals, ends and interruptions by outages. If asked again about the same event, nothing is left to
    do."""
    scratch = view.scratch
    if view.job >= 0:
        for task in range(int(scratch.seen[0]), int(model.job_first[view.job + 1])):
            enter(scratch, task)
        scratch.seen[0] = max(scratch.seen[0], model.job_first[view.job + 1])
    if view.task >= 0 and scratch.is_running[view.task] == 1:
        stop(scratch, view.task)
    if view.event == OUTAGE:
        for unit in range(len(model.unit_type)):
            to_be_indexed(scratch, unit)
        task = first_interrupted(model, state)
        while task >= 0:
            if scratch.is_running[task] == 1 and state.task_unit[task] == PENDING:
                stop(scratch, task)
                enter(scratch, task)
            task = next_interrupted(model, state, task)
