"""What each node has room for, where scores of nodes are kept and tasks hold several units: for each number of units
and share of a lead, the types of which it has that number; and how many of the amounts of each companion fit. So
a class is looked up at a node in a few steps, instead of trying the node's units; most nodes that a busy cluster looks
at have no room.

Both are exact, and brought up to date for the nodes that have changed before any score is.
"""

import numpy as np

from vinesim.core import claims
from vinesim.core.bits import ONE, ZERO
from vinesim.core.called import called
from vinesim.core.tasks import task_type
from vinesim.jit.intrinsics import not_negative
from vinesim.state.layout import FULL, OVERFULL


def can_start_at(model, state, task, node):
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
        state.node_fitting[not_negative(node * n_companions + c)] = n_fitting(model, state, c, node)
    for i in range(state.node_offers.shape[1]):
        state.node_offers[node, i] = ZERO
    for p in range(n_types):
        place = claims.place_of(model, node, p)
        if model.node_begin[place] < model.node_begin[place + 1]:
            renew_leads(model, state, node, p, place)


def renew_leads(model, state, node, p, place):
    """Note which of the leads of a type its units at the node, ``place``, offer."""
    n_words, lead, after = model.class_types.shape[1], np.int64(model.type_lead[p]), np.int64(model.type_lead[p + 1])
    while lead < after:
        n, last = claims.n_with_room(model, state, place, model.lead_share[lead]), np.int64(model.lead_end[lead])
        while lead < last:
            if model.lead_units[lead] <= n:
                word = not_negative(model.lead_shape[lead] * n_words + (p >> 6))
                state.node_offers[node, word] |= ONE << np.uint64(p & 63)
            lead += 1


def n_fitting(model, state, c, node):
    """How many of the amounts of a companion that any class holds fit on a unit of the node."""
    begin, most = np.int64(model.first_amount[c]), np.int64(0)
    place = claims.place_of(model, node, model.companion_type[c])
    for j in range(model.node_begin[place], model.node_begin[place + 1]):
        one = state.unit[not_negative(np.int64(model.node_unit[j]))]
        low, high = begin, np.int64(model.first_amount[c + 1])
        while one.load < one.open * FULL and low < high:
            middle = not_negative((low + high) >> 1)
            if one.load + model.amounts[middle] <= one.open * OVERFULL:
                low = middle + 1
            else:
                high = middle
        most = max(most, low - begin)
    return most
