"""Queries for units with room, answered from the indexes: whether a task fits, the first and the fastest unit."""

from typing import Any

import numpy as np
from numba.core import types

from vinesim.state import node_index, queries
from vinesim.state.bits import at_or_after
from vinesim.state.compiled_form import compiled_form_of, with_gangs, with_several_units
from vinesim.state.indexed_tasks import data_node
from vinesim.state.kernel import has_gangs, inlined, kernel, not_negative
from vinesim.state.layout import FULL, OVERFULL, SOLES


@compiled_form_of(queries.demand, without=queries.demand)
def demand(model, state, task, unit):
    return node_index.share_of(model, unit, model.kind_share[queries.task_type(model, state, task)])


@compiled_form_of(queries.companion_unit, inline=False)
def companion_unit(model, state, node, processor_type, amount):
    place = not_negative(node * model.affinity.shape[0] + processor_type)
    for i in range(model.node_begin[place], model.node_begin[place + 1]):
        if queries.has_room_for(model, state, np.int64(model.node_unit[i]), amount):
            return np.int64(model.node_unit[i])
    return np.int64(-1)


for called in (queries.first_free_at, queries.tightest_free_at):
    compiled_form_of(called, inline=False)(called)


def nothing_else(model: Any, state: Any, task: int, unit: int) -> bool:
    return True


@compiled_form_of(queries.rest_fits, without=nothing_else)
def rest_fits(model, state, task, unit):
    node = not_negative(model.unit_node[unit])
    beside = state.node_beside[node]
    is_ample = (
        state.unit_load[not_negative(beside.first)] <= beside.first_ample
        and state.unit_load[not_negative(beside.second)] <= beside.second_ample
    )
    if is_ample and model.kind_with_more.shape[0] == 0:
        return True
    kind = queries.task_type(model, state, task)
    if is_ample and not model.kind_beside[kind].has_more:
        return True
    if model.kind_units[kind] > 1 and not _rest_of_lead_fits(model, state, task, unit):
        return False
    return (is_ample and model.companion_type.shape[0] <= SOLES) or _companions_fit(model, state, kind, node)


@kernel
def _companions_fit(model, state, kind, node):
    """Whether a node has room for the companions of a class."""
    asked, beside, begin = model.kind_beside[kind], state.node_beside[node], np.int64(0)
    if beside.are_sole:
        first, second, begin = not_negative(beside.first), not_negative(beside.second), np.int64(SOLES)
        if asked.n_first > 0 and not queries.has_room_for(model, state, first, asked.first):
            return False
        if asked.n_second > 0 and not queries.has_room_for(model, state, second, asked.second):
            return False
    for c in range(begin, model.companion_type.shape[0]):
        p = np.int64(model.companion_type[c])
        amount = model.kind_companion[kind, p]
        if amount > 0.0 and queries.companion_unit(model, state, np.int64(node), p, amount) < 0:
            return False
    return True


@kernel
def _rest_of_lead_fits(model, state, task, unit):
    """Whether the node of the unit has room for the other units of the task's lead."""
    kind = queries.task_type(model, state, task)
    place = not_negative(np.int64(model.unit_node[unit]) * model.affinity.shape[0] + model.unit_type[unit])
    own = queries.has_room_for(model, state, unit, queries.demand(model, state, task, unit))
    n = node_index.n_with_room(model, state, place, model.kind_share[kind])
    return n - np.int64(own) >= model.kind_units[kind] - 1


@compiled_form_of(queries.next_with_room)
def next_with_room(model, state, processor_type, unit):
    return np.int64(at_or_after(state.free, state.free_1, state.free_2, processor_type, unit))


@compiled_form_of(queries.can_start)
def can_start(model, state, task, unit):
    p, t = not_negative(model.unit_type[unit]), queries.task_type(model, state, task)
    return model.affinity[p, t] > 0.0 and queries.fits(model, state, task, unit)


def fits_alone(model, state, task, unit):
    load, capacity = state.unit_load[unit], state.unit_open[unit]
    return load < capacity * FULL and load + queries.demand(model, state, task, unit) <= capacity * OVERFULL


@compiled_form_of(queries.fits_itself, without=fits_alone)
def fits_itself(model, state, task, unit):
    load, capacity = state.unit_load[unit], state.unit_open[unit]
    return (
        load < capacity * FULL
        and load + queries.demand(model, state, task, unit) <= capacity * OVERFULL
        and queries.is_in_partition(model, state, task, unit)
        and queries.rest_fits(model, state, task, unit)
    )


def fits_without_gang(model, state, task, unit):
    return queries.fits_itself(model, state, task, unit) and queries.quotas_allow(model, state, task, unit)


@compiled_form_of(queries.fits, without=fits_without_gang, where=has_gangs)
def fits(model, state, task, unit):
    return (
        queries.fits_itself(model, state, task, unit)
        and queries.gang_fits(model, state, task, unit)
        and queries.quotas_allow(model, state, task, unit)
    )


def first_in_set(model, state, task, p, low, high):
    """Return the first unit of type p in [low, high) with room for the task; the set holds units with any room."""
    unit = at_or_after(state.free, state.free_1, state.free_2, p, low)
    while unit >= 0 and unit < high:
        if queries.fits(model, state, task, unit):
            return np.int64(unit)
        unit = at_or_after(state.free, state.free_1, state.free_2, p, unit + 1)
    return np.int64(-1)


first_of_set = inlined(first_in_set)


@with_several_units(without=first_in_set)
def first_with_room(model, state, task, p, low, high):
    unit = np.int64(at_or_after(state.free, state.free_1, state.free_2, p, low))
    if unit < 0 or unit >= high:
        return np.int64(-1)
    if queries.fits(model, state, task, unit):
        run = state.run[0]
        run.found_task, run.found_unit = task, unit
        return unit
    return next_that_fits(model, state, task, p, unit, high)


def _notes_none(model, state):
    pass


@with_several_units(without=_notes_none)
def forget_found(model, state):
    """Forget for which task a query has found room: the policy is asked anew, or loads are as before a trial."""
    state.run[0].found_task = -1


@with_several_units(without=queries.fits)
def _fits_unless_found(model, state, task, unit):
    run = state.run[0]
    return (run.found_task == task and run.found_unit == unit) or node_index.fits(model, state, task, unit)


def _fits_as_found(model, state, task, unit):
    return _fits_unless_found(model, state, task, unit)


@with_gangs(without=_fits_as_found)
def still_fits(model, state, task, unit):
    """Whether there is room for all that a task would hold; not looked at again where a query has just found it, unless
    that also leaves a place for a gang, of which there is only the last one."""
    return node_index.fits(model, state, task, unit)


@kernel
def next_that_fits(model, state, task, p, low, high):
    """Do the same when the first unit with any room does not fit: only then is the index of nodes asked."""
    if state.node_room.shape[0] > 0:
        return node_index.first(model, state, task, np.int64(p), np.int64(low), np.int64(high))
    return first_of_set(model, state, task, p, low, high)


@kernel
def first_in_range(model, state, task, p, low, high):
    """Do the same as a call: inlined a dozen times it made closer_to_data compile for 12 s."""
    return first_with_room(model, state, task, p, low, high)


@kernel
def first_at_tier(model, state, task, p, distance):
    """Return the first unit of type p at one tier that has room for the task."""
    n_units = model.unit_type.shape[0]
    node = data_node(model, task)
    rack = model.node_rack[node]
    near, near_end = np.int64(model.node_first[node]), np.int64(model.node_first[node + 1])
    side, side_end = np.int64(model.rack_first[rack]), np.int64(model.rack_first[rack + 1])
    if distance == 0:
        return first_in_range(model, state, task, p, near, near_end)
    if distance == 1:
        unit = first_in_range(model, state, task, p, side, near)
        return unit if unit >= 0 else first_in_range(model, state, task, p, near_end, side_end)
    unit = first_in_range(model, state, task, p, 0, side)
    return unit if unit >= 0 else first_in_range(model, state, task, p, side_end, n_units)


@inlined
def _of_type(model, state, task, p, distance):
    return first_with_room(model, state, task, p, 0, model.unit_type.shape[0])


@inlined
def _of_type_at(model, state, task, p, distance):
    if distance < 0:
        return first_with_room(model, state, task, p, 0, model.unit_type.shape[0])
    return first_at_tier(model, state, task, p, distance)


def _first_free(first_of_type):
    """``first_of_type`` returns the first unit of a type, at one tier or any (-1), that has room for a task."""

    def first_free(model, state, task, processor_type=-1, distance=-1):
        kind = queries.task_type(model, state, task)
        if processor_type >= 0:
            if model.affinity[processor_type, kind] > 0.0:
                return first_of_type(model, state, task, processor_type, distance)
            return np.int64(-1)
        if model.runs_everywhere[kind]:
            return first_of_type(model, state, task, model.affinity.shape[0], distance)
        best = np.int64(-1)
        for i in range(model.ranking.shape[1]):
            p = np.int64(model.ranking[kind, i])
            if p < 0:
                break
            unit = first_of_type(model, state, task, p, distance)
            if unit >= 0 and (best < 0 or unit < best):
                best = unit
        return best

    return first_free


def _names_a_distance(model: Any, state: Any, *others: Any) -> bool:
    """Whether a call of ``first_free`` does: searching by distance takes long to compile, and few policies do it."""
    return sum(not isinstance(kind, types.Omitted) for kind in others) > 2


compiled_form_of(queries.first_free, False, without=_first_free(_of_type), where=_names_a_distance)(
    _first_free(_of_type_at)
)


@compiled_form_of(queries.fastest_free)
def fastest_free(model, state, task):
    kind = queries.task_type(model, state, task)
    best, best_speed = np.int64(-1), 0.0
    n_units = model.unit_type.shape[0]
    for i in range(model.ranking.shape[1]):
        p = np.int64(model.ranking[kind, i])
        if p < 0 or (best >= 0 and model.affinity[p, kind] < best_speed):
            break
        unit = first_with_room(model, state, task, p, 0, n_units)
        if unit >= 0 and (best < 0 or unit < best):
            best, best_speed = unit, model.affinity[p, kind]
    return best
