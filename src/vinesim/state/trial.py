"""What would have room if some running tasks left: compiled. The meaning, for the reader, is in
engine/reference_trial.py.

Loads are changed, the question is asked, and all loads are put back as they were.
"""

import numpy as np

from vinesim.model.workload import NO_GANG
from vinesim.state import places, queries
from vinesim.state.bits import contains
from vinesim.state.compiled_form import compiled_form_of, with_gangs, with_several_units
from vinesim.state.gang_members import at_step, forget_places, next_step, unit_of_member
from vinesim.state.gangs import settle
from vinesim.state.holding import hold_rest, renew_node, set_load
from vinesim.state.indexed_room import forget_found
from vinesim.state.kernel import kernel
from vinesim.state.layout import FULL, OVERFULL

ANY = -1  # node


@kernel
def _note(state, unit, load):
    """Note the load that a unit had before the trial, unless it is noted."""
    run = state.run[0]
    if np.isnan(state.load_before[unit]):
        state.load_before[unit] = load
        state.tried_unit[run.n_tried] = unit
        run.n_tried += 1


@kernel
def _add(model, state, unit, amount):
    """Change the load of a unit for the time of the trial; what rounding leaves of an empty unit is nothing."""
    unit = np.int64(unit)
    _note(state, unit, state.unit_load[unit])
    load = state.unit_load[unit] + amount
    set_load(model, state, unit, load if load > model.unit_capacity[unit] * (1.0 - FULL) else 0.0)
    renew_node(model, state, unit)


@kernel
def _undo(model, state):
    """Put all loads back."""
    run = state.run[0]
    for i in range(run.n_tried):
        unit = np.int64(state.tried_unit[i])
        set_load(model, state, unit, state.load_before[unit])
        renew_node(model, state, unit)
        state.load_before[unit] = np.nan
    run.n_tried = 0
    forget_found(model, state)
    forget_places(model, state)


def _holds_one(model, state, task, sign):
    pass


@with_several_units(without=_holds_one, inline=False)
def _add_rest(model, state, task, sign):
    """Change the loads of the units that a running task holds beside its own."""
    for i in range(model.task_held[task], model.task_held[task + 1]):
        unit = np.int64(state.held_unit[i])
        _add(model, state, unit, sign * _amount_beside(model, state, task, unit))


@kernel
def _amount_beside(model, state, task, unit):
    """Return what a running task holds of a unit beside its own: a demand, if it is of the lead, or a companion."""
    p = model.unit_type[unit]
    if p == model.unit_type[state.task_unit[task]]:
        return queries.demand(model, state, task, unit)
    return model.kind_companion[queries.task_type(model, state, task), p]


@kernel
def _add_all(model, state, task, sign):
    """Let a running task hold nothing, -1, or what it holds again, 1."""
    unit = np.int64(state.task_unit[task])
    _add(model, state, unit, sign * queries.demand(model, state, task, unit))
    _add_rest(model, state, task, sign)


def _has_all(model, state, task):
    return True


@with_several_units(without=_has_all, inline=False)
def _rest_has_room(model, state, task):
    for i in range(model.task_held[task], model.task_held[task + 1]):
        unit = np.int64(state.held_unit[i])
        load = state.unit_load[unit] + _amount_beside(model, state, task, unit)
        if load > model.unit_capacity[unit] * OVERFULL:
            return False
    return True


@kernel
def _has_room(model, state, task):
    """Whether a running task that was released has room where it was."""
    unit = np.int64(state.task_unit[task])
    load = state.unit_load[unit] + queries.demand(model, state, task, unit)
    return load <= model.unit_capacity[unit] * OVERFULL and _rest_has_room(model, state, task)


@kernel
def _runs(model, state, task):
    return task >= 0 and task < state.run[0].n_arrived and contains(state.running, 0, task)


@kernel
def _release(model, state, others, n, node):
    """Let the first n of ``others`` that run, and those of their gangs, hold nothing: at a node, or at ANY."""
    for i in range(min(n, others.shape[0])):
        if _runs(model, state, np.int64(others[i])):
            first, end = places.gang_of(model, np.int64(others[i]))
            for task in range(first, end):
                if contains(state.running, 0, task) and _is_at(model, state, task, node):
                    _add_all(model, state, task, -1.0)
    forget_places(model, state)


@kernel
def _is_at(model, state, task, node):
    return node == ANY or model.unit_node[state.task_unit[task]] == node


@kernel
def _put_back(model, state, other):
    """Let a task and its gang hold again what they held, if there is room for all. Returns whether there is."""
    first, end = places.gang_of(model, other)
    for task in range(first, end):
        if contains(state.running, 0, task):
            if not _has_room(model, state, task):
                for before in range(first, task):
                    if contains(state.running, 0, before):
                        _add_all(model, state, before, -1.0)
                return False
            _add_all(model, state, task, 1.0)
    return True


@kernel
def _occupy_one(model, state, task, unit):
    """Let a pending task hold what it would hold on the unit."""
    _add(model, state, unit, queries.demand(model, state, task, unit))
    _occupy_rest(model, state, task, unit)


def _occupies_one(model, state, task, unit):
    pass


@with_several_units(without=_occupies_one, inline=False)
def _occupy_rest(model, state, task, unit):
    hold_rest(model, state, task, queries.task_type(model, state, task), unit)
    for i in range(model.task_held[task], model.task_held[task + 1]):
        other = np.int64(state.held_unit[i])
        _note(state, other, state.held_before[i])
        state.unit_held[other] -= 1
        state.held_unit[i] = -1


def _occupy_alone(model, state, task, unit):
    _occupy_one(model, state, task, unit)


@with_gangs(without=_occupy_alone, inline=False)
def _occupy(model, state, task, unit):
    """Let a pending task, with those that are attached to it, hold what they would hold; its place was looked for."""
    if model.job_gang[model.task_job[task]] == NO_GANG:
        _occupy_one(model, state, task, unit)
        return
    settle(model, state, task, unit)
    _occupy_one(model, state, task, unit_of_member(model, state, task))
    step = next_step(model, state, task, -1)
    while step >= 0:
        member = at_step(model, task, step)
        _occupy_one(model, state, member, unit_of_member(model, state, member))
        step = next_step(model, state, task, step)


@compiled_form_of(queries.fastest_free_without, inline=False)
def fastest_free_without(model, state, task, others, n):
    _release(model, state, others, n, ANY)
    unit = queries.fastest_free(model, state, task)
    _undo(model, state)
    return unit


@compiled_form_of(queries.in_the_way, inline=False)
def in_the_way(model, state, task, unit, others, n, found):
    _release(model, state, others, n, ANY)
    n_found = np.int64(0)
    if queries.fits(model, state, task, unit):
        _occupy(model, state, np.int64(task), np.int64(unit))
        for i in range(min(n, others.shape[0]) - 1, -1, -1):
            other = np.int64(others[i])
            if _runs(model, state, other) and not _put_back(model, state, other):
                found[n_found] = other
                n_found += 1
    _undo(model, state)
    return n_found


@compiled_form_of(places.has_place_without, inline=False)
def has_place_without(model, state, task, node, others, n):
    _release(model, state, others, n, node)
    is_found = False
    for member in range(task, places.end_of_members(model, state, task)):
        if places.is_member(model, state, task, member):
            for unit in range(model.node_first[node], model.node_first[node + 1]):
                is_found = is_found or queries.fits_itself(model, state, np.int64(member), np.int64(unit))
    _undo(model, state)
    return is_found
