"""A priority queue of tasks in a policy's scratch: the smallest key comes first, the older task among equals.

It is a binary heap. A task that has started may stay in it until it comes first: nothing is stored by the task's
number, so the number of tasks does not matter.

The skew heaps of ``state/skew_heap.py`` are for another need: many queues that share their arrays, that are joined,
and that are read from either end; there all is kept by the task's number.
"""

from typing import Any

from vinesim.state.scratch import TASK, TASKS_BELOW

PRIORITY_QUEUE = {
    "queue": ("i4", "queue"),
    "queue_key": ("f8", "queue"),  # of the task at the same position
    "queue_size": ("i8", "one"),
    "queue_seen": ("i8", "one"),  # for the policy: tasks below this number were inserted, or never will be
}
QUEUED_TASKS = {"queue": TASK, "queue_seen": TASKS_BELOW}


def queue_first(scratch: Any) -> int:
    """Return the first task of the queue, -1 if it is empty."""
    return scratch.queue[0] if scratch.queue_size[0] > 0 else -1


def queue_push(scratch: Any, task: int, key: float) -> None:
    """Put a task into the queue."""
    queue, keys, i = scratch.queue, scratch.queue_key, scratch.queue_size[0]
    scratch.queue_size[0] = i + 1
    while i > 0 and _is_before(scratch, key, task, (i - 1) >> 1):
        queue[i] = queue[(i - 1) >> 1]
        keys[i] = keys[(i - 1) >> 1]
        i = (i - 1) >> 1
    queue[i] = task
    keys[i] = key


def queue_pop(scratch: Any) -> None:
    """Remove the first task from the queue."""
    queue, keys, n = scratch.queue, scratch.queue_key, scratch.queue_size[0] - 1
    scratch.queue_size[0] = n
    task, key, i = queue[n], keys[n], 0
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and _is_before(scratch, keys[child + 1], queue[child + 1], child):
            child += 1
        if not _is_before(scratch, keys[child], queue[child], n):
            break
        queue[i] = queue[child]
        keys[i] = keys[child]
        i = child
    queue[i] = task
    keys[i] = key
    queue[n] = 0  # so that it does not look as if the task were still waiting here


def _is_before(scratch: Any, key: float, task: int, i: int) -> bool:
    """Whether a task with that key comes before the one at position i."""
    other = scratch.queue_key[i]
    return key < other or (key == other and task < scratch.queue[i])
