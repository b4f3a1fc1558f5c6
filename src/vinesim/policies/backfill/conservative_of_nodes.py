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
    restore_capacities,
    start_now,
    update,
)
from vinesim.policies.backfill.base import Backfill, is_between_passes, task_of, to_be_indexed
from vinesim.policies.backfill.earliest import (
    EARLIEST,
    add_row_change,
    ask_for,
    earliest,
    end_on_us,
    find_gap,
    look_up_needs,
    take_row_change,
    unit_at_once,
)
from vinesim.policies.structures.by_type import sort_by_type
from vinesim.state.expected import held_until_on_us
from vinesim.state.layout import OUTAGE, TIMER
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
        **EARLIEST,
        "plan": ("u1", "tasks"),  # UNPLANNED, PLANNED or NOWHERE
        "begin_us": ("f8", "tasks"),  # of the reservation
        "is_begun": ("u1", "one"),
        "is_freed": ("u1", "one"),  # there may be earlier times for what has reservations
        "is_any_freed": ("u1", "one"),  # so there may be on any unit
        "freed": ("i4", "units"),  # units of which something is free that was not when a task last looked
        "n_freed": ("i8", "one"),
        "until_pass": ("i8", "units"),  # the last pass in which the unit is considered, 0 = it is not freed
        "passes": ("i8", "one"),  # passes so far in which reservations move
        "freed_us": ("f8", "units"),  # from when
        "freed_end_us": ("f8", "units"),  # until when
        "gain_us": ("f8", "types"),  # until when a task has to begin to find a gap of a type that was not there
    }

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        scratch, now_us = view.scratch, view.now_us
        restore_capacities(model, state, scratch)
        if scratch.is_begun[0] == 0:
            sort_by_type(model, scratch)
            expect_again(model, state, scratch)
            scratch.is_begun[0] = 1
        if view.task >= 0 and scratch.is_running[view.task] == 1:
            note_ended(model, scratch, view.task, now_us)
        change = update(model, state, view)
        if change == NO_CHANGE:
            pass
        elif view.event == OUTAGE:
            forget_plan(model, state, scratch)
            expect_again(model, state, scratch)
        elif change != AS_EXPECTED:
            scratch.is_freed[0] = 1
            if view.event == TIMER:
                expect_again(model, state, scratch)
                scratch.is_any_freed[0] = 1
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
        if task < 0:
            return nothing()
        action = start_now(model, state, view, task, unit)
        for member in range(task, end_of_members(model, state, task)):
            if is_member(model, state, task, member):
                expect_end(model, scratch, member, scratch.change_us[2 * member + 1])
        return action


ROUNDED = 1.0 - 1e-9  # the part of a time that remains of it, however it is rounded
UNPLANNED, PLANNED, NOWHERE = range(3)  # NOWHERE: no units that are up could ever hold it


# What is expected of units


def expect_end(model: Any, scratch: Any, task: int, end_us: float) -> None:
    """Expect that a task releases its rows at a time."""
    for row in range(first_row(model, task), first_row(model, task + 1)):
        add_row_change(scratch, 2 * row + 2, end_us)


def note_ended(model: Any, scratch: Any, task: int, now_us: float) -> None:
    """Record that a running task has ended: its rows are free from now on."""
    for row in range(first_row(model, task), first_row(model, task + 1)):
        take_row_change(scratch, 2 * row + 2)
        if scratch.row_us[2 * row + 1] > now_us:
            note_freed(scratch, int(scratch.row_unit[row]), now_us, scratch.row_us[2 * row + 1])


def expect_again(model: Any, state: Any, scratch: Any) -> None:
    """Begin the chains of all units again, with what runs and what is reserved."""
    for unit in range(len(model.unit_type)):
        scratch.row_first[unit] = 0
        to_be_indexed(scratch, unit)
    change = int(scratch.change_first[0])
    while change > 0:
        expect_end(model, scratch, task_of(change), scratch.change_us[change - 1])
        change = int(scratch.change_next[change - 1])
    item = int(scratch.first[0])
    while item > 0:
        if scratch.plan[item - 1] == PLANNED:
            reserve(model, state, scratch, item - 1, scratch.begin_us[item - 1])
        item = int(scratch.next[item - 1])


# Reservations


def reserve(model: Any, state: Any, scratch: Any, task: int, begin_us: float) -> None:
    """Reserve the rows that were noted of the task from a time on."""
    for member in range(task, end_of_members(model, state, task)):
        if is_member(model, state, task, member):
            unit = int(scratch.row_unit[first_row(model, member)])
            for row in range(first_row(model, member), first_row(model, member + 1)):
                add_row_change(scratch, 2 * row + 1, begin_us)
            expect_end(model, scratch, member, held_until_on_us(model, state, member, unit, begin_us))
    scratch.plan[task], scratch.begin_us[task] = PLANNED, begin_us


def cancel(model: Any, state: Any, scratch: Any, task: int) -> None:
    """Cancel a reservation: its rows are free while it was to be."""
    for member in range(task, end_of_members(model, state, task)):
        if is_member(model, state, task, member):
            for row in range(first_row(model, member), first_row(model, member + 1)):
                take_row_change(scratch, 2 * row + 1)
                take_row_change(scratch, 2 * row + 2)
                unit = int(scratch.row_unit[row])
                note_freed(scratch, unit, scratch.row_us[2 * row], scratch.row_us[2 * row + 1])
    scratch.plan[task] = UNPLANNED


def forget_plan(model: Any, state: Any, scratch: Any) -> None:
    """Cancel all reservations; what is freed needs no look, as all look for a place."""
    item = int(scratch.first[0])
    while item > 0:
        if scratch.plan[item - 1] == PLANNED:
            cancel(model, state, scratch, item - 1)
        scratch.plan[item - 1] = UNPLANNED
        item = int(scratch.next[item - 1])
    forget_freed(scratch, math.inf)


def forget_missed(model: Any, state: Any, scratch: Any, now_us: float) -> None:
    """Cancel the reservations that should have begun before now, and those of tasks for which their quotas leave no
    room."""
    item = int(scratch.first[0])
    while item > 0:
        if scratch.plan[item - 1] == PLANNED:
            is_missed = scratch.begin_us[item - 1] < now_us
            if is_missed or not is_within_quotas(model, state, item - 1):
                cancel(model, state, scratch, item - 1)
        item = int(scratch.next[item - 1])


def settle(model: Any, state: Any, scratch: Any, now_us: float) -> None:
    """Make and move reservations until every waiting task has one and none could begin earlier."""
    has_moved = True
    while has_moved:
        has_moved = False
        scratch.passes[0] += int(scratch.is_freed[0])
        item = int(scratch.first[0])
        while item > 0:
            task = item - 1
            if scratch.plan[task] == UNPLANNED and is_within_quotas(model, state, task):
                look_up_needs(model, state, scratch, task)
                ask_for(model, state, scratch, task)
                late = is_any_late(scratch, now_us)
                begin_us, unit = earliest(model, state, scratch, task, now_us, late, math.inf)
                if unit >= 0:
                    note_place(model, state, scratch, task, unit)
                    reserve(model, state, scratch, task, begin_us)
                elif is_start_local(model):  # else a cap or a quota may be all that it lacks
                    scratch.plan[task] = NOWHERE
            elif scratch.is_freed[0] == 1 and scratch.plan[task] == PLANNED:
                has_moved |= move(model, state, scratch, task, now_us)
            item = int(scratch.next[task])
        if scratch.is_freed[0] == 1:
            forget_freed(scratch, scratch.passes[0])
    scratch.is_freed[0], scratch.is_any_freed[0] = 0, 0
    restore_capacities(model, state, scratch)


def move(model: Any, state: Any, scratch: Any, task: int, now_us: float) -> bool:
    """Move the reservation to an earlier time if there is one. Returns whether there is."""
    held_us = scratch.begin_us[task]
    if held_us <= now_us:
        return False
    ask_for(model, state, scratch, task)
    looks_there = scratch.is_simple[task] == 1 and scratch.is_any_freed[0] == 0
    before_us = latest_gain(model, state, scratch, task, now_us, held_us) if looks_there else held_us
    begin_us, unit = earliest(model, state, scratch, task, now_us, is_any_late(scratch, now_us), before_us)
    if unit < 0:
        return False
    cancel(model, state, scratch, task)
    note_place(model, state, scratch, task, unit)
    reserve(model, state, scratch, task, begin_us)
    return True


def is_any_late(scratch: Any, now_us: float) -> bool:
    """Whether something runs longer than expected."""
    change = int(scratch.change_first[0])
    return bool(change > 0 and scratch.change_us[change - 1] <= now_us)


def next_begin(model: Any, state: Any, scratch: Any, now_us: float) -> tuple[int, int]:
    """Return the first task whose reservation begins now and that fits, and its unit; its reservation is cancelled.
    -1, -1 if there is none."""
    item = int(scratch.first[0])
    while item > 0:
        task = item - 1
        if scratch.plan[task] == PLANNED and scratch.begin_us[task] <= now_us:
            ask_for(model, state, scratch, task)
            unit = unit_at_once(model, state, scratch, task, now_us)
            if unit >= 0:
                cancel(model, state, scratch, task)
                return task, unit
            if not is_within_quotas(model, state, task):
                cancel(model, state, scratch, task)
        item = int(scratch.next[task])
    restore_capacities(model, state, scratch)
    return -1, -1


# What is free that was not: where all that a task needs is enough units, only there can it find an earlier time


def note_freed(scratch: Any, unit: int, begin_us: float, end_us: float) -> None:
    """Record that something of a unit is free from a time to another one: it is considered in the rest of this pass
    and in the next one."""
    if scratch.until_pass[unit] == 0:
        scratch.freed[scratch.n_freed[0]] = unit
        scratch.n_freed[0] += 1
        scratch.freed_us[unit], scratch.freed_end_us[unit] = begin_us, end_us
    scratch.until_pass[unit] = scratch.passes[0] + 1
    scratch.freed_us[unit] = min(scratch.freed_us[unit], begin_us)
    scratch.freed_end_us[unit] = max(scratch.freed_end_us[unit], end_us)


def forget_freed(scratch: Any, last_pass: float) -> None:
    """Forget the units that are not considered after a pass."""
    n = 0
    for i in range(int(scratch.n_freed[0])):
        unit = int(scratch.freed[i])
        if scratch.until_pass[unit] > last_pass:
            scratch.freed[n] = unit
            n += 1
        else:
            scratch.until_pass[unit] = 0
    scratch.n_freed[0] = n


def latest_gain(model: Any, state: Any, scratch: Any, task: int, now_us: float, before_us: float) -> float:
    """Return a time, ``before_us`` at most, until which the task that was asked for has to begin to find any gap that
    has grown; minus infinity if there is none. The task is not asked for on types without one any more."""
    restore_capacities(model, state, scratch)
    for p in range(len(model.affinity)):
        scratch.gain_us[p] = -math.inf
    for i in range(int(scratch.n_freed[0])):
        unit = int(scratch.freed[i])
        p = int(model.unit_type[unit])
        if scratch.expected[p] != UNABLE and scratch.gain_us[p] < before_us:
            gain_us = gain_on_us(model, state, scratch, task, unit, now_us, before_us)
            scratch.gain_us[p] = max(scratch.gain_us[p], gain_us)
    latest_us = -math.inf
    for p in range(len(model.affinity)):
        latest_us = max(latest_us, scratch.gain_us[p])
        if scratch.gain_us[p] == -math.inf:
            scratch.expected[p] = UNABLE
    return latest_us


def gain_on_us(model: Any, state: Any, scratch: Any, task: int, unit: int, now_us: float, before_us: float) -> float:
    """Return this for a freed unit."""
    latest_us, end_us = -math.inf, min(before_us, scratch.freed_end_us[unit])
    find_gap(model, state, scratch, task, unit, now_us)
    while scratch.gap_us[unit] < end_us and latest_us < end_us:
        gap_us, gap_end_us = scratch.gap_us[unit], scratch.gap_end_us[unit]
        if gap_end_us > scratch.freed_us[unit]:
            needs_us = (end_on_us(model, state, scratch, task, unit, gap_us) - gap_us) * ROUNDED
            latest_us = max(latest_us, min(end_us, (gap_end_us - needs_us) / ROUNDED))
        find_gap(model, state, scratch, task, unit, gap_end_us)
    return latest_us
