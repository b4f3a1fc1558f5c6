"""What is kept about nodes until they change: which nodes have changed, what they have room for, and the highest of
their numbers.

The ledger notes changed nodes in a ring. If scores of nodes are kept and tasks hold several units, the room of each
node is kept too: for each number of units and share of a lead, the types of which the node has that number, and how
many of the amounts of each companion fit. A class is then looked up at a node in a few steps, without trying the node's
units; on a busy cluster, most nodes have no room. Both are exact, and are brought up to date for the changed nodes
before any score is computed.

For whole numbers in rows, such as scores, the highest of each 64 is kept, and the highest of each 64 of those. The
three levels are arrays, as ``state/arrays.py`` lists them: [rows, n], [rows, n / 64] and [rows, n / 4096], int32.
"""

import numpy as np

from vinesim.core import ledger
from vinesim.core.bits import ONE, ZERO
from vinesim.core.features import OFFERS, called
from vinesim.core.tasks import task_type
from vinesim.jit.intrinsics import not_negative
from vinesim.state.layout import UNFIT


def are_listed(state, seen):
    """Whether the ring has all changes after the first ``seen``; not if that is -1."""
    return seen >= 0 and state.run[0].n_changes - seen <= state.changed_node.shape[0]


def node_of_change(state, change):
    """The node of a change in the ring; -1 if the node has changed again."""
    node = np.int64(state.changed_node[change & (state.changed_node.shape[0] - 1)])
    return node if state.node_change[node] == change else np.int64(-1)


def renew_changed(model, state, seen, renew):
    """Call ``renew(model, state, node)`` for each node that has changed since ``seen`` changes; all if it is -1."""
    if are_listed(state, seen):
        for change in range(seen + 1, state.run[0].n_changes + 1):
            node = node_of_change(state, change)
            if node >= 0:
                renew(model, state, node)
        return
    for node in range(model.node_rack.shape[0]):
        if state.node_change[node] > seen:
            renew(model, state, np.int64(node))


def see(model, state):
    """Bring the room of the nodes up to date. All changes so far then count as seen, so a node that changes again is
    noted again."""
    if OFFERS and state.node_offers.shape[0] > 0:
        renew_changed(model, state, state.run[0].n_changes_seen, renew_node)
    state.run[0].n_changes_seen = state.run[0].n_changes


def has_offer_for(model, state, task, node):
    """Whether the task can start on any unit of the node."""
    task_class, n = task_type(model, state, task), model.companion_type.shape[0]
    node = not_negative(node)
    for c in range(n):
        if state.node_fitting[node * n + c] < model.class_n_amounts[task_class * n + c]:
            return False
    n_words = model.class_types.shape[1]
    first, found = not_negative(np.int64(model.class_shape[task_class]) * n_words), ZERO
    for w in range(n_words):
        found |= state.node_offers[node, first + w] & model.class_types[task_class, w]
    return found != ZERO


@called
def renew_node(model, state, node):
    """Bring what a node has room for up to date."""
    if model.node_first[node] == model.node_first[node + 1]:
        return  # the units have their own order
    n_types, n_companions = model.affinity.shape[0], model.companion_type.shape[0]
    for c in range(n_companions):
        state.node_fitting[not_negative(node * n_companions + c)] = ledger.n_fitting(model, state, c, node)
    for i in range(state.node_offers.shape[1]):
        state.node_offers[node, i] = ZERO
    for p in range(n_types):
        place = ledger.place_of(model, node, p)
        if model.node_begin[place] < model.node_begin[place + 1]:
            renew_leads(model, state, node, p, place)


def renew_leads(model, state, node, p, place):
    """Note which of the leads of a type its units at the node, ``place``, offer."""
    n_words, lead, after = model.class_types.shape[1], np.int64(model.type_lead[p]), np.int64(model.type_lead[p + 1])
    while lead < after:
        n, last = ledger.n_with_room(model, state, place, model.lead_share[lead]), np.int64(model.lead_end[lead])
        while lead < last:
            if model.lead_units[lead] <= n:
                word = not_negative(model.lead_shape[lead] * n_words + (p >> 6))
                state.node_offers[node, word] |= ONE << np.uint64(p & 63)
            lead += 1


BLOCK = 64  # numbers of one block


@called
def highest_of(numbers, row, block):
    """Return the highest of a block of 64 numbers of a row."""
    highest, begin, row = np.int32(UNFIT), not_negative(block << 6), not_negative(row)
    for i in range(min(BLOCK, numbers.shape[1] - begin)):
        highest = max(highest, numbers[row, not_negative(begin + i)])
    return highest


def set_in_row(numbers, numbers_1, numbers_2, row, i, number):
    """Set a number of a row, and the highest of its block and of the blocks around it."""
    row, i, found = not_negative(row), not_negative(i), np.int32(number)
    block = i >> 6
    before = numbers[row, i]
    numbers[row, i] = found
    if found < before and before == numbers_1[row, block]:
        found = highest_of(numbers, row, block)
    elif found <= numbers_1[row, block]:
        return
    before = numbers_1[row, block]
    numbers_1[row, block] = found
    if found > numbers_2[row, block >> 6]:
        numbers_2[row, block >> 6] = found
    elif found < before and before == numbers_2[row, block >> 6]:
        numbers_2[row, block >> 6] = highest_of(numbers_1, row, block >> 6)


def renew_row(numbers, numbers_1, numbers_2, row):
    """Find the highest of each block again, after many numbers of the row were set."""
    for block in range(numbers_1.shape[1]):
        numbers_1[row, block] = highest_of(numbers, row, block)
    for block in range(numbers_2.shape[1]):
        numbers_2[row, block] = highest_of(numbers_1, row, block)
