"""Which node is the first that has room for all that a task holds, for scenarios where tasks hold several units.

A segment tree over the nodes: row 1 is the root, the children of row i are 2 i and 2 i + 1, the leaves are the last W
rows. Of the nodes below it a row keeps, for each distinct lead, the most room for the first companion on a node that
offers the lead (-1: none does), and for each further companion the most room on any node. So a search for a lead and
one companion descends to the right node at once; further companions are necessary conditions on the way. Rooms are
32-bit numbers, a little too large: the units of a leaf are checked exactly.
"""

import numpy as np

from vinesim.state import queries
from vinesim.state.demand import amount_of
from vinesim.state.kernel import inlined, kernel
from vinesim.state.layout import FULL, OVERFULL, SLACK

ROOM = OVERFULL + SLACK


@inlined
def _may_hold(model, state, i, kind, lead):
    """Whether a node below row i may have room for a class whose lead is given."""
    rooms, n_companions = state.node_room, model.companion_type.shape[0]
    room = rooms[i, lead]
    if room < 0.0 or (n_companions > 0 and model.kind_companion[kind, model.companion_type[0]] > room):
        return False
    n_leads = model.lead_type.shape[0]
    for c in range(1, n_companions):
        if model.kind_companion[kind, model.companion_type[c]] > rooms[i, n_leads + c - 1]:
            return False
    return True


@inlined
def _unit_at(model, state, task, p, node):
    """Return the first unit of type p at the node on which the task fits; -1 if there is none."""
    place = node * model.affinity.shape[0] + p
    for i in range(model.node_begin[place], model.node_begin[place + 1]):
        unit = np.int64(model.node_unit[i])
        if queries.fits(model, state, task, unit):
            return unit
    return np.int64(-1)


@kernel
def first(model, state, task, p, low, high):
    """Return the first unit of type p at the nodes of the units [low, high) on which the task fits; -1: none."""
    kind = queries.task_type(model, state, task)
    lead = np.int64(model.kind_lead[kind, p])
    if lead < 0 or low >= high:
        return np.int64(-1)
    width, end = state.node_room.shape[0] >> 1, np.int64(model.unit_node[high - 1]) + 1
    begin = np.int64(model.unit_node[low])
    i, depth = width + begin, np.int64(0)
    while i & 1 == 0 and i > 1:  # the highest row whose nodes begin there
        i >>= 1
        depth += 1
    while True:
        if (i << depth) - width >= end:
            return np.int64(-1)
        if _may_hold(model, state, i, kind, lead):
            if depth > 0:
                i, depth = 2 * i, depth - 1
                continue
            unit = _unit_at(model, state, task, p, i - width)
            if unit >= 0:
                return unit
        i += 1
        if i & (i - 1) == 0:
            return np.int64(-1)
        while i & 1 == 0:
            i >>= 1
            depth += 1


@kernel
def last(model, state, task, p, low, high):
    """Return the last unit of type p at the nodes of the units [low, high) on which the task fits; -1: none."""
    kind = queries.task_type(model, state, task)
    lead = np.int64(model.kind_lead[kind, p])
    if lead < 0 or low >= high:
        return np.int64(-1)
    width, begin = state.node_room.shape[0] >> 1, np.int64(model.unit_node[low])
    i, depth = width + np.int64(model.unit_node[high - 1]), np.int64(0)
    while True:
        if ((i + 1) << depth) - width <= begin:
            return np.int64(-1)
        if _may_hold(model, state, i, kind, lead):
            if depth > 0:
                i, depth = 2 * i + 1, depth - 1
                continue
            found = np.int64(-1)
            place = (i - width) * model.affinity.shape[0] + p
            for j in range(model.node_begin[place], model.node_begin[place + 1]):
                unit = np.int64(model.node_unit[j])
                if queries.fits(model, state, task, unit):
                    found = unit
            if found >= 0:
                return found
        if i & (i - 1) == 0:
            return np.int64(-1)
        i -= 1
        while i & 1 == 1 and i > 1:
            i >>= 1
            depth += 1


@inlined
def _room(state, unit):
    """Return the room of a unit, a little too much; 0 if it is full or down."""
    load, capacity = state.unit_load[unit], state.unit_open[unit]
    return capacity * ROOM - load if load < capacity * FULL else 0.0


@inlined
def _most(model, state, p, node):
    """Return the most room on a unit of type p at a node."""
    most, place = 0.0, node * model.affinity.shape[0] + p
    for i in range(model.node_begin[place], model.node_begin[place + 1]):
        most = max(most, _room(state, model.node_unit[i]))
    return most


@inlined
def _offers(model, state, lead, node):
    """Whether the node has a lead: enough units of its type with room for its share."""
    place = node * model.affinity.shape[0] + model.lead_type[lead]
    missing, share = np.int64(model.lead_units[lead]), model.lead_share[lead]
    for i in range(model.node_begin[place], model.node_begin[place + 1]):
        unit = model.node_unit[i]
        if queries.has_room_for(model, state, unit, amount_of(share, model.unit_capacity[unit])):
            missing -= 1
            if missing == 0:
                return True
    return False


@kernel
def renew(model, state, node):
    """Bring the index up to date after a change of units of a node."""
    rooms, n_leads, n_companions = state.node_room, model.lead_type.shape[0], model.companion_type.shape[0]
    if rooms.shape[0] == 0:
        return
    i = (rooms.shape[0] >> 1) + node
    most = _most(model, state, model.companion_type[0], node) if n_companions > 0 else 0.0
    for lead in range(n_leads):
        rooms[i, lead] = most if _offers(model, state, lead, node) else -1.0
    for c in range(1, n_companions):
        rooms[i, n_leads + c - 1] = _most(model, state, model.companion_type[c], node)
    i >>= 1
    while i > 0:
        has_changed = False
        for c in range(rooms.shape[1]):
            room = max(rooms[2 * i, c], rooms[2 * i + 1, c])
            has_changed |= room != rooms[i, c]
            rooms[i, c] = room
        if not has_changed:
            break
        i >>= 1
