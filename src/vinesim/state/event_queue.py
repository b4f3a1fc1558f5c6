"""The event queue: finish times of running tasks, earliest first, first in first out among equals.

It is a monotone radix heap: no event is earlier than the last one taken, so an event waits in the bucket of the highest
byte in which its time differs from that one. An event moves down at most 7 times, in practice twice, however many wait;
a binary heap of 100,000 events is 5 times slower. Times are float64 of 0 or more, whose bits sort as the numbers do.

The tasks of a job often start and finish together. A task that is queued right after the previous one in the trace, for
the same time, is attached to it instead of being put into a bucket. That made the event loop 1.4 times faster.
"""

import numpy as np

from vinesim.state.ahead import FAR, fetch_node, fetch_task
from vinesim.state.bits import ONE, ZERO, bits_of, leading_zeros, lowest
from vinesim.state.compiled_form import with_several_units
from vinesim.state.kernel import fetch, inlined, not_negative

N_LEVELS, N_BUCKETS = 8, 256
FOLLOWS = -2  # as queue_next: attached to the previous task in the trace


@inlined
def _bucket(key, last):
    if key == last:
        return np.int64(key & np.uint64(255))
    level = (np.int64(63) - np.int64(leading_zeros(key ^ last))) >> 3
    return level * N_BUCKETS + np.int64((key >> np.uint64(8 * level)) & np.uint64(255))


@inlined
def _append(state, b, task, time_us):
    """Add an event to a bucket; returns whether it is the first one there."""
    tail = state.queue_tail[b]
    state.queue_next[task] = -1
    if state.queue_previous.shape[0] > 0:
        state.queue_previous[task] = tail
    state.queue_tail[b] = task
    if tail < 0:
        state.queue_head[b] = task
        state.queue_min_us[b] = time_us
        state.queue_used[b >> 6] |= ONE << np.uint64(b & 63)
        state.run[0].queue_levels |= ONE << np.uint64(b >> 8)
    else:
        state.queue_next[tail] = task
        if time_us < state.queue_min_us[b]:
            state.queue_min_us[b] = time_us
    return tail < 0


@inlined
def _empty(state, b):
    state.queue_head[b] = -1
    state.queue_tail[b] = -1
    state.queue_used[b >> 6] &= ~(ONE << np.uint64(b & 63))
    w = (b >> 8) << 2
    if (state.queue_used[w] | state.queue_used[w + 1] | state.queue_used[w + 2] | state.queue_used[w + 3]) == ZERO:
        state.run[0].queue_levels &= ~(ONE << np.uint64(b >> 8))


@inlined
def _first_bucket(state):
    w = not_negative(lowest(state.run[0].queue_levels) << 2)
    while state.queue_used[w] == ZERO:
        w += 1
    return not_negative((w << 6) + lowest(state.queue_used[w]))


@inlined
def push(state, task):
    """Queue the finish of a task at state.task_finish_us[task]."""
    run = state.run[0]
    time_us, newest = state.task_finish_us[task], run.queue_newest
    run.queue_newest = task
    if newest >= 0 and newest == task - 1 and time_us == state.task_finish_us[newest]:
        is_waiting = bits_of(time_us) != run.queue_last  # a finish later than the last event taken is still queued
        if is_waiting and state.queue_previous.shape[0] == 0:  # events are never cancelled
            state.queue_next[task] = FOLLOWS
            return
    _append(state, _bucket(bits_of(time_us), run.queue_last), task, time_us)


@inlined
def _take(state, task):
    """Remove the task from the queue; the task attached to it is next."""
    following = task + 1
    goes_along = following < state.queue_next.shape[0] and state.queue_next[following] == FOLLOWS
    state.run[0].queue_now = following if goes_along else -1
    return task


@inlined
def next_us(state):
    """Return the time of the earliest event, infinite if there is none."""
    run = state.run[0]
    if run.queue_now >= 0:
        return state.task_finish_us[run.queue_now]
    if run.queue_levels == ZERO:
        return np.inf
    return state.queue_min_us[_first_bucket(state)]


def _aims_at_nothing(model, state, b):
    pass


@with_several_units(without=_aims_at_nothing)
def _aim(model, state, b):
    """Let the events of the bucket that is spread after this one be fetched, one with each event that is taken until
    then. They are links of a chain, of which the next is known only when one is there."""
    others = state.queue_used[b >> 6] >> np.uint64(b & 63) >> ONE
    state.run[0].queue_ahead = state.queue_head[b + 1 + lowest(others)] if others != ZERO else -1


def _looks_at_nothing(model, state):
    pass


@with_several_units(without=_looks_at_nothing)
def _look_ahead(model, state):
    """Fetch what the end of the next event will read, and the next event of the bucket that is spread next."""
    run = state.run[0]
    if model.unit_type.shape[0] < FAR or run.queue_levels == ZERO:
        return
    fetch_node(model, state, not_negative(state.queue_head[_first_bucket(state)]))
    if run.queue_ahead >= 0:
        following = np.int64(state.queue_next[not_negative(run.queue_ahead)])
        run.queue_ahead = following
        fetch(state.queue_next, following)
        fetch(state.task_finish_us, following)
        fetch(state.task_unit, following)


@inlined
def _spread(model, state, b):
    """Move the events of a bucket to lower ones, in their order."""
    task = np.int64(state.queue_head[b])
    last = bits_of(state.queue_min_us[b])
    state.run[0].queue_last = last
    _empty(state, b)
    while task >= 0:
        following = np.int64(state.queue_next[task])
        time_us = state.task_finish_us[task]
        if _append(state, _bucket(bits_of(time_us), last), task, time_us):
            fetch_task(model, state, task)  # the others are spread once more
        task = following
    _aim(model, state, b)


@inlined
def pop(model, state):
    """Take the earliest event; the queue must not be empty. Returns its task."""
    task = state.run[0].queue_now
    if task >= 0:
        state.queue_next[task] = -1
        return _take(state, task)
    b = _first_bucket(state)
    if b >= N_BUCKETS and state.queue_head[b] != state.queue_tail[b]:
        _spread(model, state, b)
        b = _first_bucket(state)
    task = not_negative(state.queue_head[b])
    following = state.queue_next[task]
    state.run[0].queue_last = bits_of(state.task_finish_us[task])
    if following < 0:
        _empty(state, b)
    else:
        state.queue_head[b] = following
        if state.queue_previous.shape[0] > 0:
            state.queue_previous[following] = -1
    _look_ahead(model, state)
    return _take(state, task)


@inlined
def cancel(state, task):
    """Remove the event of a task from the queue, wherever it is."""
    time_us = state.task_finish_us[task]
    b = _bucket(bits_of(time_us), state.run[0].queue_last)
    before, after = state.queue_previous[task], state.queue_next[task]
    if before < 0 and after < 0:
        _empty(state, b)
        return
    if before < 0:
        state.queue_head[b] = after
    else:
        state.queue_next[before] = after
    if after < 0:
        state.queue_tail[b] = before
    else:
        state.queue_previous[after] = before
    if time_us == state.queue_min_us[b]:
        least = np.inf
        t = np.int64(state.queue_head[b])
        while t >= 0:
            least = min(least, state.task_finish_us[t])
            t = np.int64(state.queue_next[t])
        state.queue_min_us[b] = least
