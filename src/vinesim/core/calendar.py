"""The calendar: which segment ends next. First in, first out among equals.

It is a monotone radix heap of slots: no event is earlier than the last one taken, so a slot waits in the bucket of the
highest byte in which the bits of its time differ from those of that event. It moves down at most 7 times, and twice in
practice; a binary heap of 100,000 events is 5 times slower. Times are float64 of 0 or more, whose bits sort as the
numbers do. What comes in the order of a list, such as arrivals and outages, needs no heap: the loop compares the heads
(core/loop.py).

Tasks of a job often end together. If no end is ever cancelled, a slot that is queued right after another one for the
same time is chained to it, and moves with it.

If tasks hold several units of a large cluster, the calendar prefetches what the loop will read soon; this changes no
result. An end is queued long before it comes. When its slot moves into one of the last buckets, the data of its task
and its unit is fetched; when it is next, the data of the unit's node.

The ends of the stretches of serving engines (core/laws/batching.py) are kept apart. Each row of ``state.engine_end_us``
is a tree in which each time is the smaller of the two below it; the leaves, one per engine, are its second half. The
first of equal times counts.
"""

import numpy as np

from vinesim.core import node_tree
from vinesim.core.bits import ONE, ZERO, bits_of, leading_zeros, lowest
from vinesim.core.features import CHAINS, INDEX, SEVERAL
from vinesim.jit.intrinsics import not_negative, prefetch


def bucket_of(key, last):
    if key == last:
        return not_negative(np.int64(key & np.uint64(255)))
    level = (np.int64(63) - np.int64(leading_zeros(key ^ last))) >> 3
    return not_negative(level * 256 + np.int64((key >> np.uint64(8 * level)) & np.uint64(255)))


def append(state, b, slot, time_us):
    """Add a slot to a bucket; returns whether it is the first one there."""
    bucket, one = state.bucket[b], state.slot[slot]
    tail = np.int64(bucket.tail)
    one.next = -1
    if not CHAINS:
        one.previous = tail
    bucket.tail = slot
    if tail < 0:
        bucket.head = slot
        bucket.least_us = time_us
        state.used[b >> 6] |= ONE << np.uint64(b & 63)
        state.run[0].levels |= ONE << np.uint64(b >> 8)
    else:
        state.slot[not_negative(tail)].next = slot
        if time_us < bucket.least_us:
            bucket.least_us = time_us
    return tail < 0


def clear(state, b):
    state.bucket[b].head = -1
    state.bucket[b].tail = -1
    state.used[b >> 6] &= ~(ONE << np.uint64(b & 63))
    w = (b >> 8) << 2
    if (state.used[w] | state.used[w + 1] | state.used[w + 2] | state.used[w + 3]) == ZERO:
        state.run[0].levels &= ~(ONE << np.uint64(b >> 8))


def first_bucket(state):
    w = not_negative(lowest(state.run[0].levels) << 2)
    while state.used[w] == ZERO:
        w += 1
    return not_negative((w << 6) + lowest(state.used[w]))


def push(state, slot, time_us):
    """Queue the end of a segment."""
    run, one, key = state.run[0], state.slot[slot], bits_of(time_us)
    if CHAINS:
        newest = run.newest  # it may have ended, and be this very slot: its time is not later than the last event then
        newest_us = state.slot[not_negative(newest)].end_us if newest >= 0 else -1.0
        run.newest = slot
        one.end_us, one.chain = time_us, -1
        if newest_us == time_us and key != run.last:
            state.slot[not_negative(newest)].chain = slot
            return
    one.end_us = time_us
    append(state, bucket_of(key, run.last), slot, time_us)


def next_us(state):
    """The time of the earliest event, infinite if there is none."""
    run = state.run[0]
    if CHAINS and run.chained >= 0:
        return state.slot[not_negative(run.chained)].end_us
    if run.levels == ZERO:
        return np.inf
    return state.bucket[first_bucket(state)].least_us


def spread(model, state, b):
    """Move the slots of a bucket to lower ones, in their order."""
    slot, last = np.int64(state.bucket[b].head), bits_of(state.bucket[b].least_us)
    state.run[0].last = last
    clear(state, b)
    while slot >= 0:
        slot = not_negative(slot)
        following, time_us = np.int64(state.slot[slot].next), state.slot[slot].end_us
        if append(state, bucket_of(bits_of(time_us), last), slot, time_us):
            fetch_segment(model, state, slot)  # the others are spread once more
        slot = following
    fetch_bucket(model, state, b)


def pop(model, state):
    """Take the slot whose segment ends first; there must be one."""
    run = state.run[0]
    if CHAINS and run.chained >= 0:
        slot = not_negative(run.chained)
        run.chained = np.int64(state.slot[slot].chain)
        return slot
    b = first_bucket(state)
    if b >= 256 and state.bucket[b].head != state.bucket[b].tail:
        spread(model, state, b)
        b = first_bucket(state)
    slot = not_negative(np.int64(state.bucket[b].head))
    one = state.slot[slot]
    run.last = bits_of(one.end_us)
    following = np.int64(one.next)
    if following < 0:
        clear(state, b)
    else:
        state.bucket[b].head = following
        if not CHAINS:
            state.slot[not_negative(following)].previous = -1
    if CHAINS:
        run.chained = np.int64(one.chain)
    fetch_next(model, state)
    return slot


def cancel(state, slot):
    """Take the end of a segment out, wherever it is."""
    one = state.slot[slot]
    time_us, before, after = one.end_us, np.int64(one.previous), np.int64(one.next)
    b = bucket_of(bits_of(time_us), state.run[0].last)
    if before < 0 and after < 0:
        clear(state, b)
        return
    if before < 0:
        state.bucket[b].head = after
    else:
        state.slot[before].next = after
    if after < 0:
        state.bucket[b].tail = before
    else:
        state.slot[after].previous = before
    if time_us == state.bucket[b].least_us:
        least_us, other = np.inf, np.int64(state.bucket[b].head)
        while other >= 0:
            least_us = min(least_us, state.slot[other].end_us)
            other = np.int64(state.slot[other].next)
        state.bucket[b].least_us = least_us


FAR = 1 << 16  # units; of fewer, all lies near


def is_far(model):
    return model.unit_type.shape[0] >= FAR


def fetch_segment(model, state, slot):
    """Fetch what an end will read of its task and of its unit; the other units of the node are next to the unit in
    memory."""
    if SEVERAL and is_far(model):
        task, unit = np.int64(state.slot[slot].task), np.int64(state.slot[slot].unit)
        prefetch(model.task_group, task)
        prefetch(model.task_held, task)
        prefetch(model.unit_node, unit)
        prefetch(model.unit_type, unit)
        prefetch(model.node_unit, unit)
        for other in range(unit - 8, unit + 9, 2):  # two units are a line of memory
            prefetch(state.unit, other)


def fetch_bucket(model, state, b):
    """Fetch one slot of the bucket that is spread after this one; each event until then fetches one more. The slots are
    links of a chain: the next one is known only once a link has been read."""
    if SEVERAL and is_far(model):
        others = state.used[b >> 6] >> np.uint64(b & 63) >> ONE
        state.run[0].ahead = state.bucket[b + 1 + lowest(others)].head if others != ZERO else -1


def fetch_next(model, state):
    """Fetch what the end of the next event will read, and the next slot of the bucket that is spread next."""
    run = state.run[0]
    if SEVERAL and is_far(model) and run.levels != ZERO:
        fetch_node(model, state, not_negative(np.int64(state.bucket[first_bucket(state)].head)))
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


OTHERS, DONE = range(2)  # rows: DONE has the stretches at whose end a request is done, OTHERS the others


def set_engine_end(state, row, e, time_us):
    """Set a time of a row."""
    times_us = state.engine_end_us
    at = not_negative((times_us.shape[1] >> 1) + e)
    times_us[row, at] = time_us
    while at > 1:
        at = not_negative(at >> 1)
        least_us = min(times_us[row, 2 * at], times_us[row, 2 * at + 1])
        if times_us[row, at] == least_us:
            return
        times_us[row, at] = least_us


def next_engine_end_us(state, row):
    """The least time of a row."""
    return state.engine_end_us[row, 1]


def first_engine_to_end(state, row):
    """The engine with the least time of a row."""
    times_us = state.engine_end_us
    n, at = times_us.shape[1] >> 1, np.int64(1)
    while at < n:
        at = not_negative(2 * at)
        if times_us[row, at] != times_us[row, at >> 1]:
            at = not_negative(at + 1)
    return not_negative(at - n)
