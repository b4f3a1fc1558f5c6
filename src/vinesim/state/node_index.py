"""Which node is the first that has room for all that a task holds, for scenarios where tasks hold several units.

A segment tree over the nodes, four rows below each (``state/node_tree.py``). Of the nodes below it a row keeps, for
each distinct lead, the most room for the first companion on a node that offers the lead (-1: none does), and for each
further companion the most room on any node. So a search for a lead and one companion descends to the right node at
once; further companions are necessary conditions on the way.
A room is kept as the number of amounts that tasks ask for and that fit into it, so that most changes of a load change
no row above the leaf; it may be a little too large, as the units of a leaf are checked exactly.

Changed nodes are noted, and brought up to date before the next search: many searches need no index. Before the first
one, nothing is noted.
"""

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from vinesim.state import node_tree, queries
from vinesim.state.bits import highest, lowest
from vinesim.state.demand import amount_of
from vinesim.state.kernel import inlined, kernel, not_negative
from vinesim.state.layout import COLUMNS, FAN, FULL, OVERFULL, ROOT, SLACK

ROOM = OVERFULL + SLACK


@intrinsic
def _keep_largest(typing_context, rooms, row, below, column):
    """Set ``COLUMNS`` rooms of a row to the largest of those of the rows ``below`` it; returns whether any has
    changed."""

    def codegen(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        vector = ir.VectorType(ir.IntType(16), COLUMNS)

        def place(row, i=0):
            row = builder.add(row, ir.Constant(row.type, i))
            at = builder.add(builder.mul(row, builder.extract_value(array.shape, 1)), args[3])
            return builder.bitcast(builder.gep(array.data, [at]), vector.as_pointer())

        def larger(one, other):
            return builder.select(builder.icmp_signed(">", one, other), one, other)

        a, b, c, d = (builder.load(place(args[2], i), align=2) for i in range(FAN))
        largest = larger(larger(a, b), larger(c, d))
        mine = place(args[1])
        before = builder.load(mine, align=2)
        builder.store(largest, mine, align=2)
        bits = ir.IntType(16 * COLUMNS)
        return builder.icmp_unsigned("!=", builder.bitcast(before, bits), builder.bitcast(largest, bits))

    return types.boolean(rooms, types.int64, types.int64, types.int64), codegen


@inlined
def note_change(state, node):
    """Note that units of the node have changed."""
    run = state.run[0]
    if run.n_stale >= 0 and state.node_is_stale[node] == 0:
        state.node_is_stale[node] = 1
        state.stale_node[not_negative(run.n_stale)] = node
        run.n_stale += 1


@inlined
def _may_hold(rooms, row, ranks, kind, lead, n_leads, n_companions):
    """Return which of four rows, of which ``row`` is one, may have below them a node with room for a class whose lead
    is given, as bits. As in every loop here, arrays are bound to names before it: after a store the compiler would read
    their addresses again."""
    first, found = not_negative(row & ~node_tree.LAST), np.int64(0)
    for i in range(FAN):
        found |= np.int64(rooms[first + i, lead] >= ranks[kind, 0]) << i
    for c in range(1, n_companions):
        column, rank, have_room = not_negative(n_leads + c - 1), ranks[kind, not_negative(c)], np.int64(0)
        for i in range(FAN):
            have_room |= np.int64(rooms[first + i, column] >= rank) << i
        found &= have_room
    return found


@kernel
def fits(model, state, task, unit):
    """Do the same as the query, as a call: inlined here and there it makes the loop compile for longer."""
    return queries.fits(model, state, task, unit)


@kernel
def _unit_at(model, state, task, p, node):
    """Return the first unit of type p at the node on which the task fits; -1 if there is none."""
    place = not_negative(node * model.affinity.shape[0] + p)
    units, loads, capacities = model.node_unit, state.unit_load, state.unit_open
    for i in range(model.node_begin[place], model.node_begin[place + 1]):
        unit = not_negative(units[not_negative(i)])
        if loads[unit] < capacities[unit] * FULL and fits(model, state, task, unit):
            return unit
    return np.int64(-1)


@kernel
def next_node(model, state, kind, lead, node, end):
    """Return the first of the nodes [node, end) that may have room for a class whose lead is given; -1: none."""
    if node >= end:
        return np.int64(-1)
    _renew(model, state)
    rooms, ranks = state.node_room, model.kind_rank
    n_leads, n_companions = model.lead_type.shape[0], model.companion_type.shape[0]
    kind, lead = not_negative(kind), not_negative(lead)
    row, shift = node_tree.highest(rooms.shape[0], node)
    while node < end:
        i = row & node_tree.LAST
        found = _may_hold(rooms, row, ranks, kind, lead, n_leads, n_companions) >> i
        if found > 0:
            further = lowest(np.uint64(found))
            row, node = row + further, node + (further << shift)
            if shift == 0:
                return node if node < end else np.int64(-1)
            row, shift = node_tree.below(row), shift - node_tree.BITS
            continue
        node += (FAN - i) << shift
        row |= node_tree.LAST
        while row & node_tree.LAST == node_tree.LAST and node < end:
            row, shift = node_tree.above(row), shift + node_tree.BITS
        row += 1
    return np.int64(-1)


@kernel
def first(model, state, task, p, low, high):
    """Return the first unit of type p at the nodes of the units [low, high) on which the task fits; -1: none."""
    kind = queries.task_type(model, state, task)
    lead = np.int64(model.kind_lead[kind, p])
    if lead < 0 or low >= high:
        return np.int64(-1)
    end = np.int64(model.unit_node[high - 1]) + 1
    node = next_node(model, state, kind, lead, np.int64(model.unit_node[low]), end)
    while node >= 0:
        unit = _unit_at(model, state, task, p, node)
        if unit >= 0:
            return unit
        node = next_node(model, state, kind, lead, node + 1, end)
    return np.int64(-1)


@kernel
def last(model, state, task, p, low, high):
    """Return the last unit of type p at the nodes of the units [low, high) on which the task fits; -1: none."""
    kind = queries.task_type(model, state, task)
    lead = np.int64(model.kind_lead[kind, p])
    if lead < 0 or low >= high:
        return np.int64(-1)
    _renew(model, state)
    rooms, ranks, lead = state.node_room, model.kind_rank, not_negative(lead)
    n_leads, n_companions = model.lead_type.shape[0], model.companion_type.shape[0]
    begin, end = np.int64(model.unit_node[low]), np.int64(model.unit_node[high - 1]) + 1
    row, shift = node_tree.leaf(rooms.shape[0], end - 1), np.int64(0)
    while end > begin:
        i = row & node_tree.LAST
        found = _may_hold(rooms, row, ranks, kind, lead, n_leads, n_companions) & ((np.int64(2) << i) - 1)
        if found > 0:
            back = i - highest(np.uint64(found))
            row, end = row - back, end - (back << shift)
            if end <= begin:
                break
            if shift > 0:
                row, shift = node_tree.below(row) + node_tree.LAST, shift - node_tree.BITS
                continue
            unit = _last_unit_at(model, state, task, p, end - 1)
            if unit >= 0:
                return unit
        else:
            row, end = row - i, end - (i << shift)
        end -= np.int64(1) << shift
        while row & node_tree.LAST == 0 and end > begin:
            row, shift = node_tree.above(row), shift + node_tree.BITS
        row -= 1
    return np.int64(-1)


@inlined
def _last_unit_at(model, state, task, p, node):
    """Return the last unit of type p at the node on which the task fits; -1 if there is none."""
    found, place = np.int64(-1), not_negative(node * model.affinity.shape[0] + p)
    for i in range(model.node_begin[place], model.node_begin[place + 1]):
        unit = np.int64(model.node_unit[i])
        if fits(model, state, task, unit):
            found = unit
    return found


@inlined
def _rank(model, state, c, node):
    """Return how many of the amounts that are asked of a companion fit on a node's unit with the most room."""
    most, place = 0.0, not_negative(node * model.affinity.shape[0] + model.companion_type[c])
    for i in range(model.node_begin[place], model.node_begin[place + 1]):
        unit = not_negative(model.node_unit[not_negative(i)])
        load, capacity = state.unit_load[unit], state.unit_open[unit]
        if load < capacity * FULL:
            most = max(most, capacity * ROOM - load)
    low, high, asked = np.int64(model.asked_first[c]), np.int64(model.asked_first[c + 1]), model.asked
    begin = low
    while low < high:
        middle = not_negative((low + high) >> 1)
        fits_there = asked[middle] <= most
        low, high = (middle + 1, high) if fits_there else (low, middle)
    return model.asked_rank[not_negative(low - 1)] if low > begin else np.int16(0)


@inlined
def _set(rooms, row, column, rank):
    """Set a room in a row; returns whether that changed it."""
    column = not_negative(column)
    has_changed = rooms[row, column] != rank
    rooms[row, column] = rank
    return has_changed


@inlined
def share_of(model, unit, share):
    """Return how much of a unit a share is; the capacity is read only where it counts."""
    return share if share < np.inf else amount_of(share, model.unit_capacity[unit])


@inlined
def n_with_room(model, state, place, share):
    """Return how many units of a type at a node, ``place``, have room for a share of each.

    Units that lie side by side are looked at together: the compiler makes vectors of them.
    """
    begin, end, n = np.int64(model.node_begin[place]), np.int64(model.node_begin[place + 1]), np.int64(0)
    if begin == end:
        return n
    loads, capacities, units = state.unit_load, state.unit_open, model.node_unit
    first = not_negative(units[not_negative(begin)])
    if units[not_negative(end - 1)] - first == end - 1 - begin and share < np.inf:
        for i in range(end - begin):
            unit = not_negative(first + i)
            load, capacity = loads[unit], capacities[unit]
            n += np.int64((load < capacity * FULL) & (load + share <= capacity * OVERFULL))
        return n
    for i in range(begin, end):
        unit = not_negative(units[not_negative(i)])
        n += np.int64(queries.has_room_for(model, state, unit, share_of(model, unit, share)))
    return n


@inlined
def _renew_leaf(model, state, row, node):
    """Bring the row of a node up to date; returns whether it has changed."""
    n_leads, n_companions, rooms = model.lead_type.shape[0], model.companion_type.shape[0], state.node_room
    most = _rank(model, state, 0, node) if n_companions > 0 else np.int16(0)
    has_changed = False
    for c in range(1, n_companions):
        has_changed |= _set(rooms, row, n_leads + c - 1, _rank(model, state, c, node))
    lead, lead_units = np.int64(0), model.lead_units
    while lead < n_leads:  # leads of one type and share follow one another, fewer units first
        lead = not_negative(lead)
        end = np.int64(model.lead_end[lead])
        place = not_negative(node * model.affinity.shape[0] + model.lead_type[lead])
        n = n_with_room(model, state, place, model.lead_share[lead])
        while lead < end:
            has_changed |= _set(rooms, row, lead, most if lead_units[not_negative(lead)] <= n else np.int16(-1))
            lead += 1
    return has_changed


@kernel
def _note_all(state):
    """Note all nodes as changed, for the first search."""
    n_nodes = state.stale_node.shape[0]
    for node in range(n_nodes):
        state.stale_node[node] = node
    state.run[0].n_stale = n_nodes


@kernel
def _renew(model, state):
    """Bring the index up to date."""
    rooms, run = state.node_room, state.run[0]
    n_rows, n_columns = rooms.shape
    if run.n_stale < 0:
        _note_all(state)
    for k in range(run.n_stale):
        node = not_negative(state.stale_node[not_negative(k)])
        state.node_is_stale[node] = 0
        row = node_tree.leaf(n_rows, node)
        has_changed = _renew_leaf(model, state, row, node)
        while has_changed and row > ROOT:
            row = node_tree.above(row)
            below = node_tree.below(row)
            has_changed = _keep_largest(rooms, row, below, 0)
            for c in range(COLUMNS, n_columns, COLUMNS):
                has_changed |= _keep_largest(rooms, row, below, c)
    run.n_stale = 0
