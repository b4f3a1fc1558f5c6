"""A binary heap of tasks by a number, in a policy's scratch: the least comes first, equal ones by task.

A task that has ended may stay until it comes to the top: nothing is kept by the task's own number.
"""

from typing import Any

HEAP_SCRATCH = {
    "heap": ("i4", "queue"),
    "heap_key": ("f8", "queue"),  # of the task at the same position
    "heap_size": ("i8", "one"),
    "heap_seen": ("i8", "one"),  # tasks below this number were put in, or never will be
}


def is_before(scratch: Any, key: float, task: int, i: int) -> bool:
    """Whether a task of that key comes before the one at position i."""
    other = scratch.heap_key[i]
    return key < other or (key == other and task < scratch.heap[i])


def push(scratch: Any, task: int, key: float) -> None:
    """Put a task in."""
    heap, keys, i = scratch.heap, scratch.heap_key, scratch.heap_size[0]
    scratch.heap_size[0] = i + 1
    while i > 0 and is_before(scratch, key, task, (i - 1) >> 1):
        heap[i] = heap[(i - 1) >> 1]
        keys[i] = keys[(i - 1) >> 1]
        i = (i - 1) >> 1
    heap[i] = task
    keys[i] = key


def pop(scratch: Any) -> None:
    """Take the first task out."""
    heap, keys, n = scratch.heap, scratch.heap_key, scratch.heap_size[0] - 1
    scratch.heap_size[0] = n
    task, key, i = heap[n], keys[n], 0
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and is_before(scratch, keys[child + 1], heap[child + 1], child):
            child += 1
        if not is_before(scratch, keys[child], heap[child], n):
            break
        heap[i] = heap[child]
        keys[i] = keys[child]
        i = child
    heap[i] = task
    keys[i] = key
