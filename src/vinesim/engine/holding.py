"""What tasks hold of units: the loads, the index of units with room, and what a task holds beside its own unit."""

import numpy as np

from vinesim.state import node_index, queries
from vinesim.state.bits import insert, remove
from vinesim.state.indexed import with_several_units
from vinesim.state.kernel import inlined, kernel, not_negative


@inlined
def set_load(model, state, unit, load):
    """Change a unit's load, and update the index of units with room."""
    unit = not_negative(unit)
    had_room = queries.has_room(model, state, unit)
    state.unit_load[unit] = load
    index_room(model, state, unit, had_room)


@inlined
def index_room(model, state, unit, had_room):
    """Update the index of units with room for a unit that has changed."""
    has_room = queries.has_room(model, state, unit)
    if has_room != had_room:
        everywhere, p = model.affinity.shape[0], not_negative(model.unit_type[unit])
        if has_room:
            insert(state.free, state.free_1, state.free_2, p, unit)
            insert(state.free, state.free_1, state.free_2, everywhere, unit)
        else:
            remove(state.free, state.free_1, state.free_2, p, unit)
            remove(state.free, state.free_1, state.free_2, everywhere, unit)
        change = 1 if has_room else -1
        state.run[0].n_with_room += change
        if state.free_count.shape[1] > 0:
            state.free_count[p, unit >> 12] += change
            state.free_count[everywhere, unit >> 12] += change


def _runs_task(model, state, unit):
    return state.unit_tasks[unit] > 0


@with_several_units(without=_runs_task)
def is_in_use(model, state, unit):
    """Whether a task runs on the unit or holds part of it."""
    return state.unit_tasks[unit] > 0 or state.unit_held[unit] > 0


def _holds_no_more(model, state, task, unit):
    pass


@with_several_units(without=_holds_no_more, inline=False)
def hold_rest(model, state, task, unit):
    """Let a task that starts on a unit hold the rest of its lead and its companions."""
    kind, node, n = queries.task_type(model, state, task), np.int64(model.unit_node[unit]), model.task_held[task]
    missing = np.int64(model.kind_units[kind]) - 1
    place = node * model.affinity.shape[0] + model.unit_type[unit]
    for i in range(model.node_begin[place], model.node_begin[place + 1]):
        other = np.int64(model.node_unit[i])
        if missing > 0 and other != unit:
            amount = queries.demand(model, state, task, other)
            if queries.has_room_for(model, state, other, amount):
                _hold(model, state, n, other, amount)
                missing, n = missing - 1, n + 1
    for c in range(model.companion_type.shape[0]):
        p = model.companion_type[c]
        amount = model.kind_companion[kind, p]
        if amount > 0.0:
            _hold(model, state, n, np.int64(queries.companion_unit(model, state, node, p, amount)), amount)
            n += 1
    node_index.renew(model, state, node)


@kernel
def _hold(model, state, place, unit, amount):
    """Let a task hold an amount of a unit beside the one that it runs on."""
    state.held_unit[place] = unit
    state.unit_held[unit] += 1
    set_load(model, state, unit, state.unit_load[unit] + amount)


@with_several_units(without=_holds_no_more, inline=False)
def release_rest(model, state, task, unit):
    """Free what a task that leaves its unit held beside it."""
    for i in range(model.task_held[task], model.task_held[task + 1]):
        other = np.int64(state.held_unit[i])
        if other >= 0:  # else it was consolidated with another task, which held all
            amount = model.kind_companion[queries.task_type(model, state, task), model.unit_type[other]]
            if model.unit_type[other] == model.unit_type[unit]:
                amount = queries.demand(model, state, task, other)
            state.unit_held[other] -= 1
            load = state.unit_load[other] - amount
            set_load(model, state, other, load if is_in_use(model, state, other) else 0.0)
    node_index.renew(model, state, np.int64(model.unit_node[unit]))


def _has_no_index(model, state, unit):
    pass


@with_several_units(without=_has_no_index, inline=False)
def renew_node(model, state, unit):
    """Bring the index of nodes up to date after a change of a unit."""
    node_index.renew(model, state, np.int64(model.unit_node[unit]))
