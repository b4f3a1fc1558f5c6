"""Whether there is room for all that a task, and its gang, would hold; and what was found of that since the policy was
called."""

import numpy as np

from vinesim.core import claims, gangs, pools, requests
from vinesim.core.called import called
from vinesim.core.features import GANGS, OVERCOMMITS, REQUESTS, WHOLE
from vinesim.core.tasks import is_allowed, is_of_gang, task_type
from vinesim.jit.intrinsics import not_negative
from vinesim.state.layout import PENDING


def fits(model, state, task, unit):
    return (
        claims.fits_itself(model, state, task, unit)
        and gang_fits(model, state, task, unit)
        and pools.quotas_allow(model, state, task, unit)
    )


def gang_fits(model, state, task, unit):
    """Whether the tasks that are attached to a task have room if it ran on a unit, where it has room itself."""
    if not GANGS or not is_of_gang(model, task) or state.task_unit[task] != PENDING:
        return True
    if model.affinity[not_negative(np.int64(state.unit[unit].type)), task_type(model, state, task)] <= 0.0:
        return False
    if REQUESTS and requests.is_request(model, task):
        return is_allowed(model, state, task, unit) and requests.fits(model, state, task, unit)
    return gangs.fits(model, state, task, unit)


@called
def fits_called(model, state, task, unit):
    return fits(model, state, task, unit)


def can_start(model, state, task, unit):
    p = not_negative(np.int64(state.unit[unit].type))
    return model.affinity[p, task_type(model, state, task)] > 0.0 and fits(model, state, task, unit)


def is_in_room(model, state, task, unit):
    """Whether a task may start on a unit as far as room goes; not looked at again where a query has just found it."""
    run = state.run[0]
    if OVERCOMMITS and run.overcommits:
        return claims.rest_fits(model, state, task, unit)
    if WHOLE:
        return state.unit[unit].tasks == 0
    return (run.found_task == task and run.found_unit == unit) or fits_called(model, state, task, unit)


def note_found(state, task, unit):
    """Note where a query has found room for a task."""
    state.run[0].found_task, state.run[0].found_unit = task, unit


def forget_found(state):
    """Forget for which task room was found or refused: the policy is called again, or loads are as before a trial."""
    if not WHOLE:
        state.run[0].found_task = -1
    if GANGS:
        state.run[0].refused_task = state.run[0].request_task = -1
