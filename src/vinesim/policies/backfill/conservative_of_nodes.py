"""Conservative backfilling of tasks that hold several units, and of gangs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.backfill.ahead import (
    AHEAD,
    AS_EXPECTED,
    NO_CHANGE,
    UNABLE,
    end_at_us,
    fit_by,
    look_up_expected,
    n_tiers,
    note_end,
    restore_capacities,
    restore_capacity,
    start_now,
    suppose_more,
    update,
)
from vinesim.policies.backfill.base import Backfill, is_between_passes
from vinesim.policies.backfill.changes import insert_change, is_begin, take_change, task_of
from vinesim.state.expected import next_reservation_end_us
from vinesim.state.layout import OUTAGE
from vinesim.state.places import end_of_members, first_row, is_member, note_place
from vinesim.state.queries import is_within_quotas, nothing
from vinesim.state.shortcuts import is_start_local


@dataclass(frozen=True)
class ConservativeBackfillOfNodes(Backfill):
    """Conservative backfilling where a task holds several units, and gangs start together.

    Each task, or gang, reserves the units that it would hold at the earliest time, now or when something ends, from
    which they have room for it until its expected end, next to what runs and all other reservations. It starts when its
    time has come, where it fits next to them. If something ends earlier or later than expected, tasks move to earlier
    times, one by one, in order of arrival, until none can. A reservation whose time has passed because something runs
    longer than expected is made again. So are all of them, in order of arrival, when a node goes down or comes up, or
    if nothing runs and nothing can start. A task for which its quotas leave no room is passed over and reserves
    nothing, as in Slurm.
    """

    scratch: ClassVar[Mapping[str, tuple[str, str]]] = {
        **AHEAD,
        "plan": ("u1", "tasks"),  # UNPLANNED, PLANNED or NOWHERE
        "before": ("f8", "units"),  # taken of a unit at the beginning of a window of time, beyond what is taken now
        "taken": ("f8", "units"),  # the same at a time in it
        "peak": ("f8", "units"),  # the most of it in the window
        "touched": ("i4", "units"),  # units of which something changes, those first that do so before the window
        "n_touched": ("i8", "one"),
        "n_before": ("i8", "one"),
        "is_touched": ("u1", "units"),
        "upcoming": ("i4", "one"),  # the first change that is not in ``before``
        "is_freed": ("u1", "one"),  # there may be earlier times for what has reservations
    }

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        scratch, now_us = view.scratch, view.now_us
        restore_capacities(model, state, scratch)
        change = update(model, state, view)
        if change == NO_CHANGE:
            pass
        elif view.event == OUTAGE:
            forget_plan(model, state, scratch)
        elif change != AS_EXPECTED:
            scratch.is_freed[0] = 1
        if scratch.first[0] == 0 or is_between_passes(model, state, view):
            return nothing()
        if change != NO_CHANGE:
            forget_missed(model, state, scratch, now_us)
            settle(model, state, scratch, now_us)
        task, unit = next_begin(model, state, scratch, now_us)
        if task < 0 and scratch.n_running[0] == 0:
            forget_plan(model, state, scratch)
            settle(model, state, scratch, now_us)
            task, unit = next_begin(model, state, scratch, now_us)
        return start_now(model, state, view, task, unit) if task >= 0 else nothing()


UNPLANNED, PLANNED, NOWHERE = range(3)  # NOWHERE: no units that are up could ever hold it


def cancel(model: Any, state: Any, scratch: Any, task: int) -> None:
    """Cancel a reservation."""
    for member in range(task, end_of_members(model, state, task)):
        if is_member(model, state, task, member):
            take_change(scratch, 0, 2 * member + 1)
            take_change(scratch, 0, 2 * member + 2)
    scratch.plan[task] = UNPLANNED


def reserve(model: Any, state: Any, scratch: Any, task: int, begin_us: float) -> None:
    """Reserve the rows that were noted of the task from a time on."""
    for member in range(task, end_of_members(model, state, task)):
        if is_member(model, state, task, member):
            insert_change(scratch, 0, 2 * member + 1, begin_us)
            note_end(model, state, scratch, member, begin_us)
    scratch.plan[task] = PLANNED


def forget_plan(model: Any, state: Any, scratch: Any) -> None:
    """Cancel all reservations."""
    item = int(scratch.first[0])
    while item > 0:
        if scratch.plan[item - 1] == PLANNED:
            cancel(model, state, scratch, item - 1)
        scratch.plan[item - 1] = UNPLANNED
        item = int(scratch.next[item - 1])


def forget_missed(model: Any, state: Any, scratch: Any, now_us: float) -> None:
    """Cancel the reservations that should have begun before now, and those of tasks for which their quotas leave no
    room."""
    item = int(scratch.first[0])
    while item > 0:
        is_missed = scratch.change_us[2 * (item - 1)] < now_us or not is_within_quotas(model, state, item - 1)
        if scratch.plan[item - 1] == PLANNED and is_missed:
            cancel(model, state, scratch, item - 1)
        item = int(scratch.next[item - 1])


def settle(model: Any, state: Any, scratch: Any, now_us: float) -> None:
    """Make and move reservations until every waiting task has one and none could begin earlier."""
    has_moved = True
    while has_moved:
        has_moved = False
        item = int(scratch.first[0])
        while item > 0:
            if scratch.plan[item - 1] == UNPLANNED and is_within_quotas(model, state, item - 1):
                begin_us = earliest(model, state, scratch, item - 1, now_us, math.inf)
                if begin_us < math.inf:
                    reserve(model, state, scratch, item - 1, begin_us)
                elif is_start_local(model):  # else a cap or a quota may be all that it lacks
                    scratch.plan[item - 1] = NOWHERE
            elif scratch.is_freed[0] == 1 and scratch.plan[item - 1] == PLANNED:
                has_moved |= move(model, state, scratch, item - 1, now_us)
            item = int(scratch.next[item - 1])
    scratch.is_freed[0] = 0
    restore_capacities(model, state, scratch)


def move(model: Any, state: Any, scratch: Any, task: int, now_us: float) -> bool:
    """Move the reservation to an earlier time if there is one. Returns whether there is."""
    held_us = scratch.change_us[2 * task]
    if held_us <= now_us:
        return False
    cancel(model, state, scratch, task)
    begin_us = earliest(model, state, scratch, task, now_us, held_us)
    reserve(model, state, scratch, task, min(begin_us, held_us))
    return begin_us < held_us


def earliest(model: Any, state: Any, scratch: Any, task: int, now_us: float, before_us: float) -> float:
    """Return the earliest time before ``before_us`` at which the task could begin, and note its rows; infinite if there
    is none."""
    look_up_expected(model, state, scratch, task)
    begin_us, is_now, change = now_us, True, int(scratch.change_first[0])
    while begin_us < before_us:
        unit = unit_from(model, state, scratch, task, begin_us, is_now)
        if unit >= 0:
            note_place(model, state, scratch, task, unit)
            return begin_us
        while change > 0 and (is_begin(change) or not (is_now or scratch.change_us[change - 1] > begin_us)):
            change = int(scratch.change_next[change - 1])
        end_us = max(now_us, scratch.change_us[change - 1]) if change > 0 else math.inf
        begin_us = min(end_us, next_reservation_end_us(model, begin_us))
        if is_now:
            start_over(scratch)
            is_now = False
        if begin_us == math.inf:
            break
    return math.inf


def unit_from(model: Any, state: Any, scratch: Any, task: int, begin_us: float, is_now: bool) -> int:
    """Return the unit on which the task could begin at a time and run to its expected end, where it ends first; -1 if
    there is none. Of several ends on different types, each is tried with what is free until then."""
    after_us = -math.inf
    while True:
        until_us = next_end_us(model, state, scratch, task, begin_us, after_us)
        if until_us < 0.0:
            return -1
        look_through(model, state, scratch, begin_us, is_now, until_us)
        unit = fit_by(model, state, scratch, task, begin_us, after_us, until_us)
        if unit >= 0:
            return unit
        after_us = until_us
        if until_us == math.inf:
            return -1


def next_end_us(model: Any, state: Any, scratch: Any, task: int, begin_us: float, after_us: float) -> float:
    """Return the first of the times after ``after_us`` at which the task may end if it begins at a time; -1 if there is
    none."""
    found, n = -1.0, n_tiers(model, state, task)
    for p in range(len(model.affinity)):
        if scratch.expected[p] != UNABLE:
            for tier in range(n):
                end_us = end_at_us(model, scratch, task, p, tier if n > 1 else -1, begin_us)
                if end_us > after_us and (found < 0.0 or end_us < found):
                    found = end_us
    return found


def look_through(model: Any, state: Any, scratch: Any, begin_us: float, is_now: bool, until_us: float) -> None:
    """Let tasks find what is free from a time to before another one. Now, what runs longer than expected is there.
    Unless it is now, the window that was looked through before must not begin later."""
    if is_now:
        start_over(scratch)
    first, change = int(scratch.upcoming[0]), int(scratch.upcoming[0])
    while change > 0 and scratch.change_us[change - 1] <= begin_us:
        if not (is_now and is_late(scratch, change)):
            add(model, scratch, scratch.before, change)
        change = int(scratch.change_next[change - 1])
    scratch.upcoming[0], scratch.n_before[0] = change, scratch.n_touched[0]
    for i in range(int(scratch.n_before[0])):
        unit = int(scratch.touched[i])
        scratch.taken[unit] = scratch.peak[unit] = scratch.before[unit]
    while is_now and first != change:
        if is_late(scratch, first):
            add(model, scratch, scratch.taken, first)
        first = int(scratch.change_next[first - 1])
    while change > 0 and scratch.change_us[change - 1] < until_us:
        first, time_us = change, scratch.change_us[change - 1]
        while change > 0 and scratch.change_us[change - 1] == time_us:
            add(model, scratch, scratch.taken, change)
            change = int(scratch.change_next[change - 1])
        while first != change:
            other = task_of(first)
            for row in range(first_row(model, other), first_row(model, other + 1)):
                unit = int(scratch.row_unit[row])
                scratch.peak[unit] = max(scratch.peak[unit], scratch.taken[unit])
            first = int(scratch.change_next[first - 1])
    suppose_peaks(model, state, scratch)
    for i in range(int(scratch.n_before[0]), int(scratch.n_touched[0])):
        scratch.is_touched[scratch.touched[i]] = 0
    scratch.n_touched[0] = scratch.n_before[0]


def start_over(scratch: Any) -> None:
    """Let the next window be anywhere."""
    for i in range(int(scratch.n_touched[0])):
        scratch.is_touched[scratch.touched[i]] = 0
    scratch.n_touched[0], scratch.upcoming[0] = 0, scratch.change_first[0]


def suppose_peaks(model: Any, state: Any, scratch: Any) -> None:
    """Let tasks find of each unit what its peak leaves. Few units differ from what was supposed before."""
    n = 0
    for i in range(int(scratch.n_supposed[0])):
        unit = int(scratch.supposed[i])
        if scratch.is_touched[unit] == 1:
            scratch.supposed[n] = unit
            n += 1
        else:
            restore_capacity(model, state, scratch, unit)
    scratch.n_supposed[0] = n
    for i in range(int(scratch.n_touched[0])):
        unit = int(scratch.touched[i])
        if scratch.is_supposed[unit] == 0 or scratch.extra_capacity[unit] != -scratch.peak[unit]:
            suppose_more(model, state, scratch, unit, -scratch.peak[unit])


def is_late(scratch: Any, change: int) -> bool:
    """Whether a change that should have been is the end of a task that still runs."""
    return scratch.is_running[task_of(change)] == 1


def add(model: Any, scratch: Any, taken: Any, change: int) -> None:
    """Add what the change takes of units, or frees."""
    task = task_of(change)
    for row in range(first_row(model, task), first_row(model, task + 1)):
        unit = int(scratch.row_unit[row])
        if scratch.is_touched[unit] == 0:
            scratch.is_touched[unit] = 1
            scratch.before[unit] = scratch.taken[unit] = scratch.peak[unit] = 0.0
            scratch.touched[scratch.n_touched[0]] = unit
            scratch.n_touched[0] += 1
        taken[unit] += scratch.row_amount[row] if is_begin(change) else -scratch.row_amount[row]


def next_begin(model: Any, state: Any, scratch: Any, now_us: float) -> tuple[int, int]:
    """Return the first task whose reservation begins now and that fits, and its unit; its reservation is cancelled.
    -1, -1 if there is none."""
    item = int(scratch.first[0])
    while item > 0:
        task = item - 1
        if scratch.plan[task] == PLANNED and scratch.change_us[2 * task] <= now_us:
            cancel(model, state, scratch, task)
            look_up_expected(model, state, scratch, task)
            unit = unit_from(model, state, scratch, task, now_us, True)
            if unit >= 0:
                return task, unit
            if is_within_quotas(model, state, task):
                reserve(model, state, scratch, task, now_us)
        item = int(scratch.next[task])
    restore_capacities(model, state, scratch)
    return -1, -1
