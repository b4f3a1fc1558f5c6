"""Where the tasks of a request start together, each on a node of its own, the least busy first: compiled. The meaning,
for the reader, is in engine/reference_gangs.py. Source: Symphony paper, section IV-A5 (load balancer).

No two tasks are at one node, so whether one has room does not depend on the others: nothing is held for a trial.
"""

import numpy as np

from vinesim.state import queries
from vinesim.state.bits import at_or_after
from vinesim.state.compiled_form import with_gangs
from vinesim.state.gang_members import all_alike, forget_earlier_places, next_member
from vinesim.state.kernel import inlined, kernel
from vinesim.state.layout import OF_REQUEST, PENDING
from vinesim.state.least_busy import after_node, has_own_order, on_least_busy

NO_REQUEST = -2  # in place of a unit: the question is about another task


@kernel
def request_fits(model, state, task, unit):
    """Whether the rest of a request has room if its first task runs on an allowed unit of a type that can run it, where
    that one has."""
    run, p = state.run[0], np.int64(model.unit_type[unit])
    forget_earlier_places(state)
    if run.gang_refused == task and run.gang_refused_type == p:
        return False
    if run.gang_task == task and run.gang_type == p:
        return True
    if not _are_alike(model, state, task):
        return find_units(model, state, task, unit)
    # then it does not matter on which of the nodes with room the first task runs
    if _has_nodes_beside(model, state, task, unit, p):
        run.gang_task, run.gang_anchor, run.gang_type = task, -1, p
        return True
    run.gang_refused, run.gang_refused_type, run.gang_refused_place = task, p, -1
    return False


@kernel
def find_units(model, state, task, unit):
    """Note the unit of each task of the request: of the first the given one, of each other one the first with room on
    the least busy node without any of them. Returns whether all have one."""
    p, first = np.int64(model.unit_type[unit]), model.job_first[model.task_job[task]]
    member, own = np.int64(task), np.int64(unit)
    while own >= 0:
        state.gang_unit[member - first] = own
        state.node_members[model.unit_node[own]] = 1
        member = next_member(model, state, member)
        if member < 0:
            break
        own = _on_least_busy(model, state, member, p)
    end, member = member, np.int64(task)
    while member != end:
        state.node_members[model.unit_node[state.gang_unit[member - first]]] = 0
        member = next_member(model, state, member)
    return end < 0


def _is_none(model, state, task, p):
    return np.int64(NO_REQUEST)


@with_gangs(without=_is_none, inline=False)
def first_of_request(model, state, task, p):
    """Return the first allowed unit of type p where a request whose tasks demand the same can start; -1: none."""
    if not _is_alike_request(model, state, task):
        return np.int64(NO_REQUEST)
    unit = _first_anywhere(model, state, task, p, np.int64(0))
    if unit < 0 or not request_fits(model, state, task, unit) or not queries.quotas_allow(model, state, task, unit):
        return np.int64(-1)
    return unit


@with_gangs(without=_is_none, inline=False)
def least_busy_of_request(model, state, task, p):
    """Do the same on the least busy node: one look at whether there are enough is for all nodes."""
    if not _is_alike_request(model, state, task):
        return np.int64(NO_REQUEST)
    unit = _on_least_busy(model, state, task, p)
    if unit < 0 or not request_fits(model, state, task, unit) or not queries.quotas_allow(model, state, task, unit):
        return np.int64(-1)
    return unit


@inlined
def _is_alike_request(model, state, task):
    is_request = model.job_gang[model.task_job[task]] == OF_REQUEST and state.task_unit[task] == PENDING
    return is_request and _are_alike(model, state, task)


@inlined
def _are_alike(model, state, task):
    """Whether nodes need only be counted for a request; not where units have an order of their own, in which a node's
    do not lie side by side."""
    return not has_own_order(model) and all_alike(model, state, task)


@kernel
def _first_on(model, state, task, p, low, high):
    """Return the first unit of type p in [low, high) that is allowed for the task and has room for it alone, on a node
    without members of its gang."""
    unit = np.int64(at_or_after(state.free, state.free_1, state.free_2, p, low))
    while unit >= 0 and unit < high:
        if (
            state.node_members[model.unit_node[unit]] == 0
            and queries.fits_itself(model, state, task, unit)
            and queries.is_allowed(model, state, task, unit)
        ):
            return unit
        unit = np.int64(at_or_after(state.free, state.free_1, state.free_2, p, unit + 1))
    return np.int64(-1)


@inlined
def _first_anywhere(model, state, task, p, low):
    return _first_on(model, state, task, p, low, np.int64(model.unit_type.shape[0]))


@kernel
def _has_nodes_beside(model, state, task, unit, p):
    """Whether as many nodes beside that of the unit have room for the task as others are attached to it."""
    member, low = next_member(model, state, task), np.int64(0)
    while member >= 0:
        other = _first_anywhere(model, state, task, p, low)
        if other < 0:
            return False
        low = after_node(model, other)
        if model.unit_node[other] != model.unit_node[unit]:
            member = next_member(model, state, member)
    return True


@kernel
def _on_least_busy(model, state, task, p):
    """Return the first unit with room on the node without members that runs the fewest tasks."""
    return on_least_busy(model, state, task, p, _first_on)
