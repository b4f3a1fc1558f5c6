"""Queries of policies for requests, answered from the indexes: the least busy unit, and whether there is any."""

import numpy as np

from vinesim.state import queries
from vinesim.state.compiled_form import compiled_form_of
from vinesim.state.indexed_room import first_in_range
from vinesim.state.kernel import kernel
from vinesim.state.least_busy import on_least_busy
from vinesim.state.request_gangs import NO_REQUEST, first_of_request, least_busy_of_request


@kernel
def _first_allowed(model, state, task, p, low, high):
    """Return the first unit of type p in [low, high) that is allowed for the task and has room for it; -1: none."""
    unit = first_in_range(model, state, task, p, low, high)
    while unit >= 0 and not queries.is_allowed(model, state, task, unit):
        unit = first_in_range(model, state, task, p, unit + 1, high)
    return unit


@compiled_form_of(queries.least_busy, inline=False)
def least_busy(model, state, task, processor_type):
    if model.affinity[processor_type, queries.task_type(model, state, task)] <= 0.0:
        return np.int64(-1)
    of_request = least_busy_of_request(model, state, task, processor_type)
    if of_request != NO_REQUEST:
        return of_request
    return on_least_busy(model, state, task, np.int64(processor_type), _first_allowed)


@compiled_form_of(queries.is_available, inline=False)
def is_available(model, state, task, processor_type):
    if model.affinity[processor_type, queries.task_type(model, state, task)] <= 0.0:
        return False
    of_request = first_of_request(model, state, task, processor_type)
    if of_request != NO_REQUEST:
        return of_request >= 0
    n_units = np.int64(model.unit_type.shape[0])
    return _first_allowed(model, state, task, processor_type, np.int64(0), n_units) >= 0
