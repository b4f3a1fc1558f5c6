"""Find the first node that may have room for everything that a task holds, if tasks hold several units.

The index is a segment tree over the nodes, four rows below each (core/node_tree.py). A row keeps, for the nodes below
it, the most room for the first companion on a node that offers a lead (-1: none does), for each distinct lead; and the
most room on any node for each further companion. A search for a lead and one companion therefore descends to the right
node at once; further companions are necessary conditions on the way. A room is kept as the number of amounts that tasks
ask for and that fit into it, so most changes of a load change no row above the leaf. It may be a little too large,
because the units of a leaf are checked exactly.

Changed nodes are noted (core/ledger.py) and brought up to date before the next search, because many searches need no
index. Before the first search, nothing is noted.
"""

import numpy as np

from vinesim.core import ledger, node_tree
from vinesim.core.bits import highest, lowest
from vinesim.core.features import called
from vinesim.jit.intrinsics import keep_largest, not_negative
from vinesim.state.layout import COLUMNS, FAN, ROOT


def may_hold(rooms, row, ranks, task_class, lead, n_leads, n_companions):
    """Which of four rows, of which ``row`` is one, may have below them a node with room for a class whose lead is
    given, as bits. As in every loop here, arrays are bound to names before it: after a store the compiler would read
    their addresses again."""
    first, found = not_negative(row & ~node_tree.LAST), np.int64(0)
    for i in range(FAN):
        found |= np.int64(rooms[first + i, lead] >= ranks[task_class, 0]) << i
    for c in range(1, n_companions):
        column, rank, have_room = not_negative(n_leads + c - 1), ranks[task_class, not_negative(c)], np.int64(0)
        for i in range(FAN):
            have_room |= np.int64(rooms[first + i, column] >= rank) << i
        found &= have_room
    return found


@called
def next_node(model, state, task_class, lead, node, end):
    """The first of the nodes [node, end) that may have room for a class whose lead is given; -1: none."""
    if node >= end:
        return np.int64(-1)
    renew(model, state)
    rooms, ranks = state.node_room, model.class_rank
    n_leads, n_companions = model.lead_type.shape[0], model.companion_type.shape[0]
    task_class, lead = not_negative(task_class), not_negative(lead)
    row, shift = node_tree.highest(rooms.shape[0], node)
    while node < end:
        i = row & node_tree.LAST
        found = may_hold(rooms, row, ranks, task_class, lead, n_leads, n_companions) >> i
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


@called
def last_node(model, state, task_class, lead, begin, end):
    """The last of the nodes [begin, end) that may have room for a class whose lead is given; -1: none."""
    renew(model, state)
    rooms, ranks, task_class, lead = state.node_room, model.class_rank, not_negative(task_class), not_negative(lead)
    n_leads, n_companions = model.lead_type.shape[0], model.companion_type.shape[0]
    row, shift = node_tree.leaf(rooms.shape[0], end - 1), np.int64(0)
    while end > begin:
        i = row & node_tree.LAST
        found = may_hold(rooms, row, ranks, task_class, lead, n_leads, n_companions) & ((np.int64(2) << i) - 1)
        if found > 0:
            back = i - highest(np.uint64(found))
            row, end = row - back, end - (back << shift)
            if end <= begin:
                break
            if shift == 0:
                return end - 1
            row, shift = node_tree.below(row) + node_tree.LAST, shift - node_tree.BITS
            continue
        row, end = row - i, end - (i << shift)
        end -= np.int64(1) << shift
        while row & node_tree.LAST == 0 and end > begin:
            row, shift = node_tree.above(row), shift + node_tree.BITS
        row -= 1
    return np.int64(-1)


def rank_of(model, state, c, node):
    """The rank of the largest amount of a companion that fits on a unit of the node; 0: none does."""
    n = ledger.n_fitting(model, state, c, node)
    return model.amount_rank[not_negative(model.first_amount[c] + n - 1)] if n > 0 else np.int16(0)


def set_room(rooms, row, column, rank):
    """Set a room in a row; returns whether this changed it."""
    column = not_negative(column)
    has_changed = rooms[row, column] != rank
    rooms[row, column] = rank
    return has_changed


def renew_leaf(model, state, row, node):
    """Bring the row of a node up to date; returns whether it has changed."""
    n_leads, n_companions, rooms = model.lead_type.shape[0], model.companion_type.shape[0], state.node_room
    most = rank_of(model, state, 0, node) if n_companions > 0 else np.int16(0)
    has_changed = False
    for c in range(1, n_companions):
        has_changed |= set_room(rooms, row, n_leads + c - 1, rank_of(model, state, c, node))
    lead, lead_units = np.int64(0), model.lead_units
    while lead < n_leads:  # leads of one type and share follow one another, fewer units first
        lead = not_negative(lead)
        end = np.int64(model.lead_end[lead])
        place = ledger.place_of(model, node, model.lead_type[lead])
        n = ledger.n_with_room(model, state, place, model.lead_share[lead])
        while lead < end:
            has_changed |= set_room(rooms, row, lead, most if lead_units[not_negative(lead)] <= n else np.int16(-1))
            lead += 1
    return has_changed


@called
def note_all(state):
    """Note all nodes as changed, for the first search."""
    n_nodes = state.stale_node.shape[0]
    for node in range(n_nodes):
        state.stale_node[node] = node
    state.run[0].n_stale = n_nodes


@called
def renew(model, state):
    """Bring the index up to date."""
    rooms, run = state.node_room, state.run[0]
    n_rows, n_columns = rooms.shape
    if run.n_stale < 0:
        note_all(state)
    for k in range(run.n_stale):
        node = not_negative(np.int64(state.stale_node[not_negative(k)]))
        state.node_is_stale[node] = 0
        row = node_tree.leaf(n_rows, node)
        has_changed = renew_leaf(model, state, row, node)
        while has_changed and row > ROOT:
            row = node_tree.above(row)
            below = node_tree.below(row)
            has_changed = keep_largest(rooms, row, below, 0)
            for c in range(COLUMNS, n_columns, COLUMNS):
                has_changed |= keep_largest(rooms, row, below, c)
    run.n_stale = 0
