"""The least busy node with room, for policies that balance requests over nodes.

Of a large cluster the number of tasks on each node is kept, once for each processor type of which the node has a unit
with room. A node that changes is noted (``state/holding.py``) and counted again before the next question. The numbers
are negated, so that the least busy node has the highest one (``state/node_counts.py``). Of few nodes all with room are
looked at, which costs less than noting changes.
"""

import numpy as np

from vinesim.state import queries
from vinesim.state.bits import at_or_after
from vinesim.state.changed_nodes import renew_changed
from vinesim.state.compiled_form import with_changes_noted
from vinesim.state.highest_of_blocks import BLOCK, set_in_row
from vinesim.state.kernel import inlined, kernel, not_negative
from vinesim.state.layout import UNFIT
from vinesim.state.node_offers import see_changes


@inlined
def has_own_order(model):
    """Whether the policy has given the units an order of its own: then no node has units side by side, none counts its
    tasks, and the first unit is the least busy one."""
    return model.node_first[-1] == 0


@inlined
def after_node(model, unit):
    """Return the first unit of the next node."""
    return np.int64(model.node_first[model.unit_node[unit] + 1])


@kernel
def _count(model, state, node):
    """Count the tasks on a node again."""
    node = not_negative(node)
    first, end, n_tasks = model.node_first[node], model.node_first[node + 1], queries.node_tasks(model, state, node)
    for p in range(model.affinity.shape[0]):
        unit = at_or_after(state.free, state.free_1, state.free_2, p, first)
        number = -n_tasks if unit >= 0 and unit < end else np.int64(UNFIT)
        if state.node_busy[p, node] != number:
            set_in_row(state.node_busy, state.node_busy_1, state.node_busy_2, p, node, number)


@kernel
def _count_changed(model, state):
    """Count the tasks again on the nodes that have changed; before the first question no change is noted."""
    run = state.run[0]
    seen = run.n_changes_counted
    if seen == run.n_changes:
        return
    run.n_changes_counted = run.n_changes
    see_changes(model, state)
    renew_changed(model, state, seen, _count)


def _of_all(model, state, task, p, first_on):
    """Look at the nodes with room in order, until one is idle."""
    best, fewest, n_units = np.int64(-1), np.int64(0), np.int64(model.unit_type.shape[0])
    if has_own_order(model):
        return first_on(model, state, task, p, np.int64(0), n_units)
    unit = np.int64(at_or_after(state.free, state.free_1, state.free_2, p, np.int64(0)))
    while unit >= 0:
        begin, end = np.int64(model.node_first[model.unit_node[unit]]), after_node(model, unit)
        n = queries.node_tasks(model, state, model.unit_node[unit])
        if best < 0 or n < fewest:
            found = first_on(model, state, task, p, begin, end)
            if found >= 0:
                best, fewest = found, n
                if n == 0:
                    break
        if end >= n_units:
            break
        unit = np.int64(at_or_after(state.free, state.free_1, state.free_2, p, end))
    return best


@with_changes_noted(without=_of_all, inline=False)
def on_least_busy(model, state, task, p, first_on):
    """Return the unit that ``first_on(model, state, task, p, low, high)`` finds among those of a node, [low, high), on
    the node that runs the fewest tasks of those where it finds one; the first of several. -1: there is none."""
    if has_own_order(model):
        return first_on(model, state, task, p, np.int64(0), np.int64(model.unit_type.shape[0]))
    _count_changed(model, state)
    counts, counts_1, counts_2, p = state.node_busy, state.node_busy_1, state.node_busy_2, not_negative(p)
    n_1, n = np.int64(counts_1.shape[1]), np.int64(counts.shape[1])
    best, highest = np.int64(-1), np.int32(UNFIT)
    for i in range(counts_2.shape[1]):
        if counts_2[p, i] <= highest:
            continue
        for j in range(i * BLOCK, min((i + 1) * BLOCK, n_1)):
            if counts_1[p, j] <= highest:
                continue
            for node in range(j * BLOCK, min((j + 1) * BLOCK, n)):
                if counts[p, node] > highest:
                    begin, end = np.int64(model.node_first[node]), np.int64(model.node_first[node + 1])
                    unit = first_on(model, state, task, p, begin, end)
                    if unit >= 0:
                        best, highest = unit, counts[p, node]
    return best
