"""What is expected of each unit: its profile, the index of all, and both brought up to date with events.

A running task takes its demand until its expected end, or until now if it runs longer. A reservation takes it from its
begin to its expected end. The profile of a unit says when a task could begin on it.

In the index, units are sorted by type, then in (rack, shelf) order. Segment trees over this order hold the load of the
units with room, and the earliest time at which a unit that has no room for a task may get some; another one holds when
the first reservation of each unit begins. The trees are brought up to date only when they are asked: the units that
have changed are noted.
"""

import math
from collections.abc import Mapping
from typing import Any

from vinesim.policies.backfill.base import (
    KNOWN,
    STALE,
    UNABLE,
    Rank,
    all_to_be_indexed,
    insert_in_order,
    is_begin,
    leave,
    longest_expected_us,
    note_event,
    take_out,
    task_of,
    to_be_indexed,
)
from vinesim.policies.structures.by_type import BY_TYPE, sort_by_type
from vinesim.policies.structures.min_tree import first_within, least_of, set_value, size_of_tree
from vinesim.state.expected import held_until_on_us, held_until_us, planned_end_us
from vinesim.state.layout import FULL, OUTAGE, OVERFULL
from vinesim.state.queries import demand, fits, has_room, next_with_room, start, transfer_us

PROFILE: Mapping[str, tuple[str, str]] = {
    **KNOWN,
    **BY_TYPE,
    **STALE,
    "change_first": ("i4", "units"),
    "tree_size": ("i8", "one"),  # 0 until the index is made
    "room_us": ("f8", "units*4"),  # tree: when a task that cannot begin now may be able to at the earliest
    "begin_us": ("f8", "units*4"),  # tree, in (rack, shelf) order: the first begin of a reservation, else infinite
    "load": ("f8", "units*4"),  # tree: the load of units with room, else infinite; only if tasks have demands
    "on_unit": ("i4", "tasks"),  # 1 + the unit that it runs on or has reserved; 0 = none; NOWHERE
    "best": ("i8", "one"),  # the unit found so far, -1 = none
    "best_us": ("f8", "one"),  # when the task can begin on it
    "best_end_us": ("f8", "one"),
}
NOWHERE = -1  # no unit now up could ever hold the task
ROUNDING = 1e-12  # relative; more than a sum or a difference of loads is off


def add_change(scratch: Any, unit: int, change: int, time_us: float) -> None:
    """Insert a change into the unit's chain."""
    insert_in_order(scratch.change_us, scratch.change_next, scratch.change_first, unit, change, time_us)
    to_be_indexed(scratch, unit)


def remove_change(scratch: Any, unit: int, change: int) -> None:
    """Remove a change from the unit's chain."""
    take_out(scratch.change_next, scratch.change_first, unit, change)
    to_be_indexed(scratch, unit)


def n_ranges(model: Any) -> int:
    """Return how many ranges of units there are at one distance from a task's data."""
    return 5 if len(model.task_data_node) > 0 else 1


def range_of(model: Any, task: int, i: int) -> tuple[int, int]:
    """Return the i-th range [first, end) of units at one distance from the task's data; it may be empty."""
    n_units = len(model.unit_type)
    if len(model.task_data_node) == 0:
        return 0, n_units
    node = int(model.task_data_node[task])
    rack = int(model.node_rack[node])
    near, near_end = int(model.node_first[node]), int(model.node_first[node + 1])
    side, side_end = int(model.rack_first[rack]), int(model.rack_first[rack + 1])
    if i == 0:
        return near, near_end
    if i == 1:
        return side, near
    if i == 2:
        return near_end, side_end
    return (0, side) if i == 3 else (side_end, n_units)


def make_index(model: Any, scratch: Any) -> None:
    """Sort the units by type. All loads have to be noted; in the other trees, a unit without a profile is infinite."""
    n_units = len(model.unit_type)
    sort_by_type(model, scratch)
    scratch.tree_size[0] = size_of_tree(n_units)
    for i in range(2 * int(scratch.tree_size[0])):
        scratch.room_us[i], scratch.begin_us[i] = math.inf, math.inf
    if len(model.task_demand) > 0:
        for i in range(2 * int(scratch.tree_size[0])):
            scratch.load[i] = math.inf
        all_to_be_indexed(model, scratch)


def index_again(model: Any, scratch: Any) -> None:
    """Make the index again, if there is one: tasks may have demands now that had none before."""
    if scratch.tree_size[0] > 0:
        for i in range(len(scratch.type_first)):
            scratch.type_first[i] = 0
        make_index(model, scratch)
        all_to_be_indexed(model, scratch)


def update_index(model: Any, state: Any, scratch: Any) -> None:
    """Bring the trees up to date with the units that have changed."""
    if scratch.tree_size[0] == 0:
        make_index(model, scratch)
    size = int(scratch.tree_size[0])
    for i in range(int(scratch.n_stale[0])):
        unit = int(scratch.stale[i])
        scratch.is_stale[unit] = 0
        place = int(scratch.place[unit])
        set_value(scratch.room_us, size, place, next_room_us(model, state, scratch, unit))
        set_value(scratch.begin_us, size, unit, first_begin_us(scratch, unit))
        if len(model.task_demand) > 0:
            load = state.unit_load[unit] if has_room(model, state, unit) else math.inf
            set_value(scratch.load, size, place, load)
    scratch.n_stale[0] = 0


def next_room_us(model: Any, state: Any, scratch: Any, unit: int) -> float:
    """Return the earliest time at which a task that cannot begin on the unit now may be able to: when the first task
    ends after which the unit is not full; infinite if none is expected to."""
    load, capacity = state.unit_load[unit], state.unit_open[unit]
    change = int(scratch.change_first[unit]) if capacity > 0.0 else 0
    while change > 0:
        time_us, has_end = scratch.change_us[change - 1], False
        while change > 0 and scratch.change_us[change - 1] == time_us:
            taken = demand(model, state, task_of(change), unit)
            load += taken if is_begin(change) else -taken
            has_end = has_end or not is_begin(change)
            change = int(scratch.change_next[change - 1])
        if has_end and load < capacity * FULL:
            return time_us
    return math.inf


def first_begin_us(scratch: Any, unit: int) -> float:
    """Return when the unit's first reservation begins; infinite if it has none."""
    change = int(scratch.change_first[unit])
    while change > 0 and not is_begin(change):
        change = int(scratch.change_next[change - 1])
    return scratch.change_us[change - 1] if change > 0 else math.inf


def place_from(model: Any, scratch: Any, p: int, unit: int) -> int:
    """Return the place of the first unit of the type, ``unit`` or after it."""
    low, high = int(scratch.type_first[p]), int(scratch.type_first[p + 1])
    if unit == 0:
        return low
    if unit == len(model.unit_type):
        return high
    while low < high:
        middle = (low + high) >> 1
        if scratch.unit_at[middle] < unit:
            low = middle + 1
        else:
            high = middle
    return low


def next_that_fits(model: Any, state: Any, scratch: Any, task: int, p: int, unit: int, end: int) -> int:
    """Return the first unit of the type in [unit, end) that has room for the task now; -1 if there is none."""
    found = next_with_room(model, state, p, unit)
    if found < 0 or found >= end:
        return -1
    if len(model.task_demand) == 0 or fits(model, state, task, found):
        return found
    update_index(model, state, scratch)
    size, capacity = int(scratch.tree_size[0]), model.unit_capacity[found]
    limit = capacity * (OVERFULL + ROUNDING) - demand(model, state, task, found)
    place_end = place_from(model, scratch, p, end)
    place = first_within(scratch.load, size, int(scratch.place[found]) + 1, place_end, limit, True)
    while place >= 0:
        if fits(model, state, task, int(scratch.unit_at[place])):
            return int(scratch.unit_at[place])
        place = first_within(scratch.load, size, place + 1, place_end, limit, True)
    return -1


def reserve(model: Any, state: Any, scratch: Any, task: int, unit: int, begin_us: float) -> None:
    """Reserve the unit for the task from a time on."""
    scratch.on_unit[task] = unit + 1
    add_change(scratch, unit, 2 * task + 1, begin_us)
    add_change(scratch, unit, 2 * task + 2, held_until_on_us(model, state, task, unit, begin_us))


def cancel(scratch: Any, task: int) -> None:
    """Cancel the task's reservation."""
    unit = int(scratch.on_unit[task]) - 1
    remove_change(scratch, unit, 2 * task + 1)
    remove_change(scratch, unit, 2 * task + 2)
    scratch.on_unit[task] = 0


def start_now(model: Any, state: Any, view: Any, task: int, unit: int) -> Any:
    """Start a waiting task that has no reservation."""
    scratch = view.scratch
    leave(scratch, task)
    scratch.on_unit[task] = unit + 1
    scratch.is_running[task] = 1
    add_change(scratch, unit, 2 * task + 2, held_until_on_us(model, state, task, unit, view.now_us))
    return start(task, unit)


def note_stop(scratch: Any, task: int) -> None:
    """Record that the task no longer runs."""
    remove_change(scratch, int(scratch.on_unit[task]) - 1, 2 * task + 2)
    scratch.on_unit[task] = 0
    scratch.is_running[task] = 0


def update(model: Any, state: Any, view: Any, rank: Rank) -> int:
    """Process what has happened. An outage changes any unit."""
    if view.event == OUTAGE:
        all_to_be_indexed(model, view.scratch)
    return note_event(model, state, view, rank, note_stop)


def look_up_expected(model: Any, state: Any, scratch: Any, task: int) -> None:
    """Record the task's expected times on all types."""
    for p in range(len(model.affinity)):
        scratch.expected[p] = longest_expected_us(model, state, task, p, p + 1)


def has_room_for(load: float, wanted: float, capacity: float) -> bool:
    """Whether a unit with that load could take that demand."""
    return load < capacity * FULL and load + wanted <= capacity * OVERFULL


def begin_on(model: Any, state: Any, scratch: Any, task: int, unit: int, now_us: float, latest_us: float) -> float:
    """Return the earliest time, at most ``latest_us``, from which the unit has room for the task until its expected
    end; infinite if there is none. ``look_up_expected`` must have been called for the task."""
    execution_us = scratch.expected[model.unit_type[unit]]
    capacity = state.unit_open[unit]
    if execution_us == UNABLE or capacity <= 0.0:
        return math.inf
    wanted, moving_us = demand(model, state, task, unit), transfer_us(model, state, task, unit)
    load = state.unit_load[unit]
    begin_us = now_us if has_room_for(load, wanted, capacity) else math.inf
    change = int(scratch.change_first[unit])
    while change > 0:
        time_us = max(now_us, scratch.change_us[change - 1])
        if held_until_us(model, task, begin_us, moving_us, execution_us) <= time_us:
            return begin_us
        if begin_us == math.inf and time_us > latest_us:
            return math.inf
        while change > 0 and max(now_us, scratch.change_us[change - 1]) == time_us:
            taken = demand(model, state, task_of(change), unit)
            load += taken if is_begin(change) else -taken
            change = int(scratch.change_next[change - 1])
        if not has_room_for(load, wanted, capacity):
            begin_us = math.inf
        elif begin_us == math.inf and time_us <= latest_us:
            begin_us = time_us
    return begin_us


def takes_us(model: Any, state: Any, scratch: Any, task: int, unit: int) -> float:
    """Return for how long the task is expected to be on the unit. Needs ``look_up_expected``, like ``begin_on``."""
    execution_us = scratch.expected[model.unit_type[unit]]
    return planned_end_us(model, task, 0.0, transfer_us(model, state, task, unit), execution_us)


def earliest_begin(model: Any, state: Any, scratch: Any, task: int, now_us: float) -> tuple[int, float]:
    """Return the unit on which the task could begin earliest, and when. Among several, the one with the earliest
    expected end, then the first in (rack, shelf) order. -1 and infinite if there is none."""
    unit = unit_now(model, state, scratch, task, now_us)
    scratch.best[0], scratch.best_us[0], scratch.best_end_us[0] = -1, math.inf, math.inf
    if unit >= 0:
        weigh(model, state, scratch, task, unit, now_us)
    update_index(model, state, scratch)
    if scratch.room_us[1] > scratch.best_us[0]:
        return int(scratch.best[0]), scratch.best_us[0]  # no unit that is busy now may have room as early
    for p in range(len(model.affinity)):
        if scratch.expected[p] != UNABLE:
            for i in range(n_ranges(model)):
                first, end = range_of(model, task, i)
                if first < end:
                    place, place_end = place_from(model, scratch, p, first), place_from(model, scratch, p, end)
                    look_among(model, state, scratch, task, place, place_end, now_us)
    return int(scratch.best[0]), scratch.best_us[0]


def look_among(model: Any, state: Any, scratch: Any, task: int, place: int, place_end: int, now_us: float) -> None:
    """Look for a better unit among those of one type at one distance; first at the one that may have room earliest,
    then at all that may be better."""
    size = int(scratch.tree_size[0])
    least_us = max(now_us, least_of(scratch.room_us, size, place, place_end, math.inf))
    if least_us == math.inf or least_us > scratch.best_us[0]:
        return
    unit = int(scratch.unit_at[place])
    needs_us = takes_us(model, state, scratch, task, unit)
    if demand(model, state, task, unit) > model.unit_capacity[unit] * (2.0 * OVERFULL - 1.0):
        return
    at = first_within(scratch.room_us, size, place, place_end, least_us, True)
    weigh(model, state, scratch, task, int(scratch.unit_at[at]), now_us)
    at = next_better(scratch, place, place_end, needs_us, now_us)
    while at >= 0:
        weigh(model, state, scratch, task, int(scratch.unit_at[at]), now_us)
        at = next_better(scratch, at + 1, place_end, needs_us, now_us)


def next_better(scratch: Any, place: int, place_end: int, needs_us: float, now_us: float) -> int:
    """Return the next place of a unit that may be better than the best one; -1 if there is none."""
    if place >= place_end:
        return -1
    best_us, best_end_us = scratch.best_us[0], scratch.best_end_us[0]
    end_us = best_us + needs_us
    is_tie_better = end_us < best_end_us or (end_us == best_end_us and scratch.unit_at[place] < scratch.best[0])
    if best_us <= now_us and not is_tie_better:
        return -1
    return first_within(scratch.room_us, int(scratch.tree_size[0]), place, place_end, best_us, is_tie_better)


def weigh(model: Any, state: Any, scratch: Any, task: int, unit: int, now_us: float) -> None:
    """Make the unit the best one if the task could begin on it earlier, or as early and end earlier."""
    best_us, best_end_us = scratch.best_us[0], scratch.best_end_us[0]
    begin_us = begin_on(model, state, scratch, task, unit, now_us, best_us)
    if begin_us < math.inf:
        end_us = begin_us + takes_us(model, state, scratch, task, unit)
        if (
            begin_us < best_us
            or end_us < best_end_us
            or (end_us == best_end_us and begin_us == best_us and unit < scratch.best[0])
        ):
            scratch.best[0], scratch.best_us[0], scratch.best_end_us[0] = unit, begin_us, end_us


def unit_now(model: Any, state: Any, scratch: Any, task: int, now_us: float) -> int:
    """Return the unit on which the task may begin now and is expected to end first, in (rack, shelf) order among
    equals; -1 if there is none."""
    look_up_expected(model, state, scratch, task)
    best, best_us = -1, math.inf
    for p in range(len(model.affinity)):
        if scratch.expected[p] != UNABLE:
            for i in range(n_ranges(model)):
                first, end = range_of(model, task, i)
                if first < end:
                    moving_us = transfer_us(model, state, task, first)
                    needs_us = planned_end_us(model, task, 0.0, moving_us, scratch.expected[p])
                    if needs_us <= best_us:
                        unit = first_now(model, state, scratch, task, p, first, end, now_us)
                        if unit >= 0 and (needs_us < best_us or unit < best):
                            best, best_us = unit, needs_us
    return best


def first_now(model: Any, state: Any, scratch: Any, task: int, p: int, first: int, end: int, now_us: float) -> int:
    """Return the first unit of the type in [first, end) on which the task may begin now; -1 if there is none."""
    unit = next_that_fits(model, state, scratch, task, p, first, end)
    while unit >= 0 and begin_on(model, state, scratch, task, unit, now_us, now_us) > now_us:
        unit = next_that_fits(model, state, scratch, task, p, unit + 1, end)
    return unit
