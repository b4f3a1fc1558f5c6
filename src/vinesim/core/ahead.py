"""Fetch what the loop will read soon, where tasks hold several units of a large cluster. It changes no result.

An end is queued long before it comes. When its slot moves into one of the last buckets of the calendar, what belongs to
its task and its unit is fetched; when it is next, what belongs to the node of the unit.
"""

import numpy as np

from vinesim.core import node_tree
from vinesim.core.bits import ONE, ZERO, lowest
from vinesim.core.features import INDEX, SEVERAL
from vinesim.jit.intrinsics import not_negative, prefetch

FAR = 1 << 16  # units; of fewer, all lies near


def is_far(model):
    return model.unit_type.shape[0] >= FAR


def fetch_segment(model, state, slot):
    """Fetch what an end will read of its task and of its unit; the other units of the node lie around it."""
    if SEVERAL and is_far(model):
        task, unit = np.int64(state.slot[slot].task), np.int64(state.slot[slot].unit)
        prefetch(model.task_group, task)
        prefetch(model.task_held, task)
        prefetch(model.unit_node, unit)
        prefetch(model.unit_type, unit)
        prefetch(model.node_unit, unit)
        for other in range(unit - 8, unit + 9, 2):  # two units are a line of memory
            prefetch(state.unit, other)


def follow(model, state, b):
    """Fetch the slots of the bucket that is spread after this one, one with each event that is taken until then. They
    are links of a chain, of which the next is known only when one is there."""
    if SEVERAL and is_far(model):
        others = state.used[b >> 6] >> np.uint64(b & 63) >> ONE
        state.run[0].ahead = state.bucket[b + 1 + lowest(others)].head if others != ZERO else -1


def look(model, state):
    """Fetch what the end of the next event will read, and the next slot of the bucket that is spread next."""
    run = state.run[0]
    if SEVERAL and is_far(model) and run.levels != ZERO:
        w = not_negative(lowest(run.levels) << 2)
        while state.used[w] == ZERO:
            w += 1
        fetch_node(model, state, not_negative(np.int64(state.bucket[(w << 6) + lowest(state.used[w])].head)))
        if run.ahead >= 0:
            following = np.int64(state.slot[not_negative(run.ahead)].next)
            run.ahead = following
            prefetch(state.slot, following)


def fetch_node(model, state, slot):
    """Fetch what an end will read of its node, and of the index of nodes."""
    node = not_negative(model.unit_node[not_negative(np.int64(state.slot[slot].unit))])
    prefetch(model.node_begin, node * model.affinity.shape[0])
    prefetch(model.node_sole, node * model.companion_type.shape[0])
    prefetch(state.held_unit, model.task_held[state.slot[slot].task])
    if INDEX and state.node_room.shape[0] > 0:
        row = node_tree.leaf(state.node_room.shape[0], node)
        prefetch(state.node_is_stale, node)
        prefetch(state.node_room, row)
        prefetch(state.node_room, node_tree.above(row))
