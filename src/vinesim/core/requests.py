"""The least busy node with room, for policies that balance requests over nodes; and requests of applications.

In a large cluster, the number of tasks on each node is kept, once for each processor type of which the node has a unit
with room. A node that changes is noted (core/ledger.py) and counted again before the next question. The numbers are
negated, so that the least busy node has the highest one. If there are few nodes, all with room are looked at, which
costs less than noting changes.

Each task of an application's request is on its own node that holds the application's data, the least busy first. The
meaning, for the reader, is in engine/reference_trial.py. Source: Symphony paper, section IV-A5 (load balancer). No two
tasks are at one node, so whether one has room does not depend on the others: nothing is held for a trial, except where
they share the power of a rack with a cap.
"""

import numpy as np

from vinesim.core import changed_nodes, gang_members, ledger
from vinesim.core.bits import at_or_after
from vinesim.core.changed_nodes import BLOCK, set_in_row
from vinesim.core.features import CAPS, COUNTS_TASKS, called
from vinesim.core.tasks import is_allowed, is_of_gang, next_attached
from vinesim.jit.intrinsics import not_negative
from vinesim.state import queries
from vinesim.state.layout import OF_REQUEST, PENDING, UNFIT
from vinesim.state.shortcuts import is_room_local


def has_own_order(model):
    """Whether the policy orders the units itself: then no node has units side by side, none counts its tasks, and the
    first unit is the least busy one."""
    return model.node_first[-1] == 0


def after_node(model, unit):
    """The first unit of the next node."""
    return np.int64(model.node_first[model.unit_node[unit] + 1])


@called
def count_tasks(model, state, node):
    """Count the tasks on a node again."""
    node = not_negative(node)
    first, end, n_tasks = model.node_first[node], model.node_first[node + 1], queries.node_tasks(model, state, node)
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
    changed_nodes.renew_changed(model, state, seen, count_tasks)


@called
def unit_on(model, state, task, p, first_on):
    """The unit that ``first_on(model, state, task, p, low, high)`` finds among the units [low, high) of a node; of the
    nodes where it finds one, that which runs the fewest tasks, and the first of several. -1: there is none."""
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
        n = queries.node_tasks(model, state, model.unit_node[unit])
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


def is_request(model, task):
    return is_of_gang(model, task) and model.job_gang[model.task_job[task]] == OF_REQUEST


@called
def fits(model, state, task, unit):
    """Whether the rest of a request has room if its first task runs on an allowed unit of a type that can run it, where
    that one has."""
    run, p = state.run[0], np.int64(model.unit_type[unit])
    if run.refused_task == task and run.refused_type == p:
        return False
    if run.request_task == task and run.request_type == p:
        return True
    if not are_alike(model, state, task):
        return find_units(model, state, task, unit)
    # then it does not matter on which of the nodes with room the first task runs
    if has_nodes_besides(model, state, task, unit, p):
        run.request_task, run.request_type = task, p
        return True
    run.refused_task, run.refused_type, run.refused_place = task, p, -1
    return False


@called
def find_units(model, state, task, unit):
    """Note the unit of each task of the request: for the first task the given one, for each other task the first with
    room on the least busy node without any of them. Returns whether all have one."""
    p, member, own = np.int64(model.unit_type[unit]), np.int64(task), np.int64(unit)
    marked = ledger.mark(state) if CAPS else np.int64(0)
    while own >= 0:
        gang_members.set_unit(model, state, member, own)
        if CAPS:
            ledger.take(model, state, member, not_negative(own))
        state.node_members[model.unit_node[own]] = 1
        member = next_attached(model, state, member)
        if member < 0:
            break
        own = unit_on(model, state, member, p, first_on)
    end, member = member, np.int64(task)
    while member != end:
        state.node_members[model.unit_node[gang_members.unit_of(model, state, member)]] = 0
        member = next_attached(model, state, member)
    if CAPS:
        ledger.rollback(model, state, marked)
    return end < 0


def is_alike_request(model, state, task):
    return is_request(model, task) and state.task_unit[task] == PENDING and are_alike(model, state, task)


def are_alike(model, state, task):
    """Whether nodes need only be counted for a request; not where units have their own order, in which a node's
    do not lie side by side."""
    is_counted = is_room_local(model) and not has_own_order(model)
    return is_counted and gang_members.are_all_alike(model, state, task)


@called
def first_of_request(model, state, task, p):
    """The first allowed unit of type p where a request whose tasks demand the same can start; -1: none."""
    unit = first_on(model, state, task, p, np.int64(0), np.int64(model.unit_type.shape[0]))
    return unit if unit >= 0 and fits(model, state, task, unit) else np.int64(-1)


@called
def least_busy_of_request(model, state, task, p):
    """The same as ``first_of_request`` on the least busy node: the check whether there are enough nodes is made once
    for all of them."""
    unit = unit_on(model, state, task, p, first_on)
    return unit if unit >= 0 and fits(model, state, task, unit) else np.int64(-1)


@called
def first_on(model, state, task, p, low, high):
    """The first unit of type p in [low, high) that is allowed for the task and has room for it alone, on a node without
    members of its gang."""
    unit = np.int64(at_or_after(state.free, state.free_1, state.free_2, p, low))
    while unit >= 0 and unit < high:
        unit = not_negative(unit)
        if (
            state.node_members[model.unit_node[unit]] == 0
            and queries.fits_itself(model, state, task, unit)
            and is_allowed(model, state, task, unit)
        ):
            return unit
        unit = np.int64(at_or_after(state.free, state.free_1, state.free_2, p, unit + 1))
    return np.int64(-1)


@called
def has_nodes_besides(model, state, task, unit, p):
    """Whether the nodes other than the unit's have room for the tasks that are attached to this one."""
    member, low, n_units = next_attached(model, state, task), np.int64(0), np.int64(model.unit_type.shape[0])
    while member >= 0:
        other = first_on(model, state, task, p, low, n_units)
        if other < 0:
            return False
        low = after_node(model, other)
        if model.unit_node[other] != model.unit_node[unit]:
            member = next_attached(model, state, member)
    return True
