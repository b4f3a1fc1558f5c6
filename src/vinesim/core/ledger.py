"""The ledger: how much of each unit is taken. All that holds or frees anything goes through here.

``take`` and ``release`` change a load, and notify what is kept of loads: the sets of units with room, the index of
nodes, the scores of nodes (``enter``, ``leave``, ``note_node``). Between ``mark`` and ``rollback`` they are called for
what is only supposed: gangs that look for a place, running tasks that a policy thinks away, reservations. ``rollback``
puts back the very loads of before; marks may be nested.

Two more things follow from what is held. Power caps of racks and of the datacenter are pools whose members follow from
a unit's place: what their units draw is kept here, also for what is only supposed; the last pool is that of the
datacenter, and what a unit draws is in state/power.py. Places ahead are how many tasks each unit of a type is open for,
where units take tasks while they compute others: a unit takes no task ahead while another one of its type has fewer, so
all are open for one task each, once each of them that is up has one for a second, and so on. What ``unit_open`` says of
them rises and falls together.
"""

import numpy as np

from vinesim.core.bits import ZERO, first, insert, lowest, remove
from vinesim.core.features import AHEAD, CAPS, COUNTS_FREE, EVERYWHERE, INDEX, NOTES_NODES, TRIALS, WHOLE, called
from vinesim.core.tasks import task_type
from vinesim.jit.intrinsics import not_negative
from vinesim.state.layout import DOWN, FULL
from vinesim.state.power import draw_of, level_of


def take(model, state, unit, amount, level):
    """Take an amount of a unit, whose power it raises by a level."""
    one = state.unit[unit]
    note_before(state, unit)
    if WHOLE:
        one.load = one.open
        leave(model, state, unit)
        note_node(model, state, np.int64(one.node))
        return
    if CAPS:
        change_power(model, state, unit, one.holders + 1, state.unit_level[unit] + level)
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
        change_power(model, state, unit, holders, state.unit_level[unit] - level)
    one.holders = holders
    set_load(model, state, unit, one.load - amount if holders > 0 else 0.0)


def set_load(model, state, unit, load):
    one = state.unit[unit]
    full = one.open * FULL
    had_room, has_room = one.load < full, load < full
    one.load = load
    change_room(model, state, unit, had_room, has_room)


def set_open(model, state, unit, capacity):
    """Set the capacity that a unit offers; DOWN while its node is down."""
    one = state.unit[unit]
    had_room, has_room = one.load < one.open * FULL, one.load < capacity * FULL
    one.open = capacity
    change_room(model, state, unit, had_room, has_room)


def change_room(model, state, unit, had_room, has_room):
    """Notify everything that is kept about loads."""
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
            change_power(model, state, unit, row.holders, state.undo_level[run.n_undo])
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
    """Remove a unit from the sets of units with room."""
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
    rest = remove(state.free, state.free_1, state.free_2, row, unit)
    if unit == state.lowest[row]:
        word = (unit >> 6) << 6
        found = word + lowest(rest) if rest != ZERO else first(state.free, state.free_1, state.free_2, row)
        state.lowest[row] = found if found >= 0 else state.unit.shape[0]


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


def has_caps(model):
    return CAPS and model.cap_mw.shape[0] > 0


def level_for(model, state, task, unit, amount):
    """What a task adds to the level of a unit of which it holds an amount."""
    if CAPS and has_caps(model):
        return level_of(model, task_type(model, state, task), unit, amount)
    return np.int64(0)


def change_power(model, state, unit, holders, level):
    """Let a unit be held by a number of tasks that add up to a level; the number of its holders is changed after
    this."""
    if has_caps(model):
        change_draw(model, state, unit, holders, level)


@called
def change_draw(model, state, unit, holders, level):
    one = state.unit[unit]
    more = draw_of(model, unit, holders > 0, level) - draw_of(model, unit, one.holders > 0, state.unit_level[unit])
    state.unit_level[unit] = level
    state.pool_mw[model.node_rack[one.node]] += more
    state.pool_mw[model.cap_mw.shape[0] - 1] += more


@called
def note_peak(model, state, node):
    """Note what the rack of a node draws as a task has started there, and the datacenter."""
    for pool in (np.int64(model.node_rack[node]), model.cap_mw.shape[0] - 1):
        state.peak_mw[pool] = max(state.peak_mw[pool], state.pool_mw[pool])


@called
def added_mw(model, state, task, unit, amount):
    """What a unit would draw more if a task took an amount of it."""
    before, more = np.int64(state.unit_level[unit]), level_of(model, task_type(model, state, task), unit, amount)
    return draw_of(model, unit, True, before + more) - draw_of(model, unit, state.unit[unit].holders > 0, before)


@called
def are_caps_kept(model, state, node, more):
    """Whether the caps are kept if the units of a node draw ``more``."""
    rack, last = np.int64(model.node_rack[node]), model.cap_mw.shape[0] - 1
    return state.pool_mw[rack] + more <= model.cap_mw[rack] and state.pool_mw[last] + more <= model.cap_mw[last]


def takes_ahead(model, p):
    return model.type_ahead.shape[0] > 0 and model.type_ahead[p] > 0


def note_taken(model, state, unit):
    """Note that a unit has one task more."""
    p = not_negative(np.int64(state.unit[unit].type))
    if takes_ahead(model, p) and state.lowest[p] == state.unit.shape[0] and state.type_level[p] < model.type_ahead[p]:
        renew_places(model, state, p)


def note_left(model, state, unit):
    """Note that a unit has one task less."""
    p = not_negative(np.int64(state.unit[unit].type))
    if takes_ahead(model, p) and state.unit[unit].holders < state.type_level[p]:
        renew_places(model, state, p)


def set_up(model, state, unit, is_up):
    """Mark a unit as up or down, with its node."""
    set_open(model, state, unit, model.unit_capacity[unit] if is_up else DOWN)
    if AHEAD:
        p = not_negative(np.int64(state.unit[unit].type))
        if takes_ahead(model, p):
            renew_places(model, state, p)


@called
def renew_places(model, state, p):
    """Open the units of a type for as many tasks as the one with the fewest has, and one more."""
    fewest = np.int64(model.type_ahead[p])
    for unit in range(state.unit.shape[0]):
        one = state.unit[unit]
        if one.type == p and one.open > DOWN:
            fewest = min(fewest, np.int64(one.holders))
    state.type_level[p] = fewest
    for unit in range(state.unit.shape[0]):
        if state.unit[unit].type == p and state.unit[unit].open > DOWN:
            set_open(model, state, not_negative(unit), model.unit_capacity[unit] * (1.0 + fewest))
