"""Queries about nodes: their units, what they run, their scores; those that draw a node or a unit at random, and
those that look for the least busy one.

Scores are kept until a node changes.
"""

import numpy as np

from vinesim.core import changed_nodes, requests, rooms
from vinesim.core.bits import ZERO, count_ones, lowest
from vinesim.core.changed_nodes import BLOCK, are_listed, node_of_change, renew_row, set_in_row
from vinesim.core.features import COUNTS_FREE, OFFERS, REQUESTS, called
from vinesim.core.rooms import fits_called
from vinesim.core.tasks import is_allowed, task_type
from vinesim.jit.intrinsics import not_negative, number_of
from vinesim.state import queries
from vinesim.state.layout import UNFIT
from vinesim.state.shortcuts import is_room_alike, is_start_local

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


def node_tasks_of(model, state, node, task_type):
    return np.int64(state.node_class_tasks[node, task_type])


called(queries.first_free_at)
called(queries.tightest_free_at)


# Scores: the highest of each 64 is kept, and of each 64 of those


def can_start_at(model, state, task, node):
    """Whether a task can start on any unit of a node."""
    if OFFERS and state.node_offers.shape[0] > 0:
        return changed_nodes.has_offer_for(model, state, task, node)
    return queries.first_free_at(model, state, task, node) >= 0


@called
def score_of(model, state, view, task, node, score):
    if not can_start_at(model, state, task, node):
        return np.int64(UNFIT)
    return np.int64(queries.bounded(score(model, state, task, node, view)))


@called
def renew_scores(model, state, view, task, task_class, score):
    """Score the nodes that have changed since tasks of the type last asked for this score; all, where their demands
    differ, or with quotas, power caps or reservations."""
    is_alike = is_start_local(model) and (model.class_units.shape[0] > 0 or model.task_demand.shape[0] == 0)
    run, seen, number = state.run[0], np.int64(-1), number_of(score)
    scores, scores_1, scores_2 = state.node_score, state.node_score_1, state.node_score_2
    if is_alike and state.class_score[task_class] == number:
        seen = state.class_seen[task_class]
    changed_nodes.see(model, state)
    state.class_score[task_class], state.class_seen[task_class] = number, run.n_changes
    if are_listed(state, seen):
        for change in range(seen + 1, run.n_changes + 1):
            node = node_of_change(state, change)
            if node >= 0:
                found = score_of(model, state, view, task, node, score)
                set_in_row(scores, scores_1, scores_2, task_class, node, found)
        return
    for node in range(model.node_rack.shape[0]):
        if state.node_change[node] > seen:
            scores[task_class, node] = score_of(model, state, view, task, np.int64(node), score)
    renew_row(scores, scores_1, scores_2, task_class)


def first_of(scores, task_class, begin, highest):
    """The first place, from ``begin`` on, of a score that is there."""
    while scores[task_class, begin] != highest:
        begin += 1
    return np.int64(begin)


@called
def best_node(model, state, view, task, score):
    task_class = task_type(model, state, task)
    renew_scores(model, state, view, task, task_class, score)
    best, highest = np.int64(-1), np.int32(UNFIT)
    for i in range(state.node_score_2.shape[1]):
        if state.node_score_2[task_class, i] > highest:
            best, highest = np.int64(i), state.node_score_2[task_class, i]
    if best >= 0:
        best = first_of(state.node_score_1, task_class, best << 6, highest)
        best = first_of(state.node_score, task_class, best << 6, highest)
    return best


@called
def no_score(model, state, task, node, view):
    return np.int64(0)


@called
def random_node(model, state, view, task):
    task_class = task_type(model, state, task)
    renew_scores(model, state, view, task, task_class, no_score)
    n_nodes = np.int64(model.node_rack.shape[0])
    n = count_fit(state, task_class, np.int64(0), n_nodes)
    if n == 0:
        return np.int64(-1)
    k = random_below(state, n)
    node, n = np.int64(0), count_fit(state, task_class, np.int64(0), min(n_nodes, BLOCK))
    while k >= n:
        k, node = k - n, node + BLOCK
        n = count_fit(state, task_class, node, min(n_nodes - node, BLOCK))
    while k > 0 or state.node_score[task_class, not_negative(node)] == UNFIT:
        k -= state.node_score[task_class, not_negative(node)] != UNFIT
        node += 1
    return node


def count_fit(state, task_class, begin, n_nodes):
    """Count the nodes, of n_nodes from ``begin`` on, on which tasks of a type can start."""
    n, begin = np.int32(0), not_negative(begin)
    for i in range(n_nodes):
        n += np.int32(state.node_score[task_class, not_negative(begin + i)] != UNFIT)
    return np.int64(n)


# The least busy unit, for policies that balance requests over nodes


@called
def first_allowed(model, state, task, p, low, high):
    """The first unit of type p in [low, high) that is allowed for the task and has room for it; -1: none."""
    unit = rooms.first_in_range(model, state, task, p, low, high)
    while unit >= 0 and not is_allowed(model, state, task, unit):
        unit = rooms.first_in_range(model, state, task, p, unit + 1, high)
    return unit


@called
def least_busy(model, state, task, processor_type):
    p = np.int64(processor_type)
    if model.affinity[p, task_type(model, state, task)] <= 0.0:
        return np.int64(-1)
    if REQUESTS and requests.is_alike_request(model, state, task):
        return requests.least_busy_of_request(model, state, task, p)
    return requests.unit_on(model, state, task, p, first_allowed)


@called
def is_available(model, state, task, processor_type):
    p = np.int64(processor_type)
    if model.affinity[p, task_type(model, state, task)] <= 0.0:
        return False
    if REQUESTS and requests.is_alike_request(model, state, task):
        return requests.first_of_request(model, state, task, p) >= 0
    return first_allowed(model, state, task, p, np.int64(0), np.int64(model.unit_type.shape[0])) >= 0
