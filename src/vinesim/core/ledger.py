"""The ledger: what tasks hold of units. All that holds or frees anything goes through here.

What a task holds together is its claim. The first row of a claim is the unit that the task runs on. Then come the other
units of its lead, the first ones of the type at the node that have room, and for each companion the first unit of its
type at the node with room. Their units are in ``held_unit``. ``take`` and ``release`` change the loads of all of them,
and notify what is kept of loads: the sets of units with room, the index of nodes, the scores of nodes.

Between ``mark`` and ``rollback`` they are called for what is only supposed: gangs that look for a place, running tasks
that a policy thinks away, reservations. ``rollback`` puts back the very loads of before; marks may be nested.

Two more things follow from what is held. Power caps of racks and of the datacenter are pools whose members follow from
a unit's place: what their units draw is kept here, also for what is only supposed; the last pool is that of the
datacenter, and what a unit draws is in state/power.py. Places ahead are how many tasks each unit of a type is open for,
where units take tasks while they compute others: a unit takes no task ahead while another one of its type has fewer, so
all are open for one task each, once each of them that is up has one for a second, and so on. What ``unit_open`` says of
them rises and falls together. What is not at a node, such as quotas, is in core/pools.py; the rule of reservations is
in state/expected.py.
"""

import numpy as np

from vinesim.core.bits import ZERO, first, insert, lowest, remove
from vinesim.core.features import (
    AHEAD,
    CAPS,
    COUNTS_FREE,
    EVERYWHERE,
    INDEX,
    NOTES_NODES,
    RESERVED,
    SEVERAL,
    SLOTS,
    TRIALS,
    WHOLE,
    called,
)
from vinesim.core.tasks import task_type
from vinesim.jit.intrinsics import not_negative
from vinesim.state import queries
from vinesim.state.demand import amount_of
from vinesim.state.expected import is_admitted
from vinesim.state.layout import DOWN, FULL, OVERFULL
from vinesim.state.power import draw_of, level_of

# A claim


def take(model, state, task, unit):
    """Give a task its claim; there is room for it."""
    take_of(model, state, task, unit, demand(model, state, task, unit))
    if SEVERAL and has_classes(model):
        take_rest(model, state, task, unit)


def take_rest(model, state, task, unit):
    task_class, row = task_type(model, state, task), not_negative(model.task_held[task])
    node = np.int64(state.unit[unit].node)
    if model.class_units[task_class] > 1:
        row = take_lead(model, state, task, unit)
    for c in range(model.companion_type.shape[0]):
        amount = model.class_companion[task_class, not_negative(model.companion_type[c])]
        if amount > 0.0:
            other = not_negative(companion_at(model, state, node, np.int64(c), amount))
            take_of(model, state, task, other, amount)
            state.held_unit[row] = other
            row += 1


@called
def take_lead(model, state, task, unit):
    """Take the other units of the lead. Returns the row after theirs."""
    task_class, row = task_type(model, state, task), not_negative(model.task_held[task])
    missing, share = n_rest(model, task_class), model.class_share[task_class]
    place = place_of(model, np.int64(model.unit_node[unit]), model.unit_type[unit])
    i = np.int64(model.node_begin[place])
    while missing > 0 and i < model.node_begin[place + 1]:
        other = not_negative(np.int64(model.node_unit[i]))
        amount = share_of(model, other, share)
        if other != unit and has_room_for(model, state, other, amount):
            take_of(model, state, task, other, amount)
            state.held_unit[row] = other
            missing, row = missing - 1, row + 1
        i += 1
    return row


def release(model, state, task, unit):
    """Free what a task holds."""
    change_rows(model, state, task, unit, release_of)


@called
def take_again(model, state, task, unit):
    """Give a task again what it held, on the same units."""
    change_rows(model, state, task, unit, take_of)


def change_rows(model, state, task, unit, change):
    """Call ``change(model, state, task, unit, amount)`` for each row of a claim whose units are known."""
    change(model, state, task, unit, demand(model, state, task, unit))
    if SEVERAL and has_classes(model):
        for row in range(model.task_held[task], model.task_held[task + 1]):
            other = not_negative(np.int64(state.held_unit[row]))
            change(model, state, task, other, amount_of_row(model, state, task, row))


def forget(model, state, task):
    """Forget the units that the rest of a task was only supposed to hold."""
    if SEVERAL and has_classes(model):
        for row in range(model.task_held[task], model.task_held[task + 1]):
            state.held_unit[row] = -1


def amount_of_row(model, state, task, row):
    """What a task holds of the unit of a row, after its own."""
    task_class = task_type(model, state, task)
    unit = not_negative(np.int64(state.held_unit[row]))
    if row - model.task_held[task] < n_rest(model, task_class):
        return share_of(model, unit, model.class_share[task_class])
    return model.class_companion[task_class, not_negative(model.unit_type[unit])]


def has_classes(model):
    """Whether tasks hold several units: their demands are in classes."""
    return model.class_units.shape[0] > 0


def demand(model, state, task, unit):
    """What a task takes of a unit that it runs on."""
    if SEVERAL and has_classes(model):
        return share_of(model, unit, model.class_share[task_type(model, state, task)])
    if not SLOTS or model.task_demand.shape[0] == 0:
        return model.unit_capacity[unit]
    return amount_of(model.task_demand[task], model.unit_capacity[unit])


def share_of(model, unit, share):
    """How much of a unit a share is; the capacity is read only where it counts."""
    return share if share < np.inf else amount_of(share, model.unit_capacity[unit])


def has_room_for(model, state, unit, amount):
    one = state.unit[unit]
    return one.load < one.open * FULL and one.load + amount <= one.open * OVERFULL


# Where the rows fall

called(queries.companion_unit)


def n_rest(model, task_class):
    """How many units of its lead a class holds besides the one that it runs on."""
    return np.int64(model.class_units[task_class]) - 1


def place_of(model, node, p):
    """The number of the units of a type at a node, in node_begin."""
    return not_negative(node * model.affinity.shape[0] + p)


def companion_at(model, state, node, c, amount):
    """The unit of companion ``c`` at a node with room for an amount; -1 if there is none."""
    sole = np.int64(model.node_sole[not_negative(node * model.companion_type.shape[0] + c)])
    if sole >= 0:
        return sole if has_room_for(model, state, not_negative(sole), amount) else np.int64(-1)
    return queries.companion_unit(model, state, node, np.int64(model.companion_type[c]), amount)


def rest_fits(model, state, task, unit):
    """Whether the node of the unit has room for the rest of a claim: other units of the lead, and companions."""
    if not SEVERAL or not has_classes(model):
        return True
    task_class, node = task_type(model, state, task), np.int64(state.unit[unit].node)
    if model.class_units[task_class] > 1 and not lead_fits(model, state, task, unit):
        return False
    for c in range(model.companion_type.shape[0]):
        amount = model.class_companion[task_class, not_negative(model.companion_type[c])]
        if amount > 0.0 and companion_at(model, state, node, np.int64(c), amount) < 0:
            return False
    return True


@called
def lead_fits(model, state, task, unit):
    task_class = task_type(model, state, task)
    own = has_room_for(model, state, unit, demand(model, state, task, unit))
    place = place_of(model, np.int64(model.unit_node[unit]), model.unit_type[unit])
    return n_with_room(model, state, place, model.class_share[task_class]) - np.int64(own) >= n_rest(model, task_class)


def n_with_room(model, state, place, share):
    """How many units of a type at a node, ``place``, have room for a share of each.

    Neighbouring units are processed together: the compiler makes vectors of them.
    """
    begin, end, n = np.int64(model.node_begin[place]), np.int64(model.node_begin[place + 1]), np.int64(0)
    if begin == end:
        return n
    units, loads, capacities = model.node_unit, state.unit_load, state.unit_open
    first = not_negative(np.int64(units[not_negative(begin)]))
    if units[not_negative(end - 1)] - first == end - 1 - begin and share < np.inf:
        for i in range(end - begin):
            unit = not_negative(first + i)
            load, capacity = loads[unit], capacities[unit]
            n += np.int64((load < capacity * FULL) & (load + share <= capacity * OVERFULL))
        return n
    for i in range(begin, end):
        unit = not_negative(np.int64(units[not_negative(i)]))
        n += np.int64(has_room_for(model, state, unit, share_of(model, unit, share)))
    return n


def n_fitting(model, state, c, node):
    """How many of the amounts of a companion that any class holds fit on a unit of the node."""
    begin, most = np.int64(model.first_amount[c]), np.int64(0)
    place = place_of(model, node, model.companion_type[c])
    for j in range(model.node_begin[place], model.node_begin[place + 1]):
        one = state.unit[not_negative(np.int64(model.node_unit[j]))]
        load, capacity, low = one.load, one.open, begin
        high = np.int64(model.first_amount[c + 1]) if load < capacity * FULL else begin
        while low < high:
            middle = not_negative((low + high) >> 1)
            if load + model.amounts[middle] <= capacity * OVERFULL:
                low = middle + 1
            else:
                high = middle
        most = max(most, low - begin)
    return most


# One unit


def take_of(model, state, task, unit, amount):
    """Let a task take an amount of a unit."""
    one = state.unit[unit]
    note_before(state, unit)
    if WHOLE:
        one.load = one.open
        leave(model, state, unit)
        note_node(model, state, np.int64(one.node))
        return
    if CAPS and has_caps(model):
        level = level_of(model, task_type(model, state, task), unit, amount)
        change_draw(model, state, unit, one.holders + 1, state.unit_level[unit] + level)
    one.holders += 1
    set_unit(model, state, unit, one.load + amount, one.open)
    if AHEAD:
        note_taken(model, state, unit)


def release_of(model, state, task, unit, amount):
    """Free an amount of a unit. What rounding leaves of one that nobody holds is nothing."""
    one = state.unit[unit]
    note_before(state, unit)
    if WHOLE:
        one.load = 0.0
        enter(model, state, unit)
        note_node(model, state, np.int64(one.node))
        return
    holders = one.holders - 1
    if CAPS and has_caps(model):
        level = level_of(model, task_type(model, state, task), unit, amount)
        change_draw(model, state, unit, holders, state.unit_level[unit] - level)
    one.holders = holders
    set_unit(model, state, unit, one.load - amount if holders > 0 else 0.0, one.open)
    if AHEAD:
        note_left(model, state, unit)


def set_unit(model, state, unit, load, capacity):
    """Set what is held of a unit and the capacity that it offers, and notify everything that is kept about loads."""
    one = state.unit[unit]
    had_room, has_room = one.load < one.open * FULL, load < capacity * FULL
    one.load, one.open = load, capacity
    if had_room and not has_room:
        leave_called(model, state, unit)
    elif has_room and not had_room:
        enter_called(model, state, unit)
    note_node(model, state, np.int64(one.node))


def set_open(model, state, unit, capacity):
    """Set the capacity that a unit offers; DOWN while its node is down."""
    set_unit(model, state, unit, state.unit[unit].load, capacity)


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
    """Where the log ends, for ``undo_to``."""
    return np.int64(state.run[0].n_undo)


def rollback(model, state, marked):
    """Undo all since the last mark, and drop it."""
    undo_to(model, state, marked)
    state.run[0].n_marks -= 1


def undo_to(model, state, marked):
    """Undo all since the log had that length, the last first; the mark stays."""
    run = state.run[0]
    while run.n_undo > marked:
        run.n_undo -= 1
        row = state.undo[run.n_undo]
        unit = not_negative(np.int64(row.unit))
        one = state.unit[unit]
        if CAPS and has_caps(model):
            change_draw(model, state, unit, row.holders, state.undo_level[run.n_undo])
        one.holders = row.holders
        set_unit(model, state, unit, row.load, one.open)


def has_room_for_all(model, state, task, unit):
    """Whether the units that a task is supposed to hold have the capacity for it; nodes that are down do not count."""
    if state.unit[unit].load > model.unit_capacity[unit] * OVERFULL:
        return False
    if SEVERAL and has_classes(model):
        for row in range(model.task_held[task], model.task_held[task + 1]):
            other = not_negative(np.int64(state.held_unit[row]))
            if state.unit[other].load > model.unit_capacity[other] * OVERFULL:
                return False
    if CAPS and has_caps(model):
        return are_caps_kept(model, state, np.int64(state.unit[unit].node), 0)
    return True


# The units with room


def enter(model, state, unit):
    """Enter a unit into the sets of units with room."""
    change_sets(model, state, unit, enter_row, 1)


def leave(model, state, unit):
    """Remove a unit from the sets of units with room."""
    change_sets(model, state, unit, leave_row, -1)


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


def change_sets(model, state, unit, change_row, n):
    """Change the sets that a unit is in, by ``change_row(state, row, unit)``, and the counts of their members by n."""
    p = not_negative(np.int64(state.unit[unit].type))
    change_row(state, p, unit)
    if EVERYWHERE:
        change_row(state, not_negative(model.affinity.shape[0]), unit)
    state.run[0].n_with_room += n
    if COUNTS_FREE:
        state.free_count[p, unit >> 12] += n
        state.free_count[model.affinity.shape[0], unit >> 12] += n


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


# Power


def has_caps(model):
    return model.cap_mw.shape[0] > 0


@called
def change_draw(model, state, unit, holders, level):
    """Let a unit be held by a number of tasks that add up to a level; the number of its holders is changed after
    this."""
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


def caps_allow(model, state, task, unit):
    return keeps_caps(model, state, task, unit) if CAPS and has_caps(model) else True


@called
def keeps_caps(model, state, task, unit):
    more = added_mw(model, state, task, unit, demand(model, state, task, unit))
    node = np.int64(state.unit[unit].node)
    if SEVERAL and has_classes(model):
        more += rest_mw(model, state, task, unit, node)
    return are_caps_kept(model, state, node, more)


@called
def rest_mw(model, state, task, unit, node):
    """How much more power the other units of a claim would draw."""
    task_class, more = task_type(model, state, task), np.int64(0)
    missing, i = n_rest(model, task_class), np.int64(model.node_begin[place_of(model, node, model.unit_type[unit])])
    while missing > 0:
        other = not_negative(np.int64(model.node_unit[i]))
        amount = share_of(model, other, model.class_share[task_class])
        if other != unit and has_room_for(model, state, other, amount):
            more += added_mw(model, state, task, other, amount)
            missing -= 1
        i += 1
    for c in range(model.companion_type.shape[0]):
        amount = model.class_companion[task_class, not_negative(model.companion_type[c])]
        if amount > 0.0:
            other = not_negative(companion_at(model, state, node, np.int64(c), amount))
            more += added_mw(model, state, task, other, amount)
    return more


# Places ahead


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


# Reservations

called(is_admitted)


def reservations_allow(model, state, task, unit):
    return is_admitted(model, state, task, unit) if RESERVED and model.reserved_first.shape[0] > 0 else True
