"""Queries that draw at random: one of the units on which a task can start."""

import numpy as np

from vinesim.core.bits import ZERO, count_ones, lowest
from vinesim.core.called import called
from vinesim.core.features import COUNTS_FREE
from vinesim.core.rooms import fits_called
from vinesim.core.tasks import task_type
from vinesim.state.shortcuts import is_room_alike

INTEGER_BITS = np.uint64(11)
TO_UNIT = 2.0**-53


def random_below(state, n):
    """SplitMix64; one draw a call."""
    state.run[0].random += np.uint64(0x9E3779B97F4A7C15)
    z = state.run[0].random
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.int64(np.float64(z >> INTEGER_BITS) * TO_UNIT * n)


@called
def random_free(model, state, task):
    task_class = task_type(model, state, task)
    if COUNTS_FREE and is_room_alike(model):
        return random_among_counted(model, state, task_class)
    return random_among_fitting(model, state, task, task_class)


def word_of_types(model, state, task_class, w):
    """One word of the set of units with room whose type can run the task type."""
    if model.runs_everywhere[task_class]:
        return state.free[model.affinity.shape[0], w]
    word = ZERO
    for i in range(model.ranking.shape[1]):
        p = np.int64(model.ranking[task_class, i])
        if p < 0:
            break
        word |= state.free[p, w]
    return word


def count_in_block(model, state, task_class, block):
    """Count the units with room in a block of 4096 units, of the types that can run the task type."""
    if model.runs_everywhere[task_class]:
        return np.int64(state.free_count[model.affinity.shape[0], block])
    n = np.int64(0)
    for i in range(model.ranking.shape[1]):
        p = np.int64(model.ranking[task_class, i])
        if p < 0:
            break
        n += state.free_count[p, block]
    return n


@called
def random_among_fitting(model, state, task, task_class):
    """Check the units one by one, where room differs from task to task."""
    n = np.int64(0)
    for w in range(state.free.shape[1]):
        word = word_of_types(model, state, task_class, w)
        while word != ZERO:
            n += fits_called(model, state, task, np.int64((w << 6) + lowest(word)))
            word &= word - np.uint64(1)
    if n == 0:
        return np.int64(-1)
    k = random_below(state, n)
    for w in range(state.free.shape[1]):
        word = word_of_types(model, state, task_class, w)
        while word != ZERO:
            unit = np.int64((w << 6) + lowest(word))
            if fits_called(model, state, task, unit):
                if k == 0:
                    return unit
                k -= 1
            word &= word - np.uint64(1)
    return np.int64(-1)


@called
def random_among_counted(model, state, task_class):
    """For whole-unit tasks: skip block by block, then word by word, to the unit that was drawn."""
    n = np.int64(0)
    for block in range(state.free_count.shape[1]):
        n += count_in_block(model, state, task_class, block)
    if n == 0:
        return np.int64(-1)
    k = random_below(state, n)
    block = np.int64(0)
    n = count_in_block(model, state, task_class, block)
    while k >= n:
        k -= n
        block += 1
        n = count_in_block(model, state, task_class, block)
    w = block << 6
    word = word_of_types(model, state, task_class, w)
    n = np.int64(count_ones(word))
    while k >= n:
        k -= n
        w += 1
        word = word_of_types(model, state, task_class, w)
        n = np.int64(count_ones(word))
    for _ in range(k):
        word &= word - np.uint64(1)
    return np.int64((w << 6) + lowest(word))
