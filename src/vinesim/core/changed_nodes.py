"""The nodes that have changed, for what is kept of nodes: ``core/ledger.py`` notes them, in a ring."""

import numpy as np

from vinesim.core import offers
from vinesim.core.features import OFFERS


def renew_changed(model, state, seen, renew):
    """Call ``renew(model, state, node)`` for each node that has changed since ``seen`` changes; all if it is -1."""
    run, n_kept = state.run[0], state.changed_node.shape[0]
    if seen >= 0 and run.n_changes - seen <= n_kept:
        for change in range(seen + 1, run.n_changes + 1):
            node = np.int64(state.changed_node[change & (n_kept - 1)])
            if state.node_change[node] == change:  # else it has changed again
                renew(model, state, node)
        return
    for node in range(model.node_rack.shape[0]):
        if state.node_change[node] > seen:
            renew(model, state, np.int64(node))


def see(model, state):
    """Bring what the nodes have room for up to date; then all changes so far have been seen: a node that changes once
    more is noted once more."""
    if OFFERS and state.node_offers.shape[0] > 0:
        renew_changed(model, state, state.run[0].n_changes_seen, offers.renew_node)
    state.run[0].n_changes_seen = state.run[0].n_changes
