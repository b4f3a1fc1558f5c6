"""Where there is room for a task: whether all that it holds fits on a unit, with its gang, and the searches for a unit.

What was found is kept until the policy is called again.
"""

import numpy as np

from vinesim.core import gangs, ledger, node_index, requests
from vinesim.core.bits import at_or_after, at_or_before
from vinesim.core.features import (
    CAPS,
    DISAGGREGATED,
    GANGS,
    INDEX,
    OVERCOMMITS,
    QUOTAS,
    REQUESTS,
    RESERVED,
    SLOTS,
    WHOLE,
    called,
)
from vinesim.core.tasks import data_node, is_allowed, is_of_gang, task_type
from vinesim.jit.intrinsics import not_negative
from vinesim.state import queries
from vinesim.state.layout import FULL, PENDING


def gang_fits(model, state, task, unit):
    """Whether the tasks that are attached to a task would have room if it ran on a unit, where it has room itself."""
    if not GANGS or not is_of_gang(model, task) or state.task_unit[task] != PENDING:
        return True
    if model.affinity[not_negative(np.int64(state.unit[unit].type)), task_type(model, state, task)] <= 0.0:
        return False
    if REQUESTS and requests.is_request(model, task):
        return is_allowed(model, state, task, unit) and requests.fits(model, state, task, unit)
    return gangs.fits(model, state, task, unit)


@called
def fits_called(model, state, task, unit):
    return queries.fits(model, state, task, unit)


def is_in_room(model, state, task, unit):
    """Whether there is room for a task on a unit; not checked again if a query has just found it."""
    run = state.run[0]
    if OVERCOMMITS and run.overcommits:
        return ledger.rest_fits(model, state, task, unit)
    if WHOLE:
        return state.unit[unit].tasks == 0
    return (run.found_task == task and run.found_unit == unit) or fits_called(model, state, task, unit)


def note_found(state, task, unit):
    """Note where a query has found room for a task."""
    state.run[0].found_task, state.run[0].found_unit = task, unit


def forget_found(state):
    """Forget for which task room was found or refused: the policy is called again, or loads are as they were before a
    trial."""
    if not WHOLE:
        state.run[0].found_task = -1
    if GANGS:
        state.run[0].refused_task = state.run[0].request_task = -1


def next_with_room(model, state, processor_type, unit):
    return np.int64(at_or_after(state.free, state.free_1, state.free_2, processor_type, unit))


def is_indexed(model, state, p):
    """Whether the index of nodes answers for a type; not for all types together, -1."""
    return state.node_room.shape[0] > 0 and p < model.affinity.shape[0]


# The first unit of a type


def first_with_room(model, state, task, p, low, high):
    """The first unit of type p in [low, high) on which the task fits; -1 if there is none."""
    unit = state.lowest[p]
    if WHOLE and low == 0:
        return unit if unit < high else np.int64(-1)
    if unit < low:
        unit = np.int64(at_or_after(state.free, state.free_1, state.free_2, p, low))
    if unit < 0 or unit >= high:
        return np.int64(-1)
    unit = not_negative(unit)
    if (SLOTS or GANGS or QUOTAS or CAPS or RESERVED or DISAGGREGATED) and not queries.fits(model, state, task, unit):
        return next_that_fits(model, state, task, p, unit, high)
    note_found(state, task, unit)
    return unit


@called
def first_in_range(model, state, task, p, low, high):
    return first_with_room(model, state, task, p, low, high)


@called
def next_that_fits(model, state, task, p, low, high):
    """The first unit of type p in [low, high) on which the task fits, ``low`` being the first with any room: only where
    it does not fit there, the index of nodes is used."""
    found = np.int64(-1)
    if INDEX and is_indexed(model, state, p):
        found = first_of_nodes(model, state, task, np.int64(p), np.int64(low), np.int64(high))
    else:
        unit = np.int64(at_or_after(state.free, state.free_1, state.free_2, p, low))
        while found < 0 and unit >= 0 and unit < high:
            if fits_called(model, state, task, not_negative(unit)):
                found = unit
            unit = np.int64(at_or_after(state.free, state.free_1, state.free_2, p, unit + 1))
    note_found(state, task, found)
    return found


@called
def first_of_nodes(model, state, task, p, low, high):
    """The first unit of type p at the nodes of the units [low, high) on which the task fits, by the index of nodes."""
    task_class = task_type(model, state, task)
    lead = np.int64(model.class_lead[task_class, p])
    if lead < 0 or low >= high:
        return np.int64(-1)
    end = np.int64(model.unit_node[high - 1]) + 1
    node = node_index.next_node(model, state, task_class, lead, np.int64(model.unit_node[low]), end)
    while node >= 0:
        place = ledger.place_of(model, node, p)
        for i in range(model.node_begin[place], model.node_begin[place + 1]):
            unit = not_negative(np.int64(model.node_unit[not_negative(i)]))
            if state.unit[unit].load < state.unit[unit].open * FULL and fits_called(model, state, task, unit):
                return unit
        node = node_index.next_node(model, state, task_class, lead, node + 1, end)
    return np.int64(-1)


def first_free(model, state, task, processor_type=-1, distance=-1):
    task_class = task_type(model, state, task)
    if processor_type >= 0:
        if model.affinity[processor_type, task_class] > 0.0:
            return first_at_distance(model, state, task, processor_type, distance)
        return np.int64(-1)
    if model.runs_everywhere[task_class]:
        return first_at_distance(model, state, task, model.affinity.shape[0], distance)
    best = np.int64(-1)
    for i in range(model.ranking.shape[1]):
        p = np.int64(model.ranking[task_class, i])
        if p < 0:
            break
        unit = first_at_distance(model, state, task, not_negative(p), distance)
        if unit >= 0 and (best < 0 or unit < best):
            best = unit
    return best


def first_at_distance(model, state, task, p, distance):
    if distance < 0:
        return first_with_room(model, state, task, p, 0, model.unit_type.shape[0])
    return first_at_tier(model, state, task, p, distance)


@called
def first_at_tier(model, state, task, p, distance):
    """The first unit of type p at one tier of distance from the task's data on which it fits."""
    n_units, node = np.int64(model.unit_type.shape[0]), data_node(model, state, task)
    rack = model.node_rack[node]
    near, near_end = np.int64(model.node_first[node]), np.int64(model.node_first[node + 1])
    side, side_end = np.int64(model.rack_first[rack]), np.int64(model.rack_first[rack + 1])
    if distance == 0:
        return first_in_range(model, state, task, p, near, near_end)
    if distance == 1:
        unit = first_in_range(model, state, task, p, side, near)
        return unit if unit >= 0 else first_in_range(model, state, task, p, near_end, side_end)
    unit = first_in_range(model, state, task, p, np.int64(0), side)
    return unit if unit >= 0 else first_in_range(model, state, task, p, side_end, n_units)


# The fastest unit


def fastest_free(model, state, task):
    task_class, best = task_type(model, state, task), np.int64(-1)
    if WHOLE:
        return first_of_fastest(model, state, task_class)
    for i in range(model.ranking.shape[1]):
        p = np.int64(model.ranking[task_class, i])
        if p < 0:
            break
        unit = first_with_room(model, state, task, not_negative(p), 0, model.unit_type.shape[0])
        if unit >= 0 and (best < 0 or unit < best):
            best = unit
        if best >= 0 and not model.is_tied[task_class, i]:
            break
    return best


def first_of_fastest(model, state, task_class):
    """The first idle unit of the fastest type that has any; of types of one speed the first of all."""
    i = np.int64(0)
    while i < model.ranking.shape[1]:
        p = np.int64(model.ranking[task_class, i])
        if p < 0:
            break
        best = state.lowest[not_negative(p)]
        if best < state.unit.shape[0]:
            while model.is_tied[task_class, not_negative(i)]:
                i += 1
                best = min(best, state.lowest[not_negative(np.int64(model.ranking[task_class, not_negative(i)]))])
            return best
        i += 1
    return np.int64(-1)


# The closest unit


def closest_free(model, state, task):
    task_class = task_type(model, state, task)
    if model.runs_everywhere[task_class]:
        return closest_of_type(model, state, task, np.int64(model.affinity.shape[0]))[0]
    best, best_h, best_v = np.int64(-1), np.int64(0), np.int64(0)
    for i in range(model.ranking.shape[1]):
        p = np.int64(model.ranking[task_class, i])
        if p < 0:
            break
        unit, h, v = closest_of_type(model, state, task, p)
        if unit >= 0 and (best < 0 or h < best_h or (h == best_h and (v < best_v or (v == best_v and unit < best)))):
            best, best_h, best_v = unit, h, v
    return best


@called
def closest_of_type(model, state, task, p):
    """The closest unit of type p, with its distances: (unit, rack distance, shelf distance)."""
    far = np.int64(1) << np.int64(40)
    node = data_node(model, state, task)
    rack, shelf = np.int64(model.node_rack[node]), np.int64(model.node_shelf[node])
    n_units = np.int64(model.unit_type.shape[0])
    best, best_v = closest_in_rack(model, state, task, p, rack, shelf, np.int64(-1), far)
    if best >= 0:
        return best, np.int64(0), best_v
    left = last_with_room(model, state, task, p, np.int64(0), np.int64(model.rack_first[rack]))
    right = first_in_range(model, state, task, p, np.int64(model.rack_first[rack + 1]), n_units)
    h_left = rack - model.node_rack[model.unit_node[left]] if left >= 0 else far
    h_right = model.node_rack[model.unit_node[right]] - rack if right >= 0 else far
    h = min(h_left, h_right)
    if left >= 0 and h_left == h:
        best, best_v = closest_in_rack(model, state, task, p, rack - h, shelf, best, best_v)
    if right >= 0 and h_right == h:
        best, best_v = closest_in_rack(model, state, task, p, rack + h, shelf, best, best_v)
    return best, h, best_v


@called
def closest_in_rack(model, state, task, p, rack, shelf, best, best_v):
    """The unit of a rack at the smallest shelf distance below best_v, else best; lower shelves before higher."""
    low, high = np.int64(model.rack_first[rack]), np.int64(model.rack_first[rack + 1])
    split = split_at_shelf(model, rack, shelf)
    below = last_with_room(model, state, task, p, low, split)
    if below >= 0:
        node = model.unit_node[below]
        v, end = np.int64(shelf - model.node_shelf[node]), np.int64(model.node_first[node + 1])
        unit = first_in_range(model, state, task, p, np.int64(model.node_first[node]), end)
        if v < best_v or (v == best_v and unit < best):
            best, best_v = unit, v
    above = first_in_range(model, state, task, p, split, high)
    if above >= 0:
        v = np.int64(model.node_shelf[model.unit_node[above]] - shelf)
        if v < best_v or (v == best_v and above < best):
            best, best_v = above, v
    return best, best_v


def split_at_shelf(model, rack, shelf):
    """The first unit of a rack that is on the shelf or above it."""
    low, high = np.int64(model.rack_node[rack]), np.int64(model.rack_node[rack + 1])
    while low < high:
        middle = (low + high) >> 1
        if model.node_shelf[middle] < shelf:
            low = middle + 1
        else:
            high = middle
    return np.int64(model.node_first[low])


@called
def last_with_room(model, state, task, p, low, high):
    """The last unit of type p in [low, high) on which the task fits; -1 if there is none."""
    if INDEX and is_indexed(model, state, p):
        return last_of_nodes(model, state, task, p, low, high)
    unit = np.int64(at_or_before(state.free, state.free_1, state.free_2, p, high - 1))
    while unit >= low and unit >= 0:
        if fits_called(model, state, task, not_negative(unit)):
            return unit
        unit = np.int64(at_or_before(state.free, state.free_1, state.free_2, p, unit - 1))
    return np.int64(-1)


@called
def last_of_nodes(model, state, task, p, low, high):
    """The same at the nodes of these units, by the index of nodes."""
    task_class = task_type(model, state, task)
    lead = np.int64(model.class_lead[task_class, p])
    if lead < 0 or low >= high:
        return np.int64(-1)
    begin, end = np.int64(model.unit_node[low]), np.int64(model.unit_node[high - 1]) + 1
    node = node_index.last_node(model, state, task_class, lead, begin, end)
    while node >= 0:
        place, found = ledger.place_of(model, node, p), np.int64(-1)
        for i in range(model.node_begin[place], model.node_begin[place + 1]):
            if fits_called(model, state, task, not_negative(np.int64(model.node_unit[i]))):
                found = np.int64(model.node_unit[i])
        if found >= 0:
            return found
        node = node_index.last_node(model, state, task_class, lead, begin, node)
    return np.int64(-1)
