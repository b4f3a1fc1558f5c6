"""A segment tree in a policy's scratch: the least value of a range, its place, and the first value below a limit.

``tree`` holds value i at ``size + i``, and at each place before ``size`` the least of the two below it, at 2 i and
2 i + 1; so it has 2 ``size`` places, and the least of all is at 1. Every operation takes log2(``size``) steps.
:func:`first_within` needs a ``size`` that is a power of two, as :func:`size_of_tree` gives it.
"""

from typing import Any


def size_of_tree(n: int) -> int:
    """Return the size of a tree for n values; its array has twice as many places, at most ``4 * n``."""
    size = 1
    while size < n:
        size *= 2
    return size


def set_value(tree: Any, size: int, i: int, value: Any) -> None:
    """Change a value."""
    i += size
    tree[i] = value
    while i > 1:
        i >>= 1
        least = min(tree[2 * i], tree[2 * i + 1])
        if tree[i] == least:
            break
        tree[i] = least


def least_of(tree: Any, size: int, first: int, end: int, otherwise: Any) -> Any:
    """Return the least value of [first, end), or ``otherwise`` if that is less."""
    least, low, high = otherwise, first + size, end + size
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


def place_of_least(tree: Any, size: int, first: int, end: int) -> int:
    """Return the place of a least value of [first, end), which must not be empty."""
    at, low, high = first + size, first + size, end + size
    while low < high:
        if low & 1:
            at = low if tree[low] < tree[at] else at
            low += 1
        if high & 1:
            high -= 1
            at = high if tree[high] < tree[at] else at
        low >>= 1
        high >>= 1
    while at < size:
        at = 2 * at if tree[2 * at] == tree[at] else 2 * at + 1
    return at - size


def first_within(tree: Any, size: int, first: int, end: int, limit: float, or_equal: bool) -> int:
    """Return the first place in [first, end) whose value is below the limit, or equal to it; -1 if there is none."""
    if first >= end or not (tree[1] < limit or (or_equal and tree[1] == limit)):
        return -1
    i = first + size if first > 0 else 1
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
