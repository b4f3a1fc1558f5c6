"""What is expected of each unit where tasks hold several: a chain of changes of its load, in order of time.

Row r of a task (state/places.py) frees its amount of its unit with change 2 r + 2; the row of a reservation takes it
with change 2 r + 1. The rows of one task, with its gang, can be left out: its own reservation is not in its way.
"""

import math
from collections.abc import Mapping
from typing import Any

from vinesim.policies.backfill.ahead import end_at_us, n_tiers
from vinesim.policies.backfill.changes import insert_in_order, is_begin, take_out, task_of, to_be_indexed
from vinesim.state.layout import OVERFULL
from vinesim.state.places import end_of_members, first_row
from vinesim.state.queries import demand, has_room, is_up, room, tier

UNIT_CHANGES: Mapping[str, tuple[str, str]] = {
    "row_us": ("f8", "held*2"),  # when each change is expected
    "row_next": ("i4", "held*2"),
    "row_first": ("i4", "units"),
    "own_first": ("i8", "one"),  # rows that are left out
    "own_end": ("i8", "one"),
    "chance_us": ("f8", "units"),  # before then, the unit has no room at all
    "stale": ("i4", "units"),  # units that have changed since that was brought up to date
    "n_stale": ("i8", "one"),
    "is_stale": ("u1", "units"),
    "gap_us": ("f8", "units"),  # the begin of a gap that was found, infinite: there is none
    "gap_end_us": ("f8", "units"),
}
ROUNDING = 2.0 * (OVERFULL - 1.0)  # of a capacity, which counts as free
row_of = task_of  # rows have numbers of changes as tasks have


def add_row_change(scratch: Any, change: int, time_us: float) -> None:
    """Expect a change of the load of a row's unit."""
    unit = int(scratch.row_unit[row_of(change)])
    insert_in_order(scratch.row_us, scratch.row_next, scratch.row_first, unit, change, time_us)
    to_be_indexed(scratch, unit)


def take_row_change(scratch: Any, change: int) -> None:
    """Expect it no longer."""
    unit = int(scratch.row_unit[row_of(change)])
    take_out(scratch.row_next, scratch.row_first, unit, change)
    to_be_indexed(scratch, unit)


def leave_out(model: Any, state: Any, scratch: Any, task: int) -> None:
    """Let the changes of a task, with its gang, count for nothing from now on."""
    scratch.own_first[0] = first_row(model, task)
    scratch.own_end[0] = first_row(model, end_of_members(model, state, task))


def takes(scratch: Any, change: int) -> float:
    """Return how much the change takes, negative if it frees that."""
    if is_left_out(scratch, change):
        return 0.0
    amount = scratch.row_amount[row_of(change)]
    return float(amount if is_begin(change) else -amount)


def is_left_out(scratch: Any, change: int) -> bool:
    """Whether the change counts for nothing."""
    return bool(scratch.own_first[0] <= row_of(change) < scratch.own_end[0])


def peak(scratch: Any, unit: int, begin_us: float, is_now: bool, until_us: float) -> float:
    """Return the most that is taken of a unit from a time to before another one, beyond what is taken now. Now, what
    runs longer than expected is there."""
    taken, late, change = 0.0, 0.0, int(scratch.row_first[unit])
    while change > 0 and scratch.row_us[change - 1] <= begin_us:
        if is_now and not is_begin(change):
            late += takes(scratch, change)
        else:
            taken += takes(scratch, change)
        change = int(scratch.row_next[change - 1])
    most = taken
    taken += late
    while change > 0 and scratch.row_us[change - 1] < until_us:
        time_us = scratch.row_us[change - 1]
        while change > 0 and scratch.row_us[change - 1] == time_us:
            taken += takes(scratch, change)
            change = int(scratch.row_next[change - 1])
        most = max(most, taken)
    return most


def renew_chances(model: Any, state: Any, scratch: Any) -> None:
    """Bring up to date when units may have room that have changed; all units are as they are."""
    for i in range(int(scratch.n_stale[0])):
        unit = int(scratch.stale[i])
        scratch.is_stale[unit], scratch.chance_us[unit] = 0, math.inf
        if not is_up(model, state, unit):
            continue
        change = int(scratch.row_first[unit])
        if has_room(model, state, unit):
            scratch.chance_us[unit] = -math.inf
        else:
            while change > 0 and is_begin(change):
                change = int(scratch.row_next[change - 1])
            scratch.chance_us[unit] = scratch.row_us[change - 1] if change > 0 else math.inf
    scratch.n_stale[0] = 0


def find_gap(model: Any, state: Any, scratch: Any, task: int, unit: int, begin_us: float) -> None:
    """Find the first gap of a unit, at or after a time, that lasts for a task whose expected times were looked up, and
    note from when to when it is; all units are as they are."""
    scratch.gap_us[unit], scratch.gap_end_us[unit] = math.inf, math.inf
    if not is_up(model, state, unit):
        return
    free = room(model, state, unit) - demand(model, state, task, unit) + ROUNDING * model.unit_capacity[unit]
    change = int(scratch.row_first[unit])
    while change > 0 and scratch.row_us[change - 1] <= begin_us:
        free -= takes(scratch, change)
        change = int(scratch.row_next[change - 1])
    is_open, gap_us = free >= 0.0, begin_us
    while change > 0:
        time_us = scratch.row_us[change - 1]
        while change > 0 and scratch.row_us[change - 1] == time_us:
            free -= takes(scratch, change)
            change = int(scratch.row_next[change - 1])
        if is_open and free < 0.0:
            if end_on_us(model, state, scratch, task, unit, gap_us) <= time_us:
                scratch.gap_us[unit], scratch.gap_end_us[unit] = gap_us, time_us
                return
            is_open = False
        elif not is_open and free >= 0.0:
            is_open, gap_us = True, time_us
    if is_open:
        scratch.gap_us[unit] = gap_us


def has_gap(model: Any, state: Any, scratch: Any, task: int, unit: int, begin_us: float) -> bool:
    """Whether the gap that was found of a unit is long enough for the task if it begins at a time."""
    if scratch.gap_us[unit] > begin_us:
        return False
    end_us = scratch.gap_end_us[unit]
    return bool(end_us == math.inf or end_on_us(model, state, scratch, task, unit, begin_us) <= end_us)


def end_on_us(model: Any, state: Any, scratch: Any, task: int, unit: int, begin_us: float) -> float:
    """Return when the task is expected to end on a unit."""
    at = tier(model, state, task, unit) if n_tiers(model, state, task) > 1 else -1
    return end_at_us(model, scratch, task, int(model.unit_type[unit]), at, begin_us)


def next_end_us(model: Any, scratch: Any, after_us: float) -> float:
    """Return the first time after another one at which something is expected to end; infinite if there is none."""
    found = math.inf
    for unit in range(len(model.unit_type)):
        change = int(scratch.row_first[unit])
        while change > 0 and scratch.row_us[change - 1] < found:
            is_end = not is_begin(change) and not is_left_out(scratch, change)
            if is_end and scratch.row_us[change - 1] > after_us:
                found = scratch.row_us[change - 1]
            change = int(scratch.row_next[change - 1])
    return found
