"""Conservative backfilling of tasks that hold several units, and of gangs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.backfill.ahead import restore_capacities, start_now, unit_of, update
from vinesim.policies.backfill.base import (
    UNABLE,
    Backfill,
    all_to_be_indexed,
    ends_now,
    first_waiting,
    is_between_passes,
    next_waiting,
    rank,
    task_of,
)
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
from vinesim.policies.backfill.plan import ANYWHERE, PLAN, PLANNED, next_planned, note_change, note_freed
from vinesim.policies.structures.by_type import sort_by_type
from vinesim.state.expected import held_until_on_us
from vinesim.state.places import end_of_members, is_member, note_place, rows_of
from vinesim.state.queries import nothing


@dataclass(frozen=True)
class ConservativeBackfillOfNodes(Backfill):
    """Conservative backfilling where a task holds several units, and gangs start together.

    Each task, or gang, reserves the units that it would hold at the earliest time, now or when something ends, from
    which they have room for it until its expected end, next to what runs and all other reservations. It starts when its
    time has come, where it fits next to them. If something ends earlier or later than expected, tasks move to earlier
    times, one by one, in order of arrival, until none can. A reservation whose time has passed because something runs
    longer than expected is made again. So are all of them, in order of arrival, when a node goes down or comes up, or
    if nothing runs and nothing can start; if that does not help, the first that can begin starts before the others are
    planned. A task for which its quotas leave no room is passed over and reserves nothing, as in Slurm.
    """

    scratch: ClassVar[Mapping[str, tuple[str, str]]] = {
        **PLAN,
        **EARLIEST,
        "is_begun": ("u1", "one"),
        "freed_us": ("f8", "units"),  # from when something of the unit is free that was not
        "freed_end_us": ("f8", "units"),  # until when
        "gain_us": ("f8", "types"),  # until when a task has to begin to find a gap of a type that was not there
    }

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        scratch, now_us = view.scratch, view.now_us
        restore_capacities(model, state, scratch)
        if scratch.is_begun[0] == 0:
            sort_by_type(model, scratch)
            expect_again(model, state, scratch, now_us)
            scratch.is_begun[0] = 1
        if ends_now(view):
            note_ended(model, scratch, view.task, now_us)
        change = update(model, state, view, rank)
        note_change(model, state, view, change, expect_again)
        if scratch.first[0] == 0 or is_between_passes(model, state, view):
            return nothing()
        task, unit = next_planned(model, state, view, find, move, cancel, unit_at_once, expect_again)
        if task < 0:
            return nothing()
        cancel(model, state, scratch, task)
        action = start_now(model, state, view, task, unit)
        for member in range(task, end_of_members(model, state, task)):
            if is_member(model, state, task, member):
                expect_end(model, scratch, member, scratch.change_us[2 * member + 1])
        return action


ROUNDED = 1.0 - 1e-9  # the part of a time that remains of it, however it is rounded


# What is expected of units


def expect_end(model: Any, scratch: Any, task: int, end_us: float) -> None:
    """Expect that a task releases its rows at a time."""
    for row in rows_of(model, task):
        add_row_change(scratch, 2 * row + 2, end_us)


def note_ended(model: Any, scratch: Any, task: int, now_us: float) -> None:
    """Record that a running task has ended: its rows are free from now on."""
    for row in rows_of(model, task):
        take_row_change(scratch, 2 * row + 2)
        if scratch.row_us[2 * row + 1] > now_us:
            note_free(scratch, int(scratch.row_unit[row]), now_us, scratch.row_us[2 * row + 1])


def expect_again(model: Any, state: Any, scratch: Any, now_us: float) -> None:
    """Begin the chains of all units again, with what runs and what is reserved. No unit counts as freed."""
    for unit in range(len(model.unit_type)):
        scratch.row_first[unit], scratch.until_pass[unit] = 0, 0
    scratch.n_freed[0] = 0
    all_to_be_indexed(model, scratch)
    change = int(scratch.change_first[0])
    while change > 0:
        expect_end(model, scratch, task_of(change), scratch.change_us[change - 1])
        change = int(scratch.change_next[change - 1])
    task = first_waiting(scratch)
    while task >= 0:
        if scratch.plan[task] == PLANNED:
            reserve(model, state, scratch, task, scratch.begin_us[task])
        task = next_waiting(scratch, task)


# Reservations


def reserve(model: Any, state: Any, scratch: Any, task: int, begin_us: float) -> None:
    """Reserve the rows that were noted of the task from a time on."""
    for member in range(task, end_of_members(model, state, task)):
        if is_member(model, state, task, member):
            unit = unit_of(model, scratch, member)
            for row in rows_of(model, member):
                add_row_change(scratch, 2 * row + 1, begin_us)
            expect_end(model, scratch, member, held_until_on_us(model, state, member, unit, begin_us))
    scratch.begin_us[task] = begin_us


def cancel(model: Any, state: Any, scratch: Any, task: int) -> None:
    """Cancel a reservation: its rows are free while it was to be."""
    for member in range(task, end_of_members(model, state, task)):
        if is_member(model, state, task, member):
            for row in rows_of(model, member):
                take_row_change(scratch, 2 * row + 1)
                take_row_change(scratch, 2 * row + 2)
                unit = int(scratch.row_unit[row])
                note_free(scratch, unit, scratch.row_us[2 * row], scratch.row_us[2 * row + 1])


def find(model: Any, state: Any, scratch: Any, task: int, now_us: float) -> bool:
    """Reserve units at the earliest time. Returns whether there is any."""
    look_up_needs(model, state, scratch, task)
    ask_for(model, state, scratch, task)
    begin_us, unit = earliest(model, state, scratch, task, now_us, is_any_late(scratch, now_us), math.inf)
    if unit >= 0:
        note_place(model, state, scratch, task, unit)
        reserve(model, state, scratch, task, begin_us)
    return unit >= 0


def move(model: Any, state: Any, scratch: Any, task: int, now_us: float) -> bool:
    """Move the reservation to an earlier time if there is one. Returns whether there is."""
    held_us = scratch.begin_us[task]
    ask_for(model, state, scratch, task)
    looks_there = scratch.is_simple[task] == 1 and scratch.may_move[0] != ANYWHERE
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


# What is free that was not: where all that a task needs is enough units, only there can it find an earlier time


def note_free(scratch: Any, unit: int, begin_us: float, end_us: float) -> None:
    """Record that something of a unit is free from a time to another one."""
    if scratch.until_pass[unit] == 0:
        scratch.freed_us[unit], scratch.freed_end_us[unit] = begin_us, end_us
    note_freed(scratch, unit)
    scratch.freed_us[unit] = min(scratch.freed_us[unit], begin_us)
    scratch.freed_end_us[unit] = max(scratch.freed_end_us[unit], end_us)


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
