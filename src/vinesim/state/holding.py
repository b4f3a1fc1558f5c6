"""What tasks hold of units: the loads, the index of units with room, and what a task holds beside its own unit."""

import numpy as np

from vinesim.state import node_index, queries
from vinesim.state.bits import contains, insert, remove
from vinesim.state.compiled_form import with_changes_noted, with_held_written, with_several_units
from vinesim.state.kernel import inlined, kernel, not_negative
from vinesim.state.layout import FULL, SOLES


@inlined
def set_load(model, state, unit, load):
    """Change a unit's load, and update the index of units with room."""
    unit = not_negative(unit)
    before, full = state.unit_load[unit], state.unit_open[unit] * FULL
    state.unit_load[unit] = load
    if (before < full) != (load < full):
        _change_room(model, state, unit, load < full)
    note_change(model, state, unit)


def _not_noted(model, state, unit):
    pass


@with_changes_noted(without=_not_noted)
def note_change(model, state, unit):
    """Note that the node of a unit has changed, for what is kept of nodes; once, if it changes several times before
    that is looked at."""
    run, node = state.run[0], not_negative(model.unit_node[unit])
    if state.node_change[node] < run.n_changes or run.n_changes == run.n_changes_seen:
        run.n_changes += 1
        state.node_change[node] = run.n_changes
        state.changed_node[run.n_changes & (state.changed_node.shape[0] - 1)] = node


def _not_counted(model, state, task, unit, change):
    pass


@with_changes_noted(without=_not_counted)
def _count_kind(model, state, task, unit, change):
    if state.node_kinds.shape[0] > 0:
        state.node_kinds[model.unit_node[unit], queries.task_type(model, state, task)] += change


@inlined
def count_task(model, state, task, unit, change):
    """Count a task that begins, +1, or ends, -1, to run on a unit."""
    state.unit_tasks[unit] += change
    _count_kind(model, state, task, unit, change)


@inlined
def index_room(model, state, unit, had_room):
    """Update the index of units with room for a unit that has changed."""
    has_room = queries.has_room(model, state, unit)
    if has_room != had_room:
        _change_room(model, state, unit, has_room)


@inlined
def _change_room(model, state, unit, has_room):
    """Enter a unit into the index of units with room, or take it out."""
    unit = not_negative(unit)
    everywhere, p = not_negative(model.affinity.shape[0]), not_negative(model.unit_type[unit])
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


def _holds_no_more(model, state, task, kind, unit):
    pass


@with_several_units(without=_holds_no_more)
def hold_rest(model, state, task, kind, unit):
    """Let a task of a type that starts on a unit hold the rest of its lead and its companions."""
    node = not_negative(model.unit_node[unit])
    asked, beside, keep_room = model.kind_beside[kind], state.node_beside[node], False
    if beside.are_sole:
        first, second = not_negative(beside.first), not_negative(beside.second)
        _note_soles(model, state, task, first, second)
        keep_room = _take(state, first, asked.first, asked.n_first) < beside.first_full
        keep_room &= _take(state, second, asked.second, asked.n_second) < beside.second_full
    if not keep_room:
        _hold_others(model, state, task, unit)
    elif asked.has_more:
        _hold_more(model, state, task, unit, SOLES)
    note_change(model, state, unit)
    node_index.note_change(state, node)


def _held_no_more(model, state, task, unit):
    pass


@with_several_units(without=_held_no_more)
def release_rest(model, state, task, unit):
    """Free what a task that leaves its unit held beside it."""
    kind, node = queries.task_type(model, state, task), not_negative(model.unit_node[unit])
    asked, beside, keep_room = model.kind_beside[kind], state.node_beside[node], False
    if beside.are_sole:
        first, second = not_negative(beside.first), not_negative(beside.second)
        keep_room = _give_back(state, first, asked.first, asked.n_first) < beside.first_full
        keep_room &= _give_back(state, second, asked.second, asked.n_second) < beside.second_full
    if not keep_room:
        _release_others(model, state, task, unit)
    elif asked.has_more:
        _release_more(model, state, task, unit, SOLES)
    note_change(model, state, unit)
    node_index.note_change(state, node)


@inlined
def _take(state, unit, amount, n):
    """Let n tasks, one or none, hold an amount of a unit; of a unit that no task is to hold, the amount is 0. Returns
    the load after it."""
    load = state.unit_load[unit] + amount
    state.unit_load[unit] = load
    state.unit_held[unit] += n
    return load


@inlined
def _give_back(state, unit, amount, n):
    """Free the same. Returns the load before it."""
    load, n_holders = state.unit_load[unit], state.unit_held[unit] - n
    state.unit_held[unit] = n_holders
    state.unit_load[unit] = load - amount if n_holders + state.unit_tasks[unit] > 0 else 0.0
    return load


@kernel
def _index_soles(model, state, node):
    """Bring the index of units with room up to date for the first two companions at a node. Returns how many companions
    are held or freed there by now: none, if the node has not just one unit of each of these two."""
    beside, everywhere = state.node_beside[node], not_negative(model.affinity.shape[0])
    if not beside.are_sole:
        return np.int64(0)
    for unit in (not_negative(beside.first), not_negative(beside.second)):
        index_room(model, state, unit, contains(state.free, everywhere, unit))
    return np.int64(SOLES)


def _follow(model, state, task, first, second):
    pass


@with_held_written(without=_follow, inline=False)
def _note_soles(model, state, task, first, second):
    """Note on which units the first two companions of a task are, though they follow from its node."""
    asked, place = model.kind_beside[queries.task_type(model, state, task)], _first_companion(model, state, task)
    if asked.n_first > 0:
        _note(state, place, first)
    if asked.n_second > 0:
        _note(state, place + asked.n_first, second)


@inlined
def _note(state, place, unit):
    """Note in the place of a task's that it is going to hold part of the unit."""
    place = not_negative(place)
    state.held_unit[place] = unit
    if state.held_before.shape[0] > 0:
        state.held_before[place] = state.unit_load[unit]


@inlined
def _first_companion(model, state, task):
    """Return the place of a task's first companion."""
    return model.task_held[task] + model.kind_units[queries.task_type(model, state, task)] - 1


@kernel
def _hold_others(model, state, task, unit):
    """Let a task hold the rest of its lead and its companions. The first two of these are not held yet, or are held but
    the index of units with room does not know it."""
    _hold_more(model, state, task, unit, _index_soles(model, state, not_negative(model.unit_node[unit])))


@kernel
def _release_others(model, state, task, unit):
    """Free the same; in the same way."""
    _release_more(model, state, task, unit, _index_soles(model, state, not_negative(model.unit_node[unit])))


@kernel
def _hold_more(model, state, task, unit, begin):
    """Let a task hold the rest of its lead, and its companions from number ``begin`` on."""
    kind, node = queries.task_type(model, state, task), not_negative(model.unit_node[unit])
    if model.kind_units[kind] > 1:
        _hold_lead(model, state, task, unit)
    place = _first_companion(model, state, task)
    for c in range(model.companion_type.shape[0]):
        p = np.int64(model.companion_type[c])
        amount = model.kind_companion[kind, p]
        if amount > 0.0:
            if c >= begin:
                other = not_negative(queries.companion_unit(model, state, node, p, amount))
                _note(state, place, other)
                _hold(model, state, other, amount)
            place += 1


@kernel
def _release_more(model, state, task, unit, begin):
    """Free the same."""
    kind = queries.task_type(model, state, task)
    if model.kind_units[kind] > 1:
        _release_lead(model, state, task)
    place = _first_companion(model, state, task)
    for c in range(model.companion_type.shape[0]):
        amount = model.kind_companion[kind, model.companion_type[c]]
        if amount > 0.0:
            if c >= begin:
                _release(model, state, not_negative(np.int64(state.held_unit[not_negative(place)])), amount)
            place += 1


@inlined
def _hold_lead(model, state, task, unit):
    """Let a task hold the rest of its lead."""
    kind, own = queries.task_type(model, state, task), np.int64(unit)
    missing, share, units = np.int64(model.kind_units[kind]) - 1, model.kind_share[kind], model.node_unit
    place = not_negative(np.int64(model.unit_node[own]) * model.affinity.shape[0] + model.unit_type[own])
    n, i = np.int64(model.task_held[task]), np.int64(model.node_begin[place])
    end = np.int64(model.node_begin[place + 1])
    while missing > 0 and i < end:
        other = not_negative(units[not_negative(i)])
        if other != own:
            amount = node_index.share_of(model, other, share)
            if queries.has_room_for(model, state, other, amount):
                _note(state, n, other)
                _hold(model, state, other, amount)
                missing, n = missing - 1, n + 1
        i += 1


@inlined
def _release_lead(model, state, task):
    """Free the rest of a task's lead."""
    kind, begin, held = queries.task_type(model, state, task), np.int64(model.task_held[task]), state.held_unit
    share = model.kind_share[kind]
    for i in range(begin, begin + model.kind_units[kind] - 1):
        other = not_negative(held[not_negative(i)])
        _release(model, state, other, node_index.share_of(model, other, share))


@inlined
def _hold(model, state, unit, amount):
    """Let a task hold an amount of a unit beside the one that it runs on; the unit has room for it."""
    state.unit_held[unit] += 1
    set_load(model, state, unit, state.unit_load[unit] + amount)


@inlined
def _release(model, state, unit, amount):
    """Free an amount of a unit that a task has held beside its own."""
    state.unit_held[unit] -= 1
    set_load(model, state, unit, state.unit_load[unit] - amount if is_in_use(model, state, unit) else 0.0)


def _has_no_index(model, state, unit):
    pass


@with_several_units(without=_has_no_index, inline=False)
def renew_node(model, state, unit):
    """Bring the index of nodes up to date after a change of a unit."""
    node_index.note_change(state, not_negative(model.unit_node[unit]))
