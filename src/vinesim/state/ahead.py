"""What the loop will read soon is fetched ahead, where tasks hold several units of a large cluster.

It changes no result. A finish is queued long before it comes. When it moves into one of the last buckets of the event
queue, what belongs to its task and its unit is fetched; when it is next, what belongs to the node of the unit.
"""

import numpy as np

from vinesim.state import node_tree
from vinesim.state.compiled_form import with_several_units
from vinesim.state.kernel import fetch, not_negative

FAR = 1 << 16  # units; of fewer, all lies near


def _fetches_nothing(model, state, task):
    pass


@with_several_units(without=_fetches_nothing)
def fetch_task(model, state, task):
    """Fetch what a finish will read of its task and of its unit; the other units of the node lie around it."""
    if model.unit_type.shape[0] < FAR:
        return
    fetch(state.task_follower, task)
    fetch(model.task_group, task)
    fetch(model.task_held, task)
    unit = np.int64(state.task_unit[task])
    fetch(model.unit_node, unit)
    fetch(model.unit_type, unit)
    fetch(model.node_unit, unit)
    fetch(state.unit_tasks, unit)
    fetch(state.unit_held, unit)
    for side in range(-8, 9, 8):  # 8 numbers are a line of memory
        fetch(state.unit_load, unit + side)
        fetch(state.unit_open, unit + side)


@with_several_units(without=_fetches_nothing)
def fetch_node(model, state, task):
    """Fetch what a finish will read of its node, and of the index of nodes."""
    node = not_negative(model.unit_node[not_negative(state.task_unit[task])])
    fetch(model.node_begin, node * model.affinity.shape[0])
    fetch(state.node_beside, node)
    fetch(state.held_unit, model.task_held[task])
    if state.node_room.shape[0] > 0:
        row = node_tree.leaf(state.node_room.shape[0], node)
        fetch(state.node_is_stale, node)
        fetch(state.node_room, row)
        fetch(state.node_room, node_tree.above(row))
