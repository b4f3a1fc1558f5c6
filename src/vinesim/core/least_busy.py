"""The least busy node with room, for policies that balance requests over nodes.

Of a large cluster the number of tasks on each node is kept, once for each processor type of which the node has a unit
with room. A node that changes is noted (core/ledger.py) and counted again before the next question. The numbers are
negated, so that the least busy node has the highest one. Of few nodes all with room are looked at, which costs less
than noting changes.
"""

import numpy as np

from vinesim.core import changed_nodes
from vinesim.core.bits import at_or_after
from vinesim.core.called import called
from vinesim.core.changed_nodes import BLOCK, set_in_row
from vinesim.core.features import COUNTS_TASKS
from vinesim.core.tasks import node_tasks
from vinesim.jit.intrinsics import not_negative
from vinesim.state.layout import UNFIT


def has_own_order(model):
    """Whether the policy orders the units itself: then no node has units side by side, none counts its tasks, and the
    first unit is the least busy one."""
    return model.node_first[-1] == 0


def after_node(model, unit):
    """The first unit of the next node."""
    return np.int64(model.node_first[model.unit_node[unit] + 1])


@called
def count(model, state, node):
    """Count the tasks on a node again."""
    node = not_negative(node)
    first, end, n_tasks = model.node_first[node], model.node_first[node + 1], node_tasks(model, state, node)
    for p in range(model.affinity.shape[0]):
        unit = at_or_after(state.free, state.free_1, state.free_2, p, first)
        number = -n_tasks if unit >= 0 and unit < end else np.int64(UNFIT)
        if state.node_busy[p, node] != number:
            set_in_row(state.node_busy, state.node_busy_1, state.node_busy_2, p, node, number)


@called
def count_changed(model, state):
    """Count the tasks again on the nodes that have changed; before the first question no change is noted."""
    run = state.run[0]
    seen = run.n_changes_counted
    if seen == run.n_changes:
        return
    run.n_changes_counted = run.n_changes
    changed_nodes.see(model, state)
    changed_nodes.renew_changed(model, state, seen, count)


@called
def unit_on(model, state, task, p, first_on):
    """The unit that ``first_on(model, state, task, p, low, high)`` finds among those of a node, [low, high), on the
    node that runs the fewest tasks of those where it finds one; the first of several. -1: there is none."""
    if has_own_order(model):
        return first_on(model, state, task, p, np.int64(0), np.int64(model.unit_type.shape[0]))
    if COUNTS_TASKS and state.node_busy.shape[1] > 0:
        return unit_by_counts(model, state, task, not_negative(p), first_on)
    return unit_of_all(model, state, task, p, first_on)


@called
def unit_of_all(model, state, task, p, first_on):
    """Look at the nodes with room in order, until one is idle."""
    best, fewest, n_units = np.int64(-1), np.int64(0), np.int64(model.unit_type.shape[0])
    unit = np.int64(at_or_after(state.free, state.free_1, state.free_2, p, np.int64(0)))
    while unit >= 0:
        begin, end = np.int64(model.node_first[model.unit_node[unit]]), after_node(model, unit)
        n = node_tasks(model, state, model.unit_node[unit])
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


@called
def unit_by_counts(model, state, task, p, first_on):
    count_changed(model, state)
    counts, counts_1, counts_2 = state.node_busy, state.node_busy_1, state.node_busy_2
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
