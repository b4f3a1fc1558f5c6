"""When the stretches of serving engines end (core/laws/batching.py): the least of these times, the first of equal ones.

Each row of ``state.engine_end_us`` is a tree, in which each time is the less of the two below it. The leaves, one for
each engine, are its second half.
"""

import numpy as np

from vinesim.jit.intrinsics import not_negative

OTHERS, DONE = range(2)  # rows: DONE has the stretches at whose end a request is done, OTHERS the others


def set_end(state, row, e, time_us):
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


def next_end_us(state, row):
    """The least time of a row."""
    return state.engine_end_us[row, 1]


def first_to_end(state, row):
    """The engine with the least time of a row."""
    times_us = state.engine_end_us
    n, at = times_us.shape[1] >> 1, np.int64(1)
    while at < n:
        at = not_negative(2 * at)
        if times_us[row, at] != times_us[row, at >> 1]:
            at = not_negative(at + 1)
    return not_negative(at - n)
