"""The queries that draw at random, answered from the indexes."""

import numpy as np

from vinesim.state import queries
from vinesim.state.bits import ZERO, count_ones, lowest
from vinesim.state.compiled_form import compiled_form_of
from vinesim.state.kernel import inlined, kernel

INTEGER_BITS = np.uint64(11)
TO_UNIT = 2.0**-53


@inlined
def word_of_types(model, state, kind, w):
    """Return one word of the set of units with room whose type can run the task type."""
    if model.runs_everywhere[kind]:
        return state.free[model.affinity.shape[0], w]
    word = ZERO
    for i in range(model.ranking.shape[1]):
        p = np.int64(model.ranking[kind, i])
        if p < 0:
            break
        word |= state.free[p, w]
    return word


@inlined
def count_in_block(model, state, kind, block):
    """Count the units with room in a block of 4096 units, of the types that can run the task type."""
    if model.runs_everywhere[kind]:
        return np.int64(state.free_count[model.affinity.shape[0], block])
    n = np.int64(0)
    for i in range(model.ranking.shape[1]):
        p = np.int64(model.ranking[kind, i])
        if p < 0:
            break
        n += state.free_count[p, block]
    return n


@kernel
def random_among_fitting(model, state, task, kind):
    """Check the units one by one, if there are no counts or if demands or gangs make room differ from task to task."""
    n = np.int64(0)
    for w in range(state.free.shape[1]):
        word = word_of_types(model, state, kind, w)
        while word != ZERO:
            n += queries.fits(model, state, task, (w << 6) + lowest(word))
            word &= word - np.uint64(1)
    if n == 0:
        return np.int64(-1)
    k = queries.random_below(state, n)
    for w in range(state.free.shape[1]):
        word = word_of_types(model, state, kind, w)
        while word != ZERO:
            unit = np.int64((w << 6) + lowest(word))
            if queries.fits(model, state, task, unit):
                if k == 0:
                    return unit
                k -= 1
            word &= word - np.uint64(1)
    return np.int64(-1)


@compiled_form_of(queries.random_free, inline=False)
def random_free(model, state, task):
    kind = queries.task_type(model, state, task)
    is_as_any = model.task_demand.shape[0] == 0 and model.job_gang.shape[0] == 0
    if not is_as_any or state.free_count.shape[1] == 0:
        return random_among_fitting(model, state, task, kind)
    return random_among_counted(model, state, kind)


@kernel
def random_among_counted(model, state, kind):
    """For whole-unit tasks that start alone: skip block by block, then word by word, to the unit that was drawn."""
    n = np.int64(0)
    for block in range(state.free_count.shape[1]):
        n += count_in_block(model, state, kind, block)
    if n == 0:
        return np.int64(-1)
    k = queries.random_below(state, n)
    block = np.int64(0)
    n = count_in_block(model, state, kind, block)
    while k >= n:
        k -= n
        block += 1
        n = count_in_block(model, state, kind, block)
    w = block << 6
    word = word_of_types(model, state, kind, w)
    n = np.int64(count_ones(word))
    while k >= n:
        k -= n
        w += 1
        word = word_of_types(model, state, kind, w)
        n = np.int64(count_ones(word))
    for _ in range(k):
        word &= word - np.uint64(1)
    return np.int64((w << 6) + lowest(word))


@compiled_form_of(queries.random_below)
def random_below(state, n):
    state.run[0].random += np.uint64(0x9E3779B97F4A7C15)
    z = state.run[0].random
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.int64(np.float64(z >> INTEGER_BITS) * TO_UNIT * n)
