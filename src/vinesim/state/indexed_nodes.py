"""Queries about nodes, answered from the indexes: what they run, and their scores."""

from zlib import crc32

import numpy as np
from numba.core import types
from numba.extending import intrinsic

from vinesim.state import queries
from vinesim.state.bits import contains
from vinesim.state.compiled_form import compiled_form_of
from vinesim.state.highest_of_blocks import BLOCK, renew_row, set_in_row
from vinesim.state.indexed_tasks import group_of
from vinesim.state.kernel import inlined, kernel, not_negative
from vinesim.state.layout import UNFIT
from vinesim.state.node_offers import can_start_at, see_changes


@compiled_form_of(queries.is_allowed)
def is_allowed(model, state, task, unit):
    a = model.group_application[group_of(model, task)]
    if a < 0 or a >= model.application_max_consolidated.shape[0]:
        return True
    return contains(model.application_units, a, unit)


@compiled_form_of(queries.unit_tasks)
def unit_tasks(model, state, unit):
    return np.int64(state.unit_tasks[unit])


@compiled_form_of(queries.node_tasks)
def node_tasks(model, state, node):
    n = np.int64(0)
    for unit in range(model.node_first[node], model.node_first[node + 1]):
        n += state.unit_tasks[unit]
    return n


@kernel
def _score_of(model, state, view, task, node, score):
    """Return the score of a node for a task."""
    if not can_start_at(model, state, task, node):
        return np.int64(UNFIT)
    return np.int64(queries.bounded(score(model, state, task, node, view)))


@intrinsic
def _number_of(typing_context, score):
    """A number for a function, the same in all processes: nodes keep the scores of one."""
    function = score.dispatcher.py_func
    name = f"{function.__module__}.{function.__qualname__}:{function.__code__.co_firstlineno}"

    def codegen(context, builder, signature, args):
        return context.get_constant(types.int64, crc32(name.encode()))

    return types.int64(score), codegen


@kernel
def renew_scores(model, state, view, task, kind, score):
    """Score the nodes that have changed since tasks of the type last asked for this score; all, where their demands
    differ, or with quotas."""
    is_alike = (model.kind_units.shape[0] > 0 or model.task_demand.shape[0] == 0) and model.quota_limit.shape[0] == 0
    run, n_kept = state.run[0], state.changed_node.shape[0]
    seen, number = np.int64(-1), _number_of(score)
    scores, scores_1, scores_2 = state.node_score, state.node_score_1, state.node_score_2
    if is_alike and state.kind_score[kind] == number:
        seen = state.kind_seen[kind]
    see_changes(model, state)
    state.kind_score[kind], state.kind_seen[kind] = number, run.n_changes
    if seen >= 0 and run.n_changes - seen <= n_kept:
        for change in range(seen + 1, run.n_changes + 1):
            node = np.int64(state.changed_node[change & (n_kept - 1)])
            if state.node_change[node] == change:  # else it has changed again
                set_in_row(scores, scores_1, scores_2, kind, node, _score_of(model, state, view, task, node, score))
        return
    for node in range(model.node_rack.shape[0]):
        if state.node_change[node] > seen:
            scores[kind, node] = _score_of(model, state, view, task, np.int64(node), score)
    renew_row(scores, scores_1, scores_2, kind)


@inlined
def _first_of(scores, kind, begin, highest):
    """Return the first place, from ``begin`` on, of a score that is there."""
    while scores[kind, begin] != highest:
        begin += 1
    return np.int64(begin)


@compiled_form_of(queries.best_node, inline=False)
def best_node(model, state, view, task, score):
    kind = queries.task_type(model, state, task)
    renew_scores(model, state, view, task, kind, score)
    best, highest = np.int64(-1), np.int32(UNFIT)
    for i in range(state.node_score_2.shape[1]):
        if state.node_score_2[kind, i] > highest:
            best, highest = np.int64(i), state.node_score_2[kind, i]
    if best >= 0:
        best = _first_of(state.node_score_1, kind, best << 6, highest)
        best = _first_of(state.node_score, kind, best << 6, highest)
    return best


@kernel
def _no_score(model, state, task, node, view):
    return np.int64(0)


@compiled_form_of(queries.random_node, inline=False)
def random_node(model, state, view, task):
    kind = queries.task_type(model, state, task)
    renew_scores(model, state, view, task, kind, _no_score)
    n_nodes = np.int64(model.node_rack.shape[0])
    n = _count_fit(state, kind, np.int64(0), n_nodes)
    if n == 0:
        return np.int64(-1)
    k = queries.random_below(state, n)
    node, n = np.int64(0), _count_fit(state, kind, np.int64(0), min(n_nodes, BLOCK))
    while k >= n:
        k, node = k - n, node + BLOCK
        n = _count_fit(state, kind, node, min(n_nodes - node, BLOCK))
    while k > 0 or state.node_score[kind, not_negative(node)] == UNFIT:
        k -= state.node_score[kind, not_negative(node)] != UNFIT
        node += 1
    return node


@inlined
def _count_fit(state, kind, begin, n_nodes):
    """Count the nodes, of n_nodes from ``begin`` on, on which tasks of a type can start."""
    n, begin = np.int32(0), not_negative(begin)
    for i in range(n_nodes):
        n += np.int32(state.node_score[kind, not_negative(begin + i)] != UNFIT)
    return np.int64(n)


@compiled_form_of(queries.node_tasks_of)
def node_tasks_of(model, state, node, task_type):
    return np.int64(state.node_kinds[node, task_type])
