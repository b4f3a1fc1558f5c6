"""The ledger: how much of each unit is taken. All that holds or frees anything goes through here.

``take`` and ``release`` change a load, and notify what is kept of loads: the sets of units with room, the index of
nodes, the scores of nodes (``enter``, ``leave``, ``note_node``). Between ``mark`` and ``rollback`` they are called for
what is only supposed: gangs that look for a place, running tasks that a policy thinks away, reservations. ``rollback``
puts back the very loads of before; marks may be nested.
"""

import numpy as np

from vinesim.core import power
from vinesim.core.bits import ZERO, at_or_after, insert, lowest, remove
from vinesim.core.called import called
from vinesim.core.features import CAPS, COUNTS_FREE, EVERYWHERE, INDEX, NOTES_NODES, TRIALS, WHOLE
from vinesim.jit.intrinsics import not_negative
from vinesim.state.layout import FULL


def take(model, state, unit, amount, level):
    """Take an amount of a unit, whose power it raises by a level (core/power.py)."""
    one = state.unit[unit]
    note_before(state, unit)
    if WHOLE:
        one.load = one.open
        leave(model, state, unit)
        note_node(model, state, np.int64(one.node))
        return
    if CAPS:
        power.change(model, state, unit, one.holders + 1, state.unit_level[unit] + level)
    one.holders += 1
    set_load(model, state, unit, one.load + amount)


def release(model, state, unit, amount, level):
    """What rounding leaves of a unit that nobody holds is nothing."""
    one = state.unit[unit]
    note_before(state, unit)
    if WHOLE:
        one.load = 0.0
        enter(model, state, unit)
        note_node(model, state, np.int64(one.node))
        return
    holders = one.holders - 1
    if CAPS:
        power.change(model, state, unit, holders, state.unit_level[unit] - level)
    one.holders = holders
    set_load(model, state, unit, one.load - amount if holders > 0 else 0.0)


def set_load(model, state, unit, load):
    one = state.unit[unit]
    full = one.open * FULL
    had_room, has_room = one.load < full, load < full
    one.load = load
    change_room(model, state, unit, had_room, has_room)


def set_open(model, state, unit, capacity):
    """Let a unit offer another capacity: DOWN while its node is down."""
    one = state.unit[unit]
    had_room, has_room = one.load < one.open * FULL, one.load < capacity * FULL
    one.open = capacity
    change_room(model, state, unit, had_room, has_room)


def change_room(model, state, unit, had_room, has_room):
    """Notify all that is kept of loads."""
    if had_room and not has_room:
        leave_called(model, state, unit)
    elif has_room and not had_room:
        enter_called(model, state, unit)
    note_node(model, state, np.int64(state.unit[unit].node))


# What is supposed


def note_before(state, unit):
    if TRIALS:
        run = state.run[0]
        if run.n_marks > 0:
            row, one = state.undo[run.n_undo], state.unit[unit]
            row.unit, row.load, row.holders = unit, one.load, one.holders
            if CAPS:
                state.undo_level[run.n_undo] = state.unit_level[unit]
            run.n_undo += 1


def mark(state):
    run = state.run[0]
    run.n_marks += 1
    return np.int64(run.n_undo)


def keep(state):
    """Drop the last mark: what was changed since then stays, as far as earlier marks go."""
    state.run[0].n_marks -= 1


def here(state):
    """Where the log ends, for ``undo``."""
    return np.int64(state.run[0].n_undo)


def rollback(model, state, marked):
    """Undo all since the last mark, and drop it."""
    undo(model, state, marked)
    state.run[0].n_marks -= 1


def undo(model, state, marked):
    """Undo all since the log had that length, the last first; the mark stays."""
    run = state.run[0]
    while run.n_undo > marked:
        run.n_undo -= 1
        row = state.undo[run.n_undo]
        unit = not_negative(np.int64(row.unit))
        if CAPS:
            power.change(model, state, unit, row.holders, state.undo_level[run.n_undo])
        state.unit[unit].holders = row.holders
        set_load(model, state, unit, row.load)


# The units with room


def enter(model, state, unit):
    """Enter a unit into the sets of units with room."""
    p = not_negative(np.int64(state.unit[unit].type))
    enter_row(state, p, unit)
    if EVERYWHERE:
        enter_row(state, not_negative(model.affinity.shape[0]), unit)
    state.run[0].n_with_room += 1
    count_free(model, state, p, unit, 1)


def leave(model, state, unit):
    """Take it out."""
    p = not_negative(np.int64(state.unit[unit].type))
    leave_row(state, p, unit)
    if EVERYWHERE:
        leave_row(state, not_negative(model.affinity.shape[0]), unit)
    state.run[0].n_with_room -= 1
    count_free(model, state, p, unit, -1)


@called
def enter_called(model, state, unit):
    """Inlined wherever a load changes, both were a fifth of the code of a loop for gangs."""
    enter(model, state, unit)


@called
def leave_called(model, state, unit):
    leave(model, state, unit)


def enter_row(state, row, unit):
    insert(state.free, state.free_1, state.free_2, row, unit)
    if unit < state.lowest[row]:
        state.lowest[row] = unit


def leave_row(state, row, unit):
    """The first unit with room is kept: most searches are for it."""
    remove(state.free, state.free_1, state.free_2, row, unit)
    if unit == state.lowest[row]:
        rest = state.free[row, unit >> 6]
        state.lowest[row] = ((unit >> 6) << 6) + lowest(rest) if rest != ZERO else after(state, row, unit)


@called
def after(state, row, unit):
    found = at_or_after(state.free, state.free_1, state.free_2, row, unit)
    return np.int64(found) if found >= 0 else np.int64(state.unit.shape[0])


def count_free(model, state, p, unit, change):
    if COUNTS_FREE:
        state.free_count[p, unit >> 12] += change
        state.free_count[model.affinity.shape[0], unit >> 12] += change


# The nodes


def note_node(model, state, node):
    """Note that units of a node have changed; once, if they change several times before that is looked at."""
    run = state.run[0]
    if INDEX and run.n_stale >= 0 and state.node_is_stale[node] == 0:
        state.node_is_stale[node] = 1
        state.stale_node[not_negative(run.n_stale)] = node
        run.n_stale += 1
    if NOTES_NODES and (state.node_change[node] < run.n_changes or run.n_changes == run.n_changes_seen):
        run.n_changes += 1
        state.node_change[node] = run.n_changes
        state.changed_node[run.n_changes & (state.changed_node.shape[0] - 1)] = node
