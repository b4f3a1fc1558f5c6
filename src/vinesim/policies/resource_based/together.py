"""What is asked of all tasks that start together: of a gang those that are left of it, else of one task."""

from typing import Any

from vinesim.model.time import FOREVER_US
from vinesim.state.layout import DROPPED
from vinesim.state.places import end_of_members, is_member
from vinesim.state.queries import estimate_us, meets_on_type, task_type, time_on_type_us


def n_together(model: Any, state: Any, task: int) -> int:
    """Return how many tasks start with a pending one, itself included."""
    n = 0
    for member in range(task, end_of_members(model, state, task)):
        n += is_member(model, state, task, member)
    return n


def n_dropped(model: Any, state: Any, task: int) -> int:
    """Return how many are dropped of a task and the tasks that started with it."""
    n = 0
    for member in range(task, end_of_members(model, state, task)):
        n += state.task_unit[member] == DROPPED
    return n


def all_meet(model: Any, state: Any, task: int, processor_type: int, share: float = 1.0) -> bool:
    """Whether a type provides ``share`` of what each of them requests."""
    for member in range(task, end_of_members(model, state, task)):
        if is_member(model, state, task, member) and not meets_on_type(model, state, member, processor_type, share):
            return False
    return True


def longest_us(model: Any, state: Any, task: int, processor_type: int) -> float:
    """Return the time of the longest of them on a type, at most ``FOREVER_US``; infinite if it cannot run them."""
    us = 0.0
    for member in range(task, end_of_members(model, state, task)):
        if is_member(model, state, task, member):
            if model.affinity[processor_type, task_type(model, state, member)] <= 0.0:
                return float("inf")
            us = max(us, min(FOREVER_US, time_on_type_us(model, state, member, processor_type)))
    return us


def longest_estimate_us(model: Any, state: Any, task: int) -> float:
    """Return the longest of their estimates."""
    us = 0.0
    for member in range(task, end_of_members(model, state, task)):
        if is_member(model, state, task, member):
            us = max(us, estimate_us(model, state, member))
    return us


def any_is_empty(model: Any, state: Any, task: int) -> bool:
    """Whether one of them has no operations."""
    for member in range(task, end_of_members(model, state, task)):
        if is_member(model, state, task, member) and model.task_operations[member] == 0.0:
            return True
    return False
