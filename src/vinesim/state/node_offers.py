"""What each node has room for, where scores of nodes are kept and tasks hold several units: for each number of units
and share of a lead, the types of which it has so many; and how many of the amounts asked of each companion fit. So a
class is looked up at a node in a few steps, instead of trying the node's units; most nodes that a busy cluster looks at
have no room.

Both are exact, and brought up to date for the nodes that have changed before any score is.
"""

import numpy as np

from vinesim.state import node_index, queries
from vinesim.state.bits import ONE, ZERO
from vinesim.state.changed_nodes import renew_changed
from vinesim.state.compiled_form import with_only_several_units
from vinesim.state.kernel import inlined, kernel, not_negative
from vinesim.state.layout import FULL, OVERFULL


def _is_any_free_at(model, state, task, node):
    return queries.first_free_at(model, state, task, node) >= 0


@with_only_several_units(without=_is_any_free_at)
def can_start_at(model, state, task, node):
    """Whether the task can start on any unit of the node."""
    kind, n = queries.task_type(model, state, task), model.companion_type.shape[0]
    node = not_negative(node)
    for c in range(n):
        if state.node_fitting[node * n + c] < model.kind_asks[kind * n + c]:
            return False
    n_words = model.kind_types.shape[1]
    first, found = not_negative(np.int64(model.kind_shape[kind]) * n_words), ZERO
    for w in range(n_words):
        found |= state.node_offers[node, first + w] & model.kind_types[kind, w]
    return found != ZERO


def _keeps_none(model, state):
    pass


@with_only_several_units(without=_keeps_none, inline=False)
def _renew_offers(model, state):
    """Bring what the nodes have room for up to date with the changes that were not seen yet."""
    if state.node_offers.shape[0] == 0:
        return
    renew_changed(model, state, state.run[0].n_changes_seen, _renew_node)


@inlined
def see_changes(model, state):
    """Bring what the nodes have room for up to date; then all changes so far have been seen: a node that changes once
    more is noted once more."""
    _renew_offers(model, state)
    state.run[0].n_changes_seen = state.run[0].n_changes


@kernel
def _renew_node(model, state, node):
    if model.node_first[node] == model.node_first[node + 1]:
        return  # the units have an order of their own
    n_types, n_companions = model.affinity.shape[0], model.companion_type.shape[0]
    for c in range(n_companions):
        state.node_fitting[not_negative(node * n_companions + c)] = _n_fitting(model, state, c, node)
    for i in range(state.node_offers.shape[1]):
        state.node_offers[node, i] = ZERO
    for p in range(n_types):
        place = not_negative(node * n_types + p)
        if model.node_begin[place] < model.node_begin[place + 1]:
            _renew_leads(model, state, node, p, place)


@inlined
def _renew_leads(model, state, node, p, place):
    """Note which of the leads of a type its units at the node, ``place``, offer."""
    n_words, lead, after = model.kind_types.shape[1], np.int64(model.type_lead[p]), np.int64(model.type_lead[p + 1])
    while lead < after:
        n, last = node_index.n_with_room(model, state, place, model.lead_share[lead]), np.int64(model.lead_end[lead])
        while lead < last:
            if model.lead_units[lead] <= n:
                word = not_negative(model.lead_shape[lead] * n_words + (p >> 6))
                state.node_offers[node, word] |= ONE << np.uint64(p & 63)
            lead += 1


@inlined
def _n_fitting(model, state, c, node):
    """Return how many of the amounts that are asked of a companion fit on a unit of the node."""
    begin, most = np.int64(model.asked_first[c]), np.int64(0)
    place = not_negative(node * model.affinity.shape[0] + model.companion_type[c])
    for j in range(model.node_begin[place], model.node_begin[place + 1]):
        unit = not_negative(model.node_unit[j])
        load, capacity = state.unit_load[unit], state.unit_open[unit]
        low, high = begin, np.int64(model.asked_first[c + 1])
        while load < capacity * FULL and low < high:
            middle = not_negative((low + high) >> 1)
            if load + model.asked[middle] <= capacity * OVERFULL:
                low = middle + 1
            else:
                high = middle
        most = max(most, low - begin)
    return most
