"""The compiled bodies of what policies may ask: of the queries of the public contract and of ``state/places.py``.

A query that is not here has the body that says what it means, in ``state/queries.py``; those that it calls are answered
by the bodies here.
"""

from types import FunctionType
from typing import Any

import numpy as np

from vinesim.core import claims, laws, nodes, pending, pools, requests, rooms, segments, tasks, trial
from vinesim.core.called import called
from vinesim.core.features import REQUESTS
from vinesim.core.laws import batching
from vinesim.core.tasks import is_allowed, task_type
from vinesim.state import places, queries
from vinesim.state.layout import DROP, MOVE, NOTHING, PREEMPT, START, Action

# Answers. Of what names a task or a unit, ``| 0`` is a whole number, and the compiler refuses a float.


def nothing():
    return Action(np.int64(NOTHING), np.int64(-1), np.int64(0), np.int64(-1), np.inf)


def wait_until(time_us):
    return Action(np.int64(NOTHING), np.int64(-1), np.int64(0), np.int64(-1), float(time_us))


def start(task, unit):
    return Action(np.int64(START), np.int64(task | 0), np.int64(1), np.int64(unit | 0), np.inf)


def start_consolidated(task, count, unit):
    return Action(np.int64(START), np.int64(task | 0), np.int64(count | 0), np.int64(unit | 0), np.inf)


def drop(task):
    return Action(np.int64(DROP), np.int64(task | 0), np.int64(0), np.int64(-1), np.inf)


def preempt(task):
    return Action(np.int64(PREEMPT), np.int64(task | 0), np.int64(1), np.int64(-1), np.inf)


def move(task, unit):
    return Action(np.int64(MOVE), np.int64(task | 0), np.int64(1), np.int64(unit | 0), np.inf)


# Policies that balance requests over nodes


@called
def first_allowed(model, state, task, p, low, high):
    """The first unit of type p in [low, high) that is allowed for the task and has room for it; -1: none."""
    unit = rooms.first_in_range(model, state, task, p, low, high)
    while unit >= 0 and not is_allowed(model, state, task, unit):
        unit = rooms.first_in_range(model, state, task, p, unit + 1, high)
    return unit


@called
def least_busy_unit(model, state, task, processor_type):
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


OTHER_NAMES = {queries.least_busy: least_busy_unit}
HERE = (nothing, wait_until, start, start_consolidated, drop, preempt, move, is_available)
ROOMS = (tasks, pending, claims, pools, rooms, nodes, segments, laws, batching, trial)


def _bodies() -> dict[Any, Any]:
    asked = {f.__name__: f for f in (*vars(queries).values(), *vars(places).values()) if isinstance(f, FunctionType)}
    own = {name: f for name, f in asked.items() if f.__module__ in (queries.__name__, places.__name__)}
    found: dict[Any, Any] = {own[body.__name__]: body for body in HERE}
    for room in ROOMS:
        for name, body in vars(room).items():
            if name in own and isinstance(body, FunctionType) and body.__module__ == room.__name__:
                found.setdefault(own[name], body)
    return found | OTHER_NAMES


BODIES = _bodies()  # of each query that has one
