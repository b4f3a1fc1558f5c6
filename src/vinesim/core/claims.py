"""What a task holds: the rows of its claim, and where they fall once the unit that it runs on is known.

The first row is the unit itself. Then come the other units of its lead, the first ones of the type at the node that
have room, and for each companion the first unit of its type at the node with room. Their units are in ``held_unit``.
What is not at a node, such as quotas, is in core/pools.py; the rule of reservations is in state/expected.py.
"""

import numpy as np

from vinesim.core import ledger
from vinesim.core.features import AHEAD, CAPS, RESERVED, SEVERAL, SLOTS, called
from vinesim.core.tasks import task_type
from vinesim.jit.intrinsics import not_negative
from vinesim.state.demand import amount_of
from vinesim.state.expected import is_admitted
from vinesim.state.layout import FULL, OVERFULL


def has_classes(model):
    """Whether tasks hold several units: their demands are in classes."""
    return model.class_units.shape[0] > 0


def has_room_for(model, state, unit, amount):
    one = state.unit[unit]
    return one.load < one.open * FULL and one.load + amount <= one.open * OVERFULL


def share_of(model, unit, share):
    """How much of a unit a share is; the capacity is read only where it counts."""
    return share if share < np.inf else amount_of(share, model.unit_capacity[unit])


def demand(model, state, task, unit):
    """What a task takes of a unit that it runs on."""
    if SEVERAL and has_classes(model):
        return share_of(model, unit, model.class_share[task_type(model, state, task)])
    if not SLOTS or model.task_demand.shape[0] == 0:
        return model.unit_capacity[unit]
    return amount_of(model.task_demand[task], model.unit_capacity[unit])


# Where the rows fall


def n_rest(model, task_class):
    """How many units of its lead a class holds besides the one that it runs on."""
    return np.int64(model.class_units[task_class]) - 1


def place_of(model, node, p):
    """The number of the units of a type at a node, in node_begin."""
    return not_negative(node * model.affinity.shape[0] + p)


@called
def companion_unit(model, state, node, processor_type, amount):
    place = place_of(model, node, processor_type)
    for i in range(model.node_begin[place], model.node_begin[place + 1]):
        unit = not_negative(np.int64(model.node_unit[i]))
        if has_room_for(model, state, unit, amount):
            return unit
    return np.int64(-1)


def companion_at(model, state, node, c, amount):
    """The unit of companion ``c`` at a node with room for an amount; -1 if there is none."""
    sole = np.int64(model.node_sole[not_negative(node * model.companion_type.shape[0] + c)])
    if sole >= 0:
        return sole if has_room_for(model, state, not_negative(sole), amount) else np.int64(-1)
    return companion_unit(model, state, node, np.int64(model.companion_type[c]), amount)


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


def caps_allow(model, state, task, unit):
    return keeps_caps(model, state, task, unit) if CAPS and ledger.has_caps(model) else True


@called
def keeps_caps(model, state, task, unit):
    more = ledger.added_mw(model, state, task, unit, demand(model, state, task, unit))
    node = np.int64(state.unit[unit].node)
    if SEVERAL and has_classes(model):
        more += rest_mw(model, state, task, unit, node)
    return ledger.are_caps_kept(model, state, node, more)


@called
def rest_mw(model, state, task, unit, node):
    """How much more power the other units of a claim would draw."""
    task_class, more = task_type(model, state, task), np.int64(0)
    missing, i = n_rest(model, task_class), np.int64(model.node_begin[place_of(model, node, model.unit_type[unit])])
    while missing > 0:
        other = not_negative(np.int64(model.node_unit[i]))
        amount = share_of(model, other, model.class_share[task_class])
        if other != unit and has_room_for(model, state, other, amount):
            more += ledger.added_mw(model, state, task, other, amount)
            missing -= 1
        i += 1
    for c in range(model.companion_type.shape[0]):
        amount = model.class_companion[task_class, not_negative(model.companion_type[c])]
        if amount > 0.0:
            other = not_negative(companion_at(model, state, node, np.int64(c), amount))
            more += ledger.added_mw(model, state, task, other, amount)
    return more


# Take and release


def take_of(model, state, task, unit, amount):
    ledger.take(model, state, unit, amount, ledger.level_for(model, state, task, unit, amount))
    if AHEAD:
        ledger.note_taken(model, state, unit)


def release_of(model, state, task, unit, amount):
    ledger.release(model, state, unit, amount, ledger.level_for(model, state, task, unit, amount))
    if AHEAD:
        ledger.note_left(model, state, unit)


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
    release_of(model, state, task, unit, demand(model, state, task, unit))
    if SEVERAL and has_classes(model):
        release_rest(model, state, task)


def release_rest(model, state, task):
    for row in range(model.task_held[task], model.task_held[task + 1]):
        other = not_negative(np.int64(state.held_unit[row]))
        release_of(model, state, task, other, amount_of_row(model, state, task, row))


def amount_of_row(model, state, task, row):
    """What a task holds of the unit of a row, after its own."""
    task_class = task_type(model, state, task)
    unit = not_negative(np.int64(state.held_unit[row]))
    if row - model.task_held[task] < n_rest(model, task_class):
        return share_of(model, unit, model.class_share[task_class])
    return model.class_companion[task_class, not_negative(model.unit_type[unit])]


# Of what is only supposed


@called
def still_has_room(model, state, task, unit):
    """Whether a running task that is supposed away has room where it was; nodes that are down do not count."""
    if state.unit[unit].load + demand(model, state, task, unit) > model.unit_capacity[unit] * OVERFULL:
        return False
    if SEVERAL and has_classes(model):
        for row in range(model.task_held[task], model.task_held[task + 1]):
            other = not_negative(np.int64(state.held_unit[row]))
            if state.unit[other].load + amount_of_row(model, state, task, row) > model.unit_capacity[other] * OVERFULL:
                return False
    return would_keep_caps(model, state, task, unit) if CAPS and ledger.has_caps(model) else True


@called
def would_keep_caps(model, state, task, unit):
    """Whether the power caps are kept if a task again holds what it held, on the same units."""
    more = ledger.added_mw(model, state, task, unit, demand(model, state, task, unit))
    if SEVERAL and has_classes(model):
        for row in range(model.task_held[task], model.task_held[task + 1]):
            other = not_negative(np.int64(state.held_unit[row]))
            more += ledger.added_mw(model, state, task, other, amount_of_row(model, state, task, row))
    return ledger.are_caps_kept(model, state, np.int64(state.unit[unit].node), more)


@called
def take_again(model, state, task, unit):
    """Give a task again what it held, on the same units."""
    take_of(model, state, task, unit, demand(model, state, task, unit))
    if SEVERAL and has_classes(model):
        for row in range(model.task_held[task], model.task_held[task + 1]):
            other = not_negative(np.int64(state.held_unit[row]))
            take_of(model, state, task, other, amount_of_row(model, state, task, row))


def forget(model, state, task):
    """Forget the units that the rest of a task was only supposed to hold."""
    if SEVERAL and has_classes(model):
        for row in range(model.task_held[task], model.task_held[task + 1]):
            state.held_unit[row] = -1


def reservations_allow(model, state, task, unit):
    has_any = RESERVED and model.reserved_first.shape[0] > 0
    return is_admitted_called(model, state, task, unit) if RESERVED and has_any else True


@called
def is_admitted_called(model, state, task, unit):
    return is_admitted(model, state, task, unit)


def hypothetical_begin_us(model, state):
    return max(state.run[0].now_us, state.run[0].begin_us)
