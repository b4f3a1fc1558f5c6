"""A segment tree in a policy's scratch: the least value of a range, and the first value of a range below a limit.

``tree`` holds the values at ``size + i``, where ``size`` is a power of two, and the least of each pair of neighbours
below it. Every operation takes log2(``size``) steps.
"""

from typing import Any


def size_of_tree(n: int) -> int:
    """Return the size of a tree for n values; its array has twice as many places, at most ``4 * n``."""
    size = 1
    while size < n:
        size *= 2
    return size


def set_value(tree: Any, size: int, i: int, value: float) -> None:
    """Change a value."""
    i += size
    tree[i] = value
    i >>= 1
    while i > 0:
        least = min(tree[2 * i], tree[2 * i + 1])
        if tree[i] == least:
            break
        tree[i] = least
        i >>= 1


def least_of(tree: Any, size: int, first: int, end: int) -> float:
    """Return the least value of [first, end); infinite if the range is empty."""
    least = float("inf")
    low, high = first + size, end + size
    while low < high:
        if low & 1:
            least = min(least, tree[low])
            low += 1
        if high & 1:
            high -= 1
            least = min(least, tree[high])
        low >>= 1
        high >>= 1
    return least


def first_within(tree: Any, size: int, first: int, end: int, limit: float, or_equal: bool) -> int:
    """Return the first place in [first, end) whose value is below the limit, or equal to it; -1 if there is none."""
    if first >= end:
        return -1
    i = first + size
    while not (tree[i] < limit or (or_equal and tree[i] == limit)):
        while i & 1:
            i >>= 1
        if i == 0:
            return -1
        i += 1
    while i < size:
        i *= 2
        if not (tree[i] < limit or (or_equal and tree[i] == limit)):
            i += 1
    return i - size if i - size < end else -1
