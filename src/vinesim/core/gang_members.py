"""The tasks of a gang that start together: their units in the place that was found last, which of them are alike, and
where one of them has room."""

import numpy as np

from vinesim.core import ledger, node_index
from vinesim.core.bits import at_or_after
from vinesim.core.features import INDEX, SLOTS, called
from vinesim.core.tasks import next_attached, task_type
from vinesim.jit.intrinsics import not_negative
from vinesim.state import queries


def unit_of(model, state, member):
    """The unit of a member in the place that was found last."""
    return np.int64(state.gang_unit[member - model.job_first[model.task_job[member]]])


def set_unit(model, state, member, unit):
    state.gang_unit[member - model.job_first[model.task_job[member]]] = unit


@called
def are_alike(model, state, one, other):
    """Whether two tasks demand the same."""
    if task_type(model, state, one) != task_type(model, state, other):
        return False
    if not SLOTS or model.task_demand.shape[0] == 0:
        return True
    a, b = model.task_demand[one], model.task_demand[other]
    return a == b or (np.isnan(a) and np.isnan(b))


@called
def are_all_alike(model, state, task):
    member = next_attached(model, state, task)
    while member >= 0:
        if not are_alike(model, state, task, member):
            return False
        member = next_attached(model, state, member)
    return True


@called
def unit_at(model, state, member, p, node):
    """The first unit at a node where a member has room: of type p, or if it cannot run there of the fastest type that
    has one; -1 if there is none."""
    task_class = task_type(model, state, member)
    for i in range(model.ranking.shape[1]):
        q = p if model.affinity[p, task_class] > 0.0 else np.int64(model.ranking[task_class, i])
        if q < 0:
            break
        place = ledger.place_of(model, node, q)
        for j in range(model.node_begin[place], model.node_begin[place + 1]):
            unit = not_negative(np.int64(model.node_unit[j]))
            if queries.fits_itself(model, state, member, unit):
                return unit
        if q == p:
            break
    return np.int64(-1)


@called
def hold(model, state, member, unit):
    set_unit(model, state, member, unit)
    ledger.take(model, state, member, not_negative(unit))


@called
def next_open(model, state, task, p, node, end):
    """The first of the nodes [node, end) that may have room for a task on type p; -1 if there is none."""
    task_class = task_type(model, state, task)
    if node >= end:
        return np.int64(-1)
    if model.affinity[p, task_class] <= 0.0:
        return node
    if INDEX and state.node_room.shape[0] > 0:
        lead = np.int64(model.class_lead[task_class, p])
        return node_index.next_node(model, state, task_class, lead, node, end) if lead >= 0 else np.int64(-1)
    if model.node_first[end] == 0:  # the policy orders the units itself
        return node
    unit = np.int64(at_or_after(state.free, state.free_1, state.free_2, p, np.int64(model.node_first[node])))
    return np.int64(model.unit_node[unit]) if 0 <= unit < model.node_first[end] else np.int64(-1)
