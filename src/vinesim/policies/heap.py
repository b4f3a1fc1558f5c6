"""A binary heap of tasks by a number, in a policy's scratch: the least comes first, equal ones by task."""

from typing import Any

HEAP_SCRATCH = {
    "heap": ("i4", "tasks"),
    "heap_key": ("f8", "tasks"),  # of each task in the heap
    "heap_size": ("i8", "one"),
    "heap_seen": ("i8", "one"),  # tasks below this number were put in, or never will be
}


def is_before(scratch: Any, one: int, other: int) -> bool:
    """Whether a task comes before another one."""
    a, b = scratch.heap_key[one], scratch.heap_key[other]
    return a < b or (a == b and one < other)


def push(scratch: Any, task: int, key: float) -> None:
    """Put a task in."""
    heap, i = scratch.heap, scratch.heap_size[0]
    scratch.heap_size[0] = i + 1
    scratch.heap_key[task] = key
    while i > 0 and is_before(scratch, task, heap[(i - 1) >> 1]):
        heap[i] = heap[(i - 1) >> 1]
        i = (i - 1) >> 1
    heap[i] = task


def pop(scratch: Any) -> None:
    """Take the first task out."""
    heap, n = scratch.heap, scratch.heap_size[0] - 1
    scratch.heap_size[0] = n
    task, i = heap[n], 0
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and is_before(scratch, heap[child + 1], heap[child]):
            child += 1
        if not is_before(scratch, heap[child], task):
            break
        heap[i] = heap[child]
        i = child
    heap[i] = task
