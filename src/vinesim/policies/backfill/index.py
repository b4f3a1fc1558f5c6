"""The index of the units: where a task fits now, and which unit may have room for it next.

Units are sorted by type, then in (rack, shelf) order. Segment trees over this order hold the load of the units with
room, and the earliest time at which a unit that has no room for a task may get some; another one holds when the first
reservation of each unit begins. The trees are brought up to date only when they are asked: the units that have changed
are noted.
"""

import math
from collections.abc import Mapping
from typing import Any

from vinesim.policies.backfill.changes import CHANGES_SCRATCH, is_begin, task_of, to_be_indexed
from vinesim.policies.structures.by_type import BY_TYPE, sort_by_type
from vinesim.policies.structures.min_tree import first_within, set_value, size_of_tree
from vinesim.state.layout import FULL, OVERFULL
from vinesim.state.queries import demand, fits, has_room, next_with_room

INDEX_SCRATCH: Mapping[str, tuple[str, str]] = {
    **CHANGES_SCRATCH,
    **BY_TYPE,
    "tree_size": ("i8", "one"),  # 0 until the index is made
    "room_us": ("f8", "units*4"),  # tree: when a task that cannot begin now may be able to at the earliest
    "begin_us": ("f8", "units*4"),  # tree, in (rack, shelf) order: the first begin of a reservation, else infinite
    "load": ("f8", "units*4"),  # tree: the load of units with room, else infinite; only if tasks have demands
}
ROUNDING = 1e-12  # relative; more than a sum or a difference of loads is off


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
        for unit in range(n_units):
            to_be_indexed(scratch, unit)


def index_again(model: Any, scratch: Any) -> None:
    """Make the index again, if there is one: tasks may have demands now that had none before."""
    if scratch.tree_size[0] > 0:
        for i in range(len(scratch.type_first)):
            scratch.type_first[i] = 0
        make_index(model, scratch)
        for unit in range(len(model.unit_type)):
            to_be_indexed(scratch, unit)


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
