"""The tasks that are attached to a gang, and their units in the place that was found for it: compiled.

They are placed one after another, in steps: step i is the i-th task of the job in ``gang_order``.
"""

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
def at_step(model, task, step):
    """Return the task of the gang that is placed in a step."""
    place = model.job_first[model.task_job[task]] + step
    return np.int64(model.gang_order[place]) if model.gang_order.shape[0] > 0 else np.int64(place)


@inlined
def next_step(model, state, task, step):
    """Return the next step, after ``step``, of a task that is attached to the gang; -1 if there is none."""
    job = model.task_job[task]
    n, step = np.int64(model.job_first[job + 1] - model.job_first[job]), np.int64(step) + 1
    while step < n and state.task_unit[at_step(model, task, step)] != ATTACHED:
        step += 1
    return step if step < n else np.int64(-1)


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
