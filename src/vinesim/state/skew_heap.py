"""Priority queues of tasks in plain arrays: skew heaps (Sleator and Tarjan, 1986), joined in O(log n) on average.

A heap is the number of its root; tasks are numbered from 1 here, 0 is an empty heap. ``left`` and ``right`` [N] hold
the children of task i at i - 1, and 0 for a task in no heap. The smallest ``key`` [N] comes first, and the lower number
among equals; with ``direction`` -1 both are reversed. Policies use these functions; compiled code runs the same bodies.
A policy with one queue takes ``policies/structures/priority_queue.py``.
"""

from typing import Any


def comes_before(key: Any, direction: int, a: int, b: int) -> bool:
    """Whether task a comes before task b."""
    first, second = direction * key[a - 1], direction * key[b - 1]
    return first < second or (first == second and direction * a < direction * b)


def join(key: Any, left: Any, right: Any, direction: int, a: int, b: int) -> int:
    """Join two heaps; return the root of the result."""
    a, b = int(a), int(b)
    root, last = 0, 0
    while a > 0 and b > 0:
        if comes_before(key, direction, b, a):
            a, b = b, a
        if last > 0:
            left[last - 1] = a
        else:
            root = a
        last = a
        rest = int(right[a - 1])
        right[a - 1] = left[a - 1]
        a = rest
    rest = a if a > 0 else b
    if last > 0:
        left[last - 1] = rest
    else:
        root = rest
    return root


def without_root(key: Any, left: Any, right: Any, direction: int, root: int) -> int:
    """Remove the first task of a heap; return its new root."""
    below = join(key, left, right, direction, left[root - 1], right[root - 1])
    left[root - 1] = 0
    right[root - 1] = 0
    return below
