"""The tasks that are attached to a gang, and their units in the place that was found for it: compiled."""

import numpy as np

from vinesim.state import queries
from vinesim.state.compiled_form import with_gangs
from vinesim.state.kernel import inlined, kernel
from vinesim.state.layout import ATTACHED


@inlined
def next_member(model, state, task):
    """Return the next task that is attached to the gang, after ``task``; -1 if there is none."""
    end = model.job_first[model.task_job[task] + 1]
    other = np.int64(task) + 1
    while other < end and state.task_unit[other] != ATTACHED:
        other += 1
    return other if other < end else np.int64(-1)


@inlined
def unit_of_member(model, state, member):
    """Return the unit of a member in the place that was found last."""
    return np.int64(state.gang_unit[member - model.job_first[model.task_job[member]]])


@kernel
def are_alike(model, state, one, other):
    """Whether two tasks demand the same."""
    if queries.task_type(model, state, one) != queries.task_type(model, state, other):
        return False
    if model.task_demand.shape[0] == 0:
        return True
    a, b = model.task_demand[one], model.task_demand[other]
    return a == b or (np.isnan(a) and np.isnan(b))


@kernel
def all_alike(model, state, task):
    member = next_member(model, state, task)
    while member >= 0:
        if not are_alike(model, state, task, member):
            return False
        member = next_member(model, state, member)
    return True


def _notes_nothing(model, state):
    pass


@with_gangs(without=_notes_nothing)
def forget_places(model, state):
    """Forget the places that were found: what tasks hold has changed."""
    state.run[0].gang_task, state.run[0].gang_refused = -1, -1


@inlined
def forget_earlier_places(state):
    """Forget those that were found at an earlier event."""
    run = state.run[0]
    if run.gang_event != run.n_events:
        run.gang_task, run.gang_refused, run.gang_event = -1, -1, run.n_events
