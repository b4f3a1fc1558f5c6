"""The query for the unit that is closest to the data of a task, answered from the indexes."""

import numpy as np

from vinesim.state import node_index, queries
from vinesim.state.bits import at_or_before
from vinesim.state.compiled_form import compiled_form_of, with_several_units
from vinesim.state.indexed_room import first_in_range
from vinesim.state.indexed_tasks import data_node
from vinesim.state.kernel import inlined, kernel


def last_in_set(model, state, task, p, low, high):
    """Return the last unit of type p in [low, high) that has room for the task."""
    unit = at_or_before(state.free, state.free_1, state.free_2, p, high - 1)
    while unit >= low:
        if queries.fits(model, state, task, unit):
            return np.int64(unit)
        unit = at_or_before(state.free, state.free_1, state.free_2, p, unit - 1)
    return np.int64(-1)


last_of_set = kernel(last_in_set)


@with_several_units(without=last_in_set, inline=False)
def last_with_room(model, state, task, p, low, high):
    if state.node_room.shape[0] > 0:
        return node_index.last(model, state, task, np.int64(p), np.int64(low), np.int64(high))
    return last_of_set(model, state, task, p, low, high)


@inlined
def split_at_shelf(model, rack, shelf):
    """Return the first unit of a rack that is on the shelf or above it."""
    low, high = np.int64(model.rack_node[rack]), np.int64(model.rack_node[rack + 1])
    while low < high:
        middle = (low + high) >> 1
        if model.node_shelf[middle] < shelf:
            low = middle + 1
        else:
            high = middle
    return np.int64(model.node_first[low])


@kernel
def closest_in_rack(model, state, task, p, rack, shelf, best, best_v):
    """Return the unit of a rack at the smallest shelf distance below best_v, else best; lower shelves before higher."""
    low, high = np.int64(model.rack_first[rack]), np.int64(model.rack_first[rack + 1])
    split = split_at_shelf(model, rack, shelf)
    below = last_with_room(model, state, task, p, low, split)
    if below >= 0:
        node = model.unit_node[below]
        v = np.int64(shelf - model.node_shelf[node])
        unit = first_in_range(model, state, task, p, model.node_first[node], model.node_first[node + 1])
        if v < best_v or (v == best_v and unit < best):
            best, best_v = unit, v
    above = first_in_range(model, state, task, p, split, high)
    if above >= 0:
        v = np.int64(model.node_shelf[model.unit_node[above]] - shelf)
        if v < best_v or (v == best_v and above < best):
            best, best_v = above, v
    return best, best_v


@kernel
def closest_of_type(model, state, task, p):
    """Return the closest unit of type p, with its distances: (unit, rack distance, shelf distance)."""
    far = np.int64(1) << np.int64(40)
    node = data_node(model, task)
    rack, shelf = np.int64(model.node_rack[node]), np.int64(model.node_shelf[node])
    n_units = model.unit_type.shape[0]
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


@compiled_form_of(queries.closest_free, inline=False)
def closest_free(model, state, task):
    kind = queries.task_type(model, state, task)
    if model.runs_everywhere[kind]:
        return closest_of_type(model, state, task, model.affinity.shape[0])[0]
    best, best_h, best_v = np.int64(-1), np.int64(0), np.int64(0)
    for i in range(model.ranking.shape[1]):
        p = np.int64(model.ranking[kind, i])
        if p < 0:
            break
        unit, h, v = closest_of_type(model, state, task, p)
        if unit >= 0 and (best < 0 or h < best_h or (h == best_h and (v < best_v or (v == best_v and unit < best)))):
            best, best_h, best_v = unit, h, v
    return best
