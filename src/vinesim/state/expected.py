"""What is expected of a task: how long it takes on a unit, until when it holds it, and so whether reservations let it
start there. Durations follow the scheduler's estimates, and are at most the limit of its job.
"""

import math
from typing import Any

import numpy as np

from vinesim.model.time import FOREVER_US
from vinesim.state.places import hypothetical_begin_us
from vinesim.state.queries import estimate_us, mean_time_us, task_type, time_on_type_us, transfer_us


def expected_us(model: Any, state: Any, task: int, processor_type: int) -> float:
    """Return the expected execution time on a processor type, at most the limit, and ``FOREVER_US``; infinite if it
    cannot run the task.

    Without estimates in the workload it is the true time, except for a hidden factor. An estimate is for the mean over
    the deployed types that can run the task; it is scaled by each type's time relative to their mean.
    """
    own_us = time_on_type_us(model, state, task, processor_type)
    if not model.affinity[processor_type, task_type(model, state, task)] > 0.0:
        return own_us
    expected = own_us
    if len(model.task_estimate_us) > 0 and own_us < float("inf"):
        expected, mean_us = estimate_us(model, state, task), mean_time_us(model, state, task)
        if mean_us > 0.0:
            expected *= own_us / mean_us
    return min(expected, limit_us(model, task), FOREVER_US)


def limit_us(model: Any, task: int) -> float:
    """Return after how long on a unit, with its transfer, the task is killed; infinite if its job has no limit."""
    return model.job_limit_us[model.task_job[task]] if len(model.job_limit_us) > 0 else float("inf")


def planned_end_us(model: Any, task: int, begin_us: float, moving_us: float, execution_us: float) -> float:
    """Return the expected finish of a task that is given to a unit at a time: after its transfer and its expected
    execution, or at its limit if that comes first."""
    return min(begin_us + moving_us + execution_us, begin_us + limit_us(model, task))


def expected_end_us(model: Any, state: Any, task: int, unit: int, begin_us: float) -> float:
    """Return the same as ``planned_end_us`` for a unit."""
    execution_us = expected_us(model, state, task, int(model.unit_type[unit]))
    return planned_end_us(model, task, begin_us, transfer_us(model, state, task, unit), execution_us)


def held_until_us(model: Any, task: int, begin_us: float, moving_us: float, execution_us: float) -> float:
    """Return the expected end of a task with an expected transfer and execution, after its begin."""
    end_us = planned_end_us(model, task, begin_us, moving_us, execution_us)
    return end_us if end_us > begin_us else float(np.nextafter(begin_us, math.inf))


def held_until_on_us(model: Any, state: Any, task: int, unit: int, begin_us: float) -> float:
    """Return the same as ``held_until_us`` for a unit."""
    execution_us = expected_us(model, state, task, int(model.unit_type[unit]))
    return held_until_us(model, task, begin_us, transfer_us(model, state, task, unit), execution_us)


def is_admitted(model: Any, state: Any, task: int, unit: int) -> bool:
    """Whether the task is expected to end on the unit before any reservation that does not admit it begins on the
    unit's node. Reservations that are over when the task begins do not count; it begins now, or at the time that the
    policy supposes."""
    node = model.unit_node[unit]
    first, end = int(model.reserved_first[node]), int(model.reserved_first[node + 1])
    if first == end:
        return True
    begin_us = hypothetical_begin_us(model, state)
    until_us = held_until_on_us(model, state, task, unit, begin_us)
    for i in range(first, end):
        one = int(model.reserved[i])
        is_meant = model.reservation_start_us[one] < until_us and begin_us < model.reservation_end_us[one]
        if is_meant and not admits(model, one, task):
            return False
    return True


def admits(model: Any, reservation: int, task: int) -> bool:
    """Whether a reservation is for the user of the task's job."""
    if len(model.job_user) == 0:
        return False
    return bool(model.reservation_admits[reservation, model.job_user[model.task_job[task]]])


def next_reservation_end_us(model: Any, after_us: float) -> float:
    """Return when the first reservation ends after a time; infinite if none does."""
    found = math.inf
    for i in range(len(model.reservation_end_us)):
        if model.reservation_end_us[i] > after_us:
            found = min(found, model.reservation_end_us[i])
    return found
