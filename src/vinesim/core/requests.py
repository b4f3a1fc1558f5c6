"""Requests of applications: each task on its own node that holds the application's data, the least busy first. The
meaning, for the reader, is in engine/reference_trial.py. Source: Symphony paper, section IV-A5 (load balancer).

No two tasks are at one node, so whether one has room does not depend on the others: nothing is held for a trial, except
where they share the power of a rack with a cap.
"""

import numpy as np

from vinesim.core import claims, gang_members, least_busy, ledger
from vinesim.core.bits import at_or_after
from vinesim.core.called import called
from vinesim.core.features import CAPS
from vinesim.core.tasks import is_allowed, is_of_gang, next_attached
from vinesim.jit.intrinsics import not_negative
from vinesim.state.layout import OF_REQUEST, PENDING
from vinesim.state.shortcuts import is_room_local


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
    """Note the unit of each task of the request: of the first the given one, of each other one the first with room on
    the least busy node without any of them. Returns whether all have one."""
    p, member, own = np.int64(model.unit_type[unit]), np.int64(task), np.int64(unit)
    marked = ledger.mark(state) if CAPS else np.int64(0)
    while own >= 0:
        gang_members.set_unit(model, state, member, own)
        if CAPS:
            claims.take(model, state, member, not_negative(own))
        state.node_members[model.unit_node[own]] = 1
        member = next_attached(model, state, member)
        if member < 0:
            break
        own = least_busy.unit_on(model, state, member, p, first_on)
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
    is_counted = is_room_local(model) and not least_busy.has_own_order(model)
    return is_counted and gang_members.are_all_alike(model, state, task)


@called
def first_of_request(model, state, task, p):
    """The first allowed unit of type p where a request whose tasks demand the same can start; -1: none."""
    unit = first_on(model, state, task, p, np.int64(0), np.int64(model.unit_type.shape[0]))
    return unit if unit >= 0 and fits(model, state, task, unit) else np.int64(-1)


@called
def least_busy_of_request(model, state, task, p):
    """The same on the least busy node: one look at whether there are enough is for all nodes."""
    unit = least_busy.unit_on(model, state, task, p, first_on)
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
            and claims.fits_itself(model, state, task, unit)
            and is_allowed(model, state, task, unit)
        ):
            return unit
        unit = np.int64(at_or_after(state.free, state.free_1, state.free_2, p, unit + 1))
    return np.int64(-1)


@called
def has_nodes_besides(model, state, task, unit, p):
    """Whether the nodes other than that of the unit have room for the tasks that are attached to this one."""
    member, low, n_units = next_attached(model, state, task), np.int64(0), np.int64(model.unit_type.shape[0])
    while member >= 0:
        other = first_on(model, state, task, p, low, n_units)
        if other < 0:
            return False
        low = least_busy.after_node(model, other)
        if model.unit_node[other] != model.unit_node[unit]:
            member = next_attached(model, state, member)
    return True
