"""Keeps the queue and the profiles up to date with events."""

from collections.abc import Mapping
from typing import Any

from vinesim.policies.backfill.changes import CHANGES_TASKS, to_be_indexed
from vinesim.policies.backfill.profile import PROFILE_SCRATCH, note_start, note_stop
from vinesim.policies.backfill.queue import IN_ORDER, IN_ORDER_TASKS, enter, leave, waits
from vinesim.state.layout import OUTAGE, PENDING, TIMER
from vinesim.state.queries import (
    arrived_task,
    first_interrupted,
    first_withdrawn,
    n_arrived,
    next_interrupted,
    next_withdrawn,
    start,
)
from vinesim.state.scratch import TASK_COUNT

SCRATCH: Mapping[str, tuple[str, str]] = {
    **PROFILE_SCRATCH,
    **IN_ORDER,
    "seen": ("i8", "one"),  # how many of the tasks that have arrived are known
}

TASKS: Mapping[str, str] = {**IN_ORDER_TASKS, **CHANGES_TASKS, "seen": TASK_COUNT}


def start_now(model: Any, state: Any, view: Any, task: int, unit: int) -> Any:
    """Start a waiting task that has no reservation."""
    leave(view.scratch, task)
    note_start(model, state, view.scratch, task, unit, view.now_us)
    return start(task, unit)


def update(model: Any, state: Any, view: Any) -> None:
    """Process arrivals, ends, withdrawals and interruptions by outages. If asked again about the same event, nothing is
    left to do."""
    scratch = view.scratch
    for i in range(int(scratch.seen[0]), n_arrived(model, state)):
        enter(scratch, arrived_task(model, state, i))
    scratch.seen[0] = n_arrived(model, state)
    if view.task >= 0 and scratch.is_running[view.task] == 1:
        note_stop(scratch, view.task)
    if view.event == OUTAGE:
        for unit in range(len(model.unit_type)):
            to_be_indexed(scratch, unit)
        task = first_interrupted(model, state)
        while task >= 0:
            if scratch.is_running[task] == 1 and state.task_unit[task] == PENDING:
                note_stop(scratch, task)
                enter(scratch, task)
            task = next_interrupted(model, state, task)
    if view.event == OUTAGE or view.event == TIMER:
        task = first_withdrawn(model, state)
        while task >= 0:
            if scratch.is_running[task] == 1:
                note_stop(scratch, task)
            elif waits(scratch, task):
                leave(scratch, task)
            task = next_withdrawn(model, state, task)
