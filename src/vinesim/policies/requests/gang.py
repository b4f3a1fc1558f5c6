"""Issue requests, including gangs, which need several nodes at once: the members of a gang start at the same instant,
one answer of the policy after another. Source: Symphony paper, Table I (num_nodes) and section IV-A5 (load
balancer)."""

from typing import Any

from vinesim.policies.requests.registered import gang_size
from vinesim.state.queries import (
    drop,
    group,
    has_nodes,
    job_of,
    least_busy,
    nothing,
    start_consolidated,
)
from vinesim.state.scratch import TASK_FROM_1

GANG_SCRATCH = {
    "gang_next": ("i8", "one"),  # the next task to place, + 1; 0 = none
    "gang_count": ("i8", "one"),  # number of consolidated requests
    "gang_type": ("i8", "one"),  # processor type on which they start; GIVE_UP: they are dropped
}
GANG_TASKS = {"gang_next": TASK_FROM_1}
GIVE_UP = -1


def is_available(model: Any, state: Any, task: int, processor_type: int) -> bool:
    """Whether the request that begins with the task could start now on units of that type."""
    return has_nodes(model, state, task, processor_type, gang_size(model, group(model, state, task)))


def issue(model: Any, state: Any, view: Any, task: int, count: int, processor_type: int) -> Any:
    """Start the first ``count`` requests of the task's group, on the least loaded node or nodes."""
    remember(model, state, view, task, count, processor_type)
    return start_consolidated(task, count, least_busy(model, state, task, processor_type))


def give_up(model: Any, state: Any, view: Any, task: int) -> Any:
    """Drop the request that begins with the task."""
    remember(model, state, view, task, 1, GIVE_UP)
    return drop(task)


def remember(model: Any, state: Any, view: Any, task: int, count: int, processor_type: int) -> None:
    """Record what ``next_member`` has to do."""
    is_last = (
        gang_size(model, group(model, state, task)) == 1 or task + 1 == model.job_first[job_of(model, state, task) + 1]
    )
    view.scratch.gang_next[0] = 0 if is_last else task + 2
    view.scratch.gang_count[0] = count
    view.scratch.gang_type[0] = processor_type


def has_next_member(view: Any) -> bool:
    """Whether members of the gangs that were just issued must be placed first."""
    return view.scratch.gang_next[0] > 0


def next_member(model: Any, state: Any, view: Any) -> Any:
    """Place the next member of the gangs that were just issued; if there is no room for it, wait."""
    task = view.scratch.gang_next[0] - 1
    count, processor_type = view.scratch.gang_count[0], view.scratch.gang_type[0]
    if processor_type == GIVE_UP:
        remember(model, state, view, task, count, processor_type)
        return drop(task)
    unit = least_busy(model, state, task, processor_type)
    if unit < 0:
        return nothing()
    remember(model, state, view, task, count, processor_type)
    return start_consolidated(task, count, unit)
