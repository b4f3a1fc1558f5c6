"""Whether reservations let a task start on a unit: the only rule, for both engines and for plans of policies."""

import math
from typing import Any

from vinesim.state.places import hypothetical_begin_us
from vinesim.state.until import held_until_on_us


def is_admitted(model: Any, state: Any, task: int, unit: int) -> bool:
    """Whether no reservation that does not admit the task begins on the unit's node before the task is expected to end
    there, of those that are not over when it begins: now, or when the policy supposes that it does."""
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
