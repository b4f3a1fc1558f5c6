"""A priority queue of tasks in a policy's scratch: the smallest key comes first, the older task among equals.

It is a binary heap. A task that has started may stay in it until it comes first: nothing is stored by the task's
number, so the number of tasks does not matter. Tasks can be set aside for a while, at the other end of the arrays.

The skew heaps of ``state/skew_heap.py`` are for another need: many queues that share their arrays, that are joined,
and that are read from either end; there all is kept by the task's number.
"""

from typing import Any

from vinesim.policies.structures.binary_heap import heap_pop, heap_push
from vinesim.state.scratch import TASK_COUNT, TASK_ID

PRIORITY_QUEUE = {
    "queue": ("i4", "queue"),
    "queue_key": ("f8", "queue"),  # of the task at the same position
    "queue_size": ("i8", "one"),
    "queue_aside": ("i8", "one"),  # tasks that are set aside
    "queue_seen": (
        "i8",
        "one",
    ),  # for the policy: how many of the tasks that have arrived are inserted, or never will be
}
QUEUED_TASKS = {"queue": TASK_ID, "queue_seen": TASK_COUNT}


def queue_first(scratch: Any) -> int:
    """Return the first task of the queue, -1 if it is empty."""
    return scratch.queue[0] if scratch.queue_size[0] > 0 else -1


def queue_push(scratch: Any, task: int, key: float) -> None:
    """Put a task into the queue. The smallest key comes first, the older task among equals."""
    n = int(scratch.queue_size[0])
    scratch.queue_size[0] = n + 1
    heap_push(scratch.queue, scratch.queue_key, n, task, key)


def queue_pop(scratch: Any) -> None:
    """Remove the first task from the queue."""
    n = int(scratch.queue_size[0])
    scratch.queue_size[0] = n - 1
    heap_pop(scratch.queue, scratch.queue_key, n)
    scratch.queue[n - 1] = 0  # so that it does not look as if a task were still waiting here


def queue_set_aside(scratch: Any) -> None:
    """Remove the first task from the queue for now."""
    task, key, n = int(scratch.queue[0]), scratch.queue_key[0], int(scratch.queue_aside[0]) + 1
    queue_pop(scratch)
    scratch.queue_aside[0] = n
    scratch.queue[len(scratch.queue) - n], scratch.queue_key[len(scratch.queue) - n] = task, key


def queue_take_back(scratch: Any) -> None:
    """Put the tasks that were set aside into the queue again."""
    while scratch.queue_aside[0] > 0:
        at = len(scratch.queue) - int(scratch.queue_aside[0])
        task, key = int(scratch.queue[at]), scratch.queue_key[at]
        scratch.queue_aside[0] -= 1
        scratch.queue[at] = 0
        queue_push(scratch, task, key)
