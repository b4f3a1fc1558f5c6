"""The plan of conservative backfilling: which waiting tasks have reservations, and where they may find an earlier time.

Where tasks hold several units, a plan is made and kept in one way, whatever a reservation holds. Each form has its own
functions for that, which are passed in:

- ``find(model, state, scratch, task, now_us)`` makes a reservation and returns whether there is a time for it.
- ``move``, with the same arguments, moves one to an earlier time and returns whether there is one.
- ``cancel(model, state, scratch, task)`` frees what one holds.
- ``unit_at_once``, like ``find``, returns the unit on which a task may begin now whose time has come, or -1.
- ``expect_again(model, state, scratch, now_us)`` computes again what is expected of units: what runs, and the plan.
"""

from collections.abc import Callable, Mapping
from typing import Any

from vinesim.policies.backfill.ahead import AHEAD, restore_capacities
from vinesim.policies.backfill.base import AS_EXPECTED, NO_CHANGE, first_waiting, next_waiting
from vinesim.state.layout import OUTAGE, TIMER
from vinesim.state.queries import is_within_quotas
from vinesim.state.shortcuts import is_start_local

FREED: Mapping[str, tuple[str, str]] = {
    "freed": ("i4", "units"),  # of which something is free that was not when a task last looked
    "n_freed": ("i8", "one"),
    "until_pass": ("i8", "units"),  # the last pass in which the unit is considered, 0 = it is not freed
    "passes": ("i8", "one"),  # passes so far
}
PLAN: Mapping[str, tuple[str, str]] = {
    **AHEAD,
    **FREED,
    "plan": ("u1", "tasks"),  # UNPLANNED, PLANNED or NOWHERE
    "begin_us": ("f8", "tasks"),  # of the reservation
    "has_changed": ("u1", "one"),  # since the reservations were settled
    "may_move": ("u1", "one"),  # whether there may be earlier times: NOT, TO_FREED or ANYWHERE
}
UNPLANNED, PLANNED, NOWHERE = range(3)  # NOWHERE: no units that are up could ever hold it
NOT, TO_FREED, ANYWHERE = range(3)


def note_freed(scratch: Any, unit: int) -> None:
    """Record that the unit gained room: it is considered in the rest of this pass and in the next one."""
    if scratch.until_pass[unit] == 0:
        scratch.freed[scratch.n_freed[0]] = unit
        scratch.n_freed[0] += 1
    scratch.until_pass[unit] = scratch.passes[0] + 1


def keep_freed(scratch: Any) -> None:
    """Keep only the units that the next pass considers."""
    kept = 0
    for i in range(int(scratch.n_freed[0])):
        unit = int(scratch.freed[i])
        if scratch.until_pass[unit] > scratch.passes[0]:
            scratch.freed[kept] = unit
            kept += 1
        else:
            scratch.until_pass[unit] = 0
    scratch.n_freed[0] = kept


def note_change(model: Any, state: Any, view: Any, change: int, expect_again: Callable[..., None]) -> None:
    """Record what an event changes, as ``note_event`` returned it."""
    scratch = view.scratch
    if change != NO_CHANGE:
        scratch.has_changed[0] = 1
    if change < AS_EXPECTED:
        scratch.may_move[0] = max(scratch.may_move[0], TO_FREED)
        if view.event == OUTAGE:
            forget_plan(scratch)
        if view.event == OUTAGE or view.event == TIMER:
            expect_again(model, state, scratch, view.now_us)
            scratch.may_move[0] = ANYWHERE


def next_planned(
    model: Any,
    state: Any,
    view: Any,
    find: Callable[..., bool],
    move: Callable[..., bool],
    cancel: Callable[..., None],
    unit_at_once: Callable[..., int],
    expect_again: Callable[..., None],
) -> tuple[int, int]:
    """Bring the plan up to date. Returns the first task whose reservation begins now and that fits, and its unit; -1,
    -1 if there is none."""
    scratch, now_us, task, unit = view.scratch, view.now_us, -1, -1
    for attempt in range(3):
        if attempt > 0:
            forget_plan(scratch)
            expect_again(model, state, scratch, now_us)
            scratch.has_changed[0] = 1
        if scratch.has_changed[0] == 1:
            forget_missed(model, state, scratch, now_us, cancel)
            settle(model, state, scratch, now_us, find, move, attempt == 2)
        task, unit = next_begin(model, state, scratch, now_us, cancel, unit_at_once)
        if task >= 0 or scratch.change_first[0] > 0:
            break  # else nothing runs, so no event would come when a reservation begins
    return task, unit


def forget_plan(scratch: Any) -> None:
    """Let all tasks look for a time again. What is expected of units has to be computed again after this."""
    task = first_waiting(scratch)
    while task >= 0:
        scratch.plan[task] = UNPLANNED
        task = next_waiting(scratch, task)


def forget_missed(model: Any, state: Any, scratch: Any, now_us: float, cancel: Callable[..., None]) -> None:
    """Cancel the reservations that should have begun before now, and those of tasks for which their quotas leave no
    room."""
    task = first_waiting(scratch)
    while task >= 0:
        is_missed = scratch.begin_us[task] < now_us
        if scratch.plan[task] == PLANNED and (is_missed or not is_within_quotas(model, state, task)):
            cancel(model, state, scratch, task)
            scratch.plan[task] = UNPLANNED
        task = next_waiting(scratch, task)


def settle(
    model: Any,
    state: Any,
    scratch: Any,
    now_us: float,
    find: Callable[..., bool],
    move: Callable[..., bool],
    until_now: bool,
) -> None:
    """Make and move reservations until every waiting task has one and none could begin earlier; with ``until_now``,
    up to the first that begins now: next to what follows the first ends of its gang, it may find no place again."""
    has_moved = True
    while has_moved:
        has_moved = False
        scratch.passes[0] += 1
        task = first_waiting(scratch)
        while task >= 0:
            if scratch.plan[task] == UNPLANNED and is_within_quotas(model, state, task):
                if find(model, state, scratch, task, now_us):
                    scratch.plan[task] = PLANNED
                    if until_now and scratch.begin_us[task] <= now_us:
                        restore_capacities(model, state, scratch)
                        return
                elif is_start_local(model):  # else a cap or a quota may be all that it lacks
                    scratch.plan[task] = NOWHERE
            elif scratch.plan[task] == PLANNED and scratch.may_move[0] != NOT and scratch.begin_us[task] > now_us:
                has_moved |= move(model, state, scratch, task, now_us)
            task = next_waiting(scratch, task)
        if scratch.may_move[0] != NOT:
            keep_freed(scratch)
    scratch.may_move[0], scratch.has_changed[0] = NOT, 0
    restore_capacities(model, state, scratch)


def next_begin(
    model: Any,
    state: Any,
    scratch: Any,
    now_us: float,
    cancel: Callable[..., None],
    unit_at_once: Callable[..., int],
) -> tuple[int, int]:
    """Return the first task whose reservation begins now and that fits, and its unit; it is planned no longer. -1, -1
    if there is none."""
    task = first_waiting(scratch)
    while task >= 0:
        if scratch.plan[task] == PLANNED and scratch.begin_us[task] <= now_us:
            unit = unit_at_once(model, state, scratch, task, now_us)
            if unit >= 0:
                scratch.plan[task] = UNPLANNED
                return task, unit
            if not is_within_quotas(model, state, task):
                cancel(model, state, scratch, task)
                scratch.plan[task] = UNPLANNED
        task = next_waiting(scratch, task)
    restore_capacities(model, state, scratch)
    return -1, -1
