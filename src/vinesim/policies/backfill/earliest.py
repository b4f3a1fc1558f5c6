"""When a task, with its gang, could begin at the earliest, where reservations are of particular units.

Each unit has a chain of changes of its load, in order of time. Row r of a task (state/places.py) frees its amount of
its unit with change 2 r + 2; the row of a reservation takes it with change 2 r + 1. The rows of one task, with its
gang, can be left out: its own reservation is not in its way.

A task needs a number of units of one type. The search goes from one time at which enough of them have a gap for it to
the next one, and only there looks for its place. That number is necessary; where a place may lack more, the search
goes on.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from vinesim.model.workload import NO_GANG
from vinesim.policies.backfill.ahead import (
    begin_at,
    end_at_us,
    has_tiers,
    look_up_expected,
    restore_capacities,
    suppose_more,
    tiers_of,
)
from vinesim.policies.backfill.base import STALE, UNABLE, insert_in_order, is_begin, take_out, task_of, to_be_indexed
from vinesim.policies.backfill.slots import n_alike
from vinesim.policies.structures.by_type import BY_TYPE
from vinesim.policies.structures.select import kth_least
from vinesim.state.expected import next_reservation_end_us
from vinesim.state.layout import OVERFULL
from vinesim.state.places import end_of_members, first_row
from vinesim.state.queries import demand, first_free, has_room, is_up, job_of, room, task_type, tier
from vinesim.state.shortcuts import is_start_local

UNIT_CHANGES: Mapping[str, tuple[str, str]] = {
    "row_us": ("f8", "held*2"),  # when each change is expected
    "row_next": ("i4", "held*2"),
    "row_first": ("i4", "units"),
    "own_first": ("i8", "one"),  # rows that are left out
    "own_end": ("i8", "one"),
    **STALE,
    "chance_us": ("f8", "units"),  # before then, the unit has no room at all
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
    at = tier(model, state, task, unit) if has_tiers(model, state, task) else -1
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


EARLIEST: Mapping[str, tuple[str, str]] = {
    **UNIT_CHANGES,
    **BY_TYPE,
    "takes_us": ("f8", "tasks*types"),  # how long a task, with its gang, takes on each type, or UNABLE
    "n_units": ("i8", "tasks"),  # that it needs of a type at least
    "is_simple": ("u1", "tasks"),  # that number of units with a gap is all that it needs
    "n_open": ("i8", "types"),  # units, or parts of them, with a gap at a time
    "later_us": ("f8", "units"),
}


def look_up_needs(model: Any, state: Any, scratch: Any, task: int) -> None:
    """Record what a task needs, with its gang. That stays until it starts or is planned again."""
    look_up_expected(model, state, scratch, task)
    for p in range(len(model.affinity)):
        scratch.takes_us[task * len(model.affinity) + p] = scratch.expected[p]
    n, own_type, n_on_node, is_alone = n_alike(model, state, task), task_type(model, state, task), 1, True
    if len(model.class_units) > 0:
        n_on_node = int(model.class_units[own_type])
        for p in range(len(model.affinity)):
            is_alone = is_alone and model.class_companion[own_type, p] == 0.0
    if len(model.job_gang) > 0 and model.job_gang[job_of(model, state, task)] != NO_GANG:
        job = job_of(model, state, task)
        is_alone = is_alone and not model.job_spread[job] and model.job_nodes[job] == 0
    scratch.n_units[task] = max(n, 1) * n_on_node
    scratch.is_simple[task] = is_start_local(model) and is_alone and n > 0 and n_on_node == 1


def ask_for(model: Any, state: Any, scratch: Any, task: int) -> None:
    """Ask for a task, for which ``look_up_needs`` was called, next to all reservations but its own."""
    for p in range(len(model.affinity)):
        scratch.expected[p] = scratch.takes_us[task * len(model.affinity) + p]
    leave_out(model, state, scratch, task)


def earliest(
    model: Any, state: Any, scratch: Any, task: int, now_us: float, is_any_late: bool, before_us: float
) -> tuple[float, int]:
    """Return the earliest time before ``before_us`` at which the task that was asked for could begin, and the unit;
    infinite and -1 if there is none. Units keep the capacities with which its place can be noted."""
    if before_us <= now_us:
        return math.inf, -1
    find_gaps(model, state, scratch, task, now_us, before_us)
    begin_us = possible_from(model, state, scratch, task, now_us, before_us)
    if begin_us == now_us:
        unit = unit_from(model, state, scratch, task, now_us, True)
        if unit >= 0:
            return now_us, unit
        if not is_any_late:
            begin_us = possible_after(model, state, scratch, task, now_us, before_us)
    while begin_us < before_us:
        unit = unit_from(model, state, scratch, task, begin_us, False)
        if unit >= 0:
            return begin_us, unit
        begin_us = possible_after(model, state, scratch, task, begin_us, before_us)
    return math.inf, -1


def unit_at_once(model: Any, state: Any, scratch: Any, task: int, now_us: float) -> int:
    """Return the unit on which a task, for which ``look_up_needs`` was called, could begin now and run to its expected
    end next to all reservations but its own; -1 if there is none."""
    ask_for(model, state, scratch, task)
    at_once_us = np.nextafter(now_us, math.inf)
    find_gaps(model, state, scratch, task, now_us, at_once_us)
    if possible_from(model, state, scratch, task, now_us, at_once_us) > now_us:
        return -1
    return unit_from(model, state, scratch, task, now_us, True)


def find_gaps(model: Any, state: Any, scratch: Any, task: int, begin_us: float, before_us: float) -> None:
    """Find the first gaps, from one time to before another one, of all units of the types of which enough may have one;
    the task is not asked for on other types any more."""
    restore_capacities(model, state, scratch)
    renew_chances(model, state, scratch)
    for p in range(len(model.affinity)):
        if scratch.expected[p] != UNABLE:
            if not has_chances(model, state, scratch, task, p, before_us):
                scratch.expected[p] = UNABLE
            else:
                for i in range(scratch.type_first[p], scratch.type_first[p + 1]):
                    unit = int(scratch.unit_at[i])
                    if scratch.chance_us[unit] < before_us:
                        find_gap(model, state, scratch, task, unit, max(begin_us, scratch.chance_us[unit]))
                    else:
                        scratch.gap_us[unit] = math.inf


def has_chances(model: Any, state: Any, scratch: Any, task: int, p: int, before_us: float) -> bool:
    """Whether enough units of a type may have room before a time."""
    n, needed = 0, int(scratch.n_units[task])
    for i in range(scratch.type_first[p], scratch.type_first[p + 1]):
        if scratch.chance_us[scratch.unit_at[i]] < before_us:
            n += n_slots(model, state, task, int(scratch.unit_at[i]), needed)
            if n >= needed:
                return True
    return False


def possible_from(model: Any, state: Any, scratch: Any, task: int, begin_us: float, before_us: float) -> float:
    """Return the first time, not before ``begin_us``, at which enough units of a type have a gap; infinite if that is
    not before ``before_us``."""
    while begin_us < before_us:
        is_enough, following_us = False, math.inf
        for p in range(len(model.affinity)):
            scratch.n_open[p] = 0
            if scratch.expected[p] != UNABLE:
                from_us = enough_from(model, state, scratch, task, p, begin_us, before_us)
                is_enough = is_enough or from_us == begin_us
                following_us = min(following_us, from_us)
        if is_enough:
            return begin_us
        begin_us = following_us
    return math.inf


def enough_from(model: Any, state: Any, scratch: Any, task: int, p: int, begin_us: float, before_us: float) -> float:
    """Count the gaps of the units of a type at a time. Returns the time, or one before which they cannot be enough,
    infinite if they are not before ``before_us``."""
    n, n_later, most = 0, 0, 1
    for i in range(scratch.type_first[p], scratch.type_first[p + 1]):
        unit = int(scratch.unit_at[i])
        if scratch.gap_us[unit] <= begin_us and not has_gap(model, state, scratch, task, unit, begin_us):
            find_gap(model, state, scratch, task, unit, begin_us)
        if scratch.gap_us[unit] <= begin_us:
            n += n_slots(model, state, task, unit, int(scratch.n_units[task]))
        elif scratch.gap_us[unit] < before_us:
            scratch.later_us[n_later] = scratch.gap_us[unit]
            n_later += 1
            most = max(most, n_slots(model, state, task, unit, int(scratch.n_units[task])))
    scratch.n_open[p] = n
    missing = (int(scratch.n_units[task]) - n + most - 1) // most
    if missing <= 0:
        return begin_us
    return float(kth_least(scratch.later_us, n_later, missing)) if missing <= n_later else math.inf


def n_slots(model: Any, state: Any, task: int, unit: int, most: int) -> int:
    """Return how many tasks like this one an empty unit has room for, up to a number."""
    if len(model.task_demand) == 0:
        return 1
    amount, capacity = demand(model, state, task, unit), model.unit_capacity[unit] * OVERFULL
    return most if amount * most <= capacity else max(1, int(capacity / amount))


def possible_after(model: Any, state: Any, scratch: Any, task: int, after_us: float, before_us: float) -> float:
    """Return the first time after another one at which something ends and enough units have a gap."""
    begin_us = min(next_end_us(model, scratch, after_us), next_reservation_end_us(model, after_us))
    return possible_from(model, state, scratch, task, begin_us, before_us)


def unit_from(model: Any, state: Any, scratch: Any, task: int, begin_us: float, is_now: bool) -> int:
    """Return the unit on which the task could begin at a time and run to its expected end, where it ends first; -1 if
    there is none. Of several ends on different types, each is tried with what is free until then."""
    after_us = -math.inf
    begin_at(model, state, begin_us)
    while True:
        until_us = next_until_us(model, state, scratch, task, begin_us, after_us)
        if until_us < 0.0:
            restore_capacities(model, state, scratch)
            return -1
        if scratch.is_simple[task] == 0:
            suppose_peaks(model, state, scratch, begin_us, is_now, until_us)
        best = -1
        for p in range(len(model.affinity)):
            is_supposed = False
            for at in tiers_of(model, state, task) if is_enough(scratch, task, p) else range(0):
                if end_at_us(model, scratch, task, p, at, begin_us) == until_us:
                    if scratch.is_simple[task] == 1 and not is_supposed:
                        suppose_gaps(model, state, scratch, p, begin_us, is_now, until_us)
                        is_supposed = True
                    unit = first_free(model, state, task, p, at)
                    if unit >= 0 and (best < 0 or unit < best):
                        best = unit
        if best >= 0:
            return best
        restore_capacities(model, state, scratch)
        begin_at(model, state, begin_us)
        after_us = until_us


def is_enough(scratch: Any, task: int, p: int) -> bool:
    """Whether enough units of a type had a gap at the time that was asked for last."""
    return bool(scratch.expected[p] != UNABLE and scratch.n_open[p] >= scratch.n_units[task])


def next_until_us(model: Any, state: Any, scratch: Any, task: int, begin_us: float, after_us: float) -> float:
    """Return the first of the times after ``after_us`` at which the task may end if it begins at a time; -1 if there is
    none."""
    found = -1.0
    for p in range(len(model.affinity)):
        for at in tiers_of(model, state, task) if is_enough(scratch, task, p) else range(0):
            end_us = end_at_us(model, scratch, task, p, at, begin_us)
            if end_us > after_us and (found < 0.0 or end_us < found):
                found = end_us
    return found


def suppose_peaks(model: Any, state: Any, scratch: Any, begin_us: float, is_now: bool, until_us: float) -> None:
    """Let tasks find what is free of all units from a time to before another one."""
    for unit in range(len(model.unit_type)):
        if scratch.row_first[unit] > 0:
            suppose_more(model, state, scratch, unit, -peak(scratch, unit, begin_us, is_now, until_us))


def suppose_gaps(model: Any, state: Any, scratch: Any, p: int, begin_us: float, is_now: bool, until_us: float) -> None:
    """Do this for the units of a type, as far as it matters for a task that needs nothing else: others have no gap for
    it."""
    for i in range(scratch.type_first[p], scratch.type_first[p + 1]):
        unit = int(scratch.unit_at[i])
        if scratch.gap_us[unit] > begin_us:
            if room(model, state, unit) > 0.0:
                suppose_more(model, state, scratch, unit, -model.unit_capacity[unit])
        elif scratch.row_first[unit] > 0:
            suppose_more(model, state, scratch, unit, -peak(scratch, unit, begin_us, is_now, until_us))
