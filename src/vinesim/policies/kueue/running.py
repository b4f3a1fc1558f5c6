"""The running tasks in the order in which they leave: of lower priority, started later, younger. A gang counts as one.

The order is kept from one decision to the next: those that run no more are dropped, others are added at its end, and
sorting moves only what is out of place.
"""

from collections.abc import Mapping
from typing import Any

from vinesim.policies.kueue.shares import queue_of
from vinesim.state.places import end_of_members, gang_of
from vinesim.state.queries import is_running, next_running, priority, started_us

IN_ORDER: Mapping[str, tuple[str, str]] = {
    "in_order": ("i4", "queue"),
    "n_in_order": ("i8", "one"),
    "is_placed": ("i1", "tasks"),  # the task is there
    "is_in_order": ("i8", "one"),  # the order is that of this decision
    "first_of_queue": ("i8", "partitions"),  # 1 + the place of the first task of each queue
    "next_of_queue": ("i4", "queue"),  # 1 + the place of the next task of the same queue
}


def put_in_order(model: Any, state: Any, view: Any) -> None:
    """Bring the order up to date, once in a decision."""
    scratch, n = view.scratch, 0
    if scratch.is_in_order[0] == 1:
        return
    scratch.is_in_order[0] = 1
    for i in range(scratch.n_in_order[0]):
        task = int(scratch.in_order[i])
        stands_for_gang = (
            is_running(model, state, task) and next_running(model, state, gang_of(model, task)[0] - 1) == task
        )
        scratch.is_placed[task] = int(stands_for_gang)
        if stands_for_gang:
            scratch.in_order[n] = task
            n += 1
    n_before, task = n, int(next_running(model, state, -1))
    while task >= 0:
        if scratch.is_placed[task] == 0:
            scratch.in_order[n], scratch.is_placed[task] = task, 1
            n += 1
        task = int(next_running(model, state, end_of_members(model, state, task) - 1))
    scratch.n_in_order[0] = n
    sort(model, state, scratch, n - n_before)
    link_queues(model, scratch)


def sort(model: Any, state: Any, scratch: Any, n_new: int) -> None:
    """Sort (Shell's method): by insertion alone if few are new."""
    tasks, n = scratch.in_order, int(scratch.n_in_order[0])
    gap = max(1, min(n >> 1, n_new))
    while gap > 0:
        for i in range(gap, n):
            moved, j = int(tasks[i]), i
            while j >= gap and leaves_first(model, state, moved, int(tasks[j - gap])):
                tasks[j] = tasks[j - gap]
                j -= gap
            tasks[j] = moved
        gap >>= 1


def leaves_first(model: Any, state: Any, one: int, other: int) -> bool:
    """Whether one task leaves before another."""
    if priority(model, state, one) != priority(model, state, other):
        return bool(priority(model, state, one) < priority(model, state, other))
    if started_us(model, state, one) != started_us(model, state, other):
        return bool(started_us(model, state, one) > started_us(model, state, other))
    return one > other


def link_queues(model: Any, scratch: Any) -> None:
    """Link the tasks of each queue, in the same order."""
    for queue in range(len(scratch.first_of_queue)):
        scratch.first_of_queue[queue] = 0
    for i in range(scratch.n_in_order[0] - 1, -1, -1):
        queue = queue_of(model, int(scratch.in_order[i]))
        scratch.next_of_queue[i] = scratch.first_of_queue[queue]
        scratch.first_of_queue[queue] = i + 1
