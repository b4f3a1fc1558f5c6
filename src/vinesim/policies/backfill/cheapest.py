"""Where something later in the queue takes the fewest slots of the first task (``slots.py``).

A gang goes node by node to where it takes the fewest slots per task. Then the units of its type get capacities so that
it has room at these nodes only, for the number of tasks that each is to get.
"""

import math
from collections.abc import Mapping
from typing import Any

from vinesim.model.workload import RACK
from vinesim.policies.backfill.ahead import UNABLE, end_at_us, n_tiers, suppose_more
from vinesim.policies.backfill.slots import add_taken, forget_taken, item_of, n_lost, slots_at, within
from vinesim.state.places import first_row, note_rows, room_at
from vinesim.state.queries import can_start, first_free, fits_itself, next_with_room, room, tier

CHEAPEST: Mapping[str, tuple[str, str]] = {
    "n_here": ("i4", "nodes"),  # tasks of the gang that are to go to a node
    "n_lost_here": ("i4", "nodes"),  # slots that it loses
    "taken_before": ("f8", "units"),
}


def cheapest_unit(model: Any, state: Any, scratch: Any, task: int, first: int, begin_us: float, after_us: float) -> int:
    """Return the unit on which a single task, if it ends after a time, takes the fewest slots of the first one; of
    several that where it ends first, then the first in (rack, shelf) order; -1 if there is none. ``look_up_expected``
    must have been called for the task."""
    best, least, best_end_us, n = -1, math.inf, math.inf, n_tiers(model, state, task)
    for p in range(len(model.affinity)):
        for i in range(n if scratch.expected[p] != UNABLE else 0):
            at = i if n > 1 else -1
            end_us = end_at_us(model, scratch, task, p, at, begin_us)
            unit = first_free(model, state, task, p, at) if end_us > after_us else -1
            while unit >= 0:
                if (at < 0 or tier(model, state, task, unit) == at) and can_start(model, state, task, unit):
                    lost = lost_by_one(model, state, scratch, task, first, unit)
                    is_earlier = end_us < best_end_us or (end_us == best_end_us and unit < best)
                    if lost < least or (lost == least and is_earlier):
                        best, least, best_end_us = unit, lost, end_us
                    if lost == 0:
                        break
                unit = next_with_room(model, state, p, unit + 1)
    return best


def lost_by_one(model: Any, state: Any, scratch: Any, task: int, first: int, unit: int) -> int:
    """Return how many slots are lost if one task runs on a unit."""
    node = int(model.unit_node[unit])
    if slots_at(model, state, scratch, first, node) == 0:
        return 0
    note_rows(model, state, scratch, task, unit)
    for row in range(first_row(model, task), first_row(model, task + 1)):
        add_taken(scratch, int(scratch.row_unit[row]), scratch.row_amount[row])
    lost = n_lost(model, state, scratch, first, node)
    forget_taken(scratch)
    return lost


def lead_to_cheapest(
    model: Any, state: Any, scratch: Any, task: int, first: int, n: int, begin_us: float, after_us: float
) -> int:
    """Offer the units so that a gang of n tasks that are alike, if it ends after a time, goes to where it takes the
    fewest slots of the first task. Returns the unit of its own first task; -1 if it has no such place. All units are
    as they are, and ``look_up_expected`` was called for the gang."""
    best, least, best_end_us = -1, math.inf, math.inf
    for p in range(len(model.affinity)):
        end_us = end_at_us(model, scratch, task, p, -1, begin_us) if scratch.expected[p] != UNABLE else -math.inf
        if end_us > after_us:
            lost = choose_nodes(model, state, scratch, task, first, p, n)
            if lost >= 0 and (lost < least or (lost == least and end_us < best_end_us)):
                best, least, best_end_us = p, lost, end_us
            forget_choice(model, state, scratch)
    if best < 0:
        return -1
    choose_nodes(model, state, scratch, task, first, best, n)
    offer_choice(model, state, scratch, best)
    return first_free(model, state, task, best, -1)


def choose_nodes(model: Any, state: Any, scratch: Any, task: int, first: int, p: int, n: int) -> int:
    """Choose nodes for n tasks that are alike: they are taken. Returns how many slots are lost; -1 if they have no
    room."""
    n_nodes = len(model.node_rack)
    if within(model, state, task) != RACK:
        return choose_of(model, state, scratch, task, first, p, n, 0, n_nodes)
    best, least = -1, -1
    for rack in range(int(model.node_rack[n_nodes - 1]) + 1):
        low, high = int(model.rack_node[rack]), int(model.rack_node[rack + 1])
        lost = choose_of(model, state, scratch, task, first, p, n, low, high)
        if lost >= 0 and (best < 0 or lost < least):
            best, least = rack, lost
        forget_choice(model, state, scratch)
    if best < 0:
        return -1
    low, high = int(model.rack_node[best]), int(model.rack_node[best + 1])
    return choose_of(model, state, scratch, task, first, p, n, low, high)


def choose_of(model: Any, state: Any, scratch: Any, task: int, first: int, p: int, n: int, low: int, high: int) -> int:
    """Do the same among the nodes [low, high)."""
    item, most = item_of(model, state, task, n)
    left, total, level = n, 0, 0.0
    while left > 0:
        following, node = math.inf, next_node(model, state, p, low)
        while 0 <= node < high and left > 0:
            before = int(scratch.n_lost_here[node])
            top = min(left, most - int(scratch.n_here[node]))
            more, lost = cheapest_more(model, state, scratch, task, first, p, node, item, top)
            if more > 0 and (lost - before) / more <= level:
                take_more(model, state, scratch, task, p, node, more)
                scratch.n_here[node] += more
                scratch.n_lost_here[node] = lost
                left, total = left - more, total + lost - before
            else:
                if more > 0:
                    following = min(following, (lost - before) / more)
                node = next_node(model, state, p, node + 1)
        if left > 0 and following == math.inf:
            return -1
        level = following
    return total


def next_node(model: Any, state: Any, p: int, node: int) -> int:
    """Return the first node, ``node`` or after it, of which a unit of a type has room; -1 if there is none."""
    if node == len(model.node_rack):
        return -1
    unit = next_with_room(model, state, p, int(model.node_first[node]))
    return int(model.unit_node[unit]) if unit >= 0 else -1


def cheapest_more(
    model: Any, state: Any, scratch: Any, task: int, first: int, p: int, node: int, item: int, top: int
) -> tuple[int, int]:
    """Return how many more tasks, up to a number, a node takes at the fewest slots a task, and how many slots it has
    lost then; 0 if it has no room for an item."""
    before = int(scratch.n_lost_here[node])
    if slots_at(model, state, scratch, first, node) <= before:
        return room_at(model, state, task, p, node, top) // item * item, before
    for unit in range(model.node_first[node], model.node_first[node + 1]):
        scratch.taken_before[unit] = scratch.taken[unit]
    n, best, least = item, 0, before
    while n <= top and take_more(model, state, scratch, task, p, node, item):
        lost = n_lost(model, state, scratch, first, node)
        if best == 0 or (lost - before) * best <= (least - before) * n:
            best, least = n, lost
        elif least == before:
            break
        n += item
    for unit in range(model.node_first[node], model.node_first[node + 1]):
        if scratch.taken[unit] != scratch.taken_before[unit]:
            scratch.taken[unit] = scratch.taken_before[unit]
            suppose_more(model, state, scratch, unit, -scratch.taken[unit])
    return best, least


def take_more(model: Any, state: Any, scratch: Any, task: int, p: int, node: int, n: int) -> bool:
    """Suppose that n more tasks run at a node, as far as they have room. Returns whether all have."""
    place = node * len(model.affinity) + p
    for _ in range(n):
        unit, i = -1, int(model.node_begin[place])
        while unit < 0 and i < model.node_begin[place + 1]:
            if fits_itself(model, state, task, int(model.node_unit[i])):
                unit = int(model.node_unit[i])
            i += 1
        if unit < 0:
            return False
        note_rows(model, state, scratch, task, unit)
        for row in range(first_row(model, task), first_row(model, task + 1)):
            other = int(scratch.row_unit[row])
            add_taken(scratch, other, scratch.row_amount[row])
            suppose_more(model, state, scratch, other, -scratch.taken[other])
    return True


def forget_choice(model: Any, state: Any, scratch: Any) -> None:
    """Forget the nodes that were chosen, and let tasks find their units as they are."""
    for i in range(int(scratch.n_taken[0])):
        unit = int(scratch.taken_unit[i])
        suppose_more(model, state, scratch, unit, 0.0)
        forget_node(scratch, int(model.unit_node[unit]))
    forget_taken(scratch)


def forget_node(scratch: Any, node: int) -> None:
    """Forget that a node was chosen."""
    scratch.n_here[node], scratch.n_lost_here[node] = 0, 0


def offer_choice(model: Any, state: Any, scratch: Any, p: int) -> None:
    """Let tasks find of the units of a type what was chosen, and nothing else; and other units as they are."""
    for i in range(int(scratch.n_taken[0])):
        unit = int(scratch.taken_unit[i])
        scratch.taken_before[unit] = room(model, state, unit)
    unit = next_with_room(model, state, p, 0)
    while unit >= 0:
        if scratch.is_taken[unit] == 0:
            suppose_more(model, state, scratch, unit, -room(model, state, unit))
        unit = next_with_room(model, state, p, unit + 1)
    for i in range(int(scratch.n_taken[0])):
        unit = int(scratch.taken_unit[i])
        suppose_more(model, state, scratch, unit, -scratch.taken_before[unit] if model.unit_type[unit] == p else 0.0)
        forget_node(scratch, int(model.unit_node[unit]))
    forget_taken(scratch)
