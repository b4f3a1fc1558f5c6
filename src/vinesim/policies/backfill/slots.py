"""What EASY backfilling keeps free on nodes for the first task that waits: not particular units, but slots.

An item is what goes to one node together: a gang within a node, the tasks for one of a job's nodes, else a task. The
slots of a node are the items that it has room for at the shadow time. A scope is where all items have to be: units of a
type, in a rack or anywhere. The first task has room if a scope has a slot for each of its items.

A later task in the queue goes where it takes the fewest slots; a later gang, node by node, where it takes the fewest
per task. Then the units of its type get capacities so that it has room at these nodes only, for the number of tasks
that each is to get.
"""

import math
from collections.abc import Mapping
from typing import Any

from vinesim.model.workload import NO_GANG, NODE, RACK
from vinesim.policies.backfill.ahead import begin_at, end_at_us, suppose_more, tiers_of
from vinesim.policies.backfill.base import UNABLE, list_of, list_once
from vinesim.state.layout import OF_REQUEST
from vinesim.state.places import end_of_members, is_member, note_rows, room_at, rows_of
from vinesim.state.queries import can_start, first_free, fits_itself, job_of, next_with_room, room, task_type, tier

SLOTS: Mapping[str, tuple[str, str]] = {
    "n_items": ("i8", "one"),  # of the first task; 0: its tasks differ, so it has no slots
    "item": ("i8", "one"),  # how many tasks one is
    "most": ("i8", "one"),  # tasks at a node
    "runs_on": ("u1", "types"),
    "slots": ("i4", "types*nodes"),
    "in_scope": ("i8", "types*nodes"),  # slots of each type; for a gang within a rack, at its first node those of each
    **list_of("counted", "nodes"),  # nodes that have had slots
    "best": ("i8", "one"),  # the scope with the most slots
    "freed": ("f8", "units"),  # what ends by the shadow time
    "freed_unit": ("i4", "units"),
    "n_freed": ("i8", "one"),
    "is_freed": ("u1", "units"),
    "taken": ("f8", "units"),  # what something that may start would take
    "taken_unit": ("i4", "units"),
    "n_taken": ("i8", "one"),
    "is_taken": ("u1", "units"),
    "extra_before": ("f8", "units"),
}


def n_alike(model: Any, state: Any, task: int) -> int:
    """Return how many tasks start together with a task, itself included; 0 if they differ, or are of a request."""
    if len(model.job_gang) > 0 and model.job_gang[job_of(model, state, task)] == OF_REQUEST:
        return 0
    own_type, n = task_type(model, state, task), 0
    for member in range(task, end_of_members(model, state, task)):
        if is_member(model, state, task, member):
            n += 1
            if task_type(model, state, member) != own_type:
                return 0
            if len(model.class_units) == 0 and len(model.task_demand) > 0:
                own, first = model.task_demand[member], model.task_demand[task]
                if own != first and (own == own or first == first):  # one slot is not a number
                    return 0
    return n


def within(model: Any, state: Any, task: int) -> int:
    """Return within what the task's gang starts together, such as NODE; NO_GANG for a task without one."""
    return int(model.job_gang[job_of(model, state, task)]) if len(model.job_gang) > 0 else NO_GANG


def item_of(model: Any, state: Any, task: int, n: int) -> tuple[int, int]:
    """Return how many of n tasks that are alike go to one node together, and how many to one node at most."""
    if within(model, state, task) == NO_GANG:
        return 1, 1
    job = job_of(model, state, task)
    if within(model, state, task) == NODE:
        return n, n
    limit = int(model.job_per_node[job])
    if model.job_nodes[job] > 0:
        return limit, limit
    return 1, min(n, limit) if limit > 0 else n


def is_by_node(model: Any, state: Any, task: int, n: int) -> bool:
    """Whether n tasks that are alike can be counted by items: there are any, and none is left over."""
    return n > 0 and n % item_of(model, state, task, n)[0] == 0


# The slots of nodes


def begin_counting(model: Any, state: Any, scratch: Any, task: int) -> None:
    """Count the slots of all nodes for a task, for which ``look_up_expected`` was called, with the capacities that are
    supposed."""
    forget_slots(model, scratch)
    n, n_types = n_alike(model, state, task), 0
    for p in range(len(model.affinity)):
        scratch.runs_on[p] = scratch.expected[p] != UNABLE
        n_types += int(scratch.runs_on[p])
    is_counted_by_node = len(model.node_unit) > 0 and is_by_node(model, state, task, n)
    if not is_counted_by_node or (n_types > 1 and len(model.quota_limit) > 0):
        return
    scratch.item[0], scratch.most[0] = item_of(model, state, task, n)
    scratch.n_items[0] = n // scratch.item[0]
    for p in range(len(model.affinity)):
        unit = next_with_room(model, state, p, 0) if scratch.runs_on[p] == 1 else -1
        while unit >= 0:
            node = int(model.unit_node[unit])
            count_slots(model, state, scratch, task, node)
            unit = next_with_room(model, state, p, int(model.node_first[node + 1]))


def forget_slots(model: Any, scratch: Any) -> None:
    """Forget all slots, and what would be freed by the shadow time."""
    n_nodes = len(model.node_rack)
    for i in range(int(scratch.n_counted[0])):
        node = int(scratch.counted[i])
        scratch.is_counted[node] = 0
        for p in range(len(model.affinity)):
            scratch.slots[p * n_nodes + node] = 0
            scratch.in_scope[p * n_nodes], scratch.in_scope[p * n_nodes + first_of_rack(model, node)] = 0, 0
    for i in range(int(scratch.n_freed[0])):
        unit = int(scratch.freed_unit[i])
        scratch.freed[unit], scratch.is_freed[unit] = 0.0, 0
    scratch.n_counted[0], scratch.n_freed[0], scratch.n_items[0] = 0, 0, 0


def scope_of(model: Any, state: Any, task: int, p: int, node: int) -> int:
    """Return the scope of a node for a task on a type."""
    first = first_of_rack(model, node) if within(model, state, task) == RACK else 0
    return p * len(model.node_rack) + first


def first_of_rack(model: Any, node: int) -> int:
    """Return the first node of the rack of a node; there may be more racks than nodes."""
    return int(model.rack_node[model.node_rack[node]])


def count_slots(model: Any, state: Any, scratch: Any, task: int, node: int) -> None:
    """Count the slots of a node for the first task, with the capacities that are supposed."""
    list_once(scratch.is_counted, scratch.counted, scratch.n_counted, node)
    for p in range(len(model.affinity)):
        if scratch.runs_on[p] == 1:
            i, scope = p * len(model.node_rack) + node, scope_of(model, state, task, p, node)
            n = room_at(model, state, task, p, node, int(scratch.most[0])) // int(scratch.item[0])
            scratch.in_scope[scope] += n - scratch.slots[i]
            scratch.slots[i] = n


def find_best(model: Any, state: Any, scratch: Any, task: int) -> bool:
    """Find the scope with the most slots, the first of several. Returns whether they are enough."""
    n_nodes, best = len(model.node_rack), -1
    n_scopes = n_nodes if within(model, state, task) == RACK else 1
    for p in range(len(model.affinity)):
        for i in range(n_scopes if scratch.runs_on[p] == 1 else 0):
            scope = p * n_nodes + i
            if best < 0 or scratch.in_scope[scope] > scratch.in_scope[best]:
                best = scope
    scratch.best[0] = best
    return bool(best >= 0 and scratch.in_scope[best] >= scratch.n_items[0])


# At the shadow time


def free_rows(model: Any, scratch: Any, task: int) -> None:
    """Record that the rows of a task are freed by the shadow time."""
    for row in rows_of(model, task):
        unit = int(scratch.row_unit[row])
        list_once(scratch.is_freed, scratch.freed_unit, scratch.n_freed, unit)
        scratch.freed[unit] += scratch.row_amount[row]


def take_rows(model: Any, scratch: Any, task: int) -> None:
    """Suppose that the rows of a task are taken."""
    for row in rows_of(model, task):
        unit = int(scratch.row_unit[row])
        list_once(scratch.is_taken, scratch.taken_unit, scratch.n_taken, unit)
        scratch.taken[unit] += scratch.row_amount[row]


def forget_taken(scratch: Any) -> None:
    """Suppose that nothing is taken."""
    for i in range(int(scratch.n_taken[0])):
        unit = int(scratch.taken_unit[i])
        scratch.taken[unit], scratch.is_taken[unit] = 0.0, 0
    scratch.n_taken[0] = 0


def look_at_shadow(model: Any, state: Any, scratch: Any, node: int) -> None:
    """Let tasks find the units of a node as they are at the shadow time, but for what is taken."""
    begin_at(model, state, scratch.shadow_us[0])
    for unit in range(model.node_first[node], model.node_first[node + 1]):
        if scratch.is_freed[unit] == 1 or scratch.is_taken[unit] == 1 or scratch.is_supposed[unit] == 1:
            scratch.extra_before[unit] = scratch.extra_capacity[unit]
            suppose_more(model, state, scratch, unit, scratch.freed[unit] - scratch.taken[unit])


def look_back(model: Any, state: Any, scratch: Any, node: int) -> None:
    """Let tasks find them as before."""
    begin_at(model, state, -math.inf)
    for unit in range(model.node_first[node], model.node_first[node + 1]):
        if scratch.is_supposed[unit] == 1:
            suppose_more(model, state, scratch, unit, scratch.extra_before[unit])


def n_lost(model: Any, state: Any, scratch: Any, task: int, node: int) -> int:
    """Return how many slots of the best scope a node loses to what is taken."""
    p = int(scratch.best[0]) // len(model.node_rack)
    before = slots_at(model, state, scratch, task, node)
    if before == 0:
        return 0
    look_at_shadow(model, state, scratch, node)
    n = room_at(model, state, task, p, node, int(scratch.most[0])) // int(scratch.item[0])
    look_back(model, state, scratch, node)
    return before - n


def slots_at(model: Any, state: Any, scratch: Any, task: int, node: int) -> int:
    """Return how many slots of the best scope are at a node."""
    n_nodes, best = len(model.node_rack), int(scratch.best[0])
    if scope_of(model, state, task, best // n_nodes, node) != best:
        return 0
    return int(scratch.slots[best // n_nodes * n_nodes + node])


def leaves_slots(model: Any, state: Any, scratch: Any, task: int) -> bool:
    """Whether the first task still has room at the shadow time next to what is taken; if so, its slots are counted."""
    count_where_taken(model, state, scratch, task)
    if find_best(model, state, scratch, task):
        forget_taken(scratch)
        return True
    for i in range(int(scratch.n_taken[0])):
        scratch.taken[scratch.taken_unit[i]] = 0.0
    count_where_taken(model, state, scratch, task)
    find_best(model, state, scratch, task)
    forget_taken(scratch)
    return False


def count_where_taken(model: Any, state: Any, scratch: Any, task: int) -> None:
    """Count the slots of the nodes of which something is taken."""
    last = -1
    for i in range(int(scratch.n_taken[0])):
        node = int(model.unit_node[scratch.taken_unit[i]])
        if node != last:
            look_at_shadow(model, state, scratch, node)
            count_slots(model, state, scratch, task, node)
            look_back(model, state, scratch, node)
            last = node


CHEAPEST: Mapping[str, tuple[str, str]] = {
    "n_here": ("i4", "nodes"),  # tasks of the gang that are to go to a node
    "n_lost_here": ("i4", "nodes"),  # slots that it loses
    "taken_before": ("f8", "units"),
}


def cheapest_unit(model: Any, state: Any, scratch: Any, task: int, first: int, begin_us: float, after_us: float) -> int:
    """Return the unit on which a single task, if it ends after a time, takes the fewest slots of the first one; of
    several that where it ends first, then the first in (rack, shelf) order; -1 if there is none. ``look_up_expected``
    must have been called for the task."""
    best, least, best_end_us = -1, math.inf, math.inf
    for p in range(len(model.affinity)):
        for at in tiers_of(model, state, task) if scratch.expected[p] != UNABLE else range(0):
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
    take_rows(model, scratch, task)
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
        take_rows(model, scratch, task)
        for row in rows_of(model, task):
            other = int(scratch.row_unit[row])
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
