"""The least of a range of numbers in a policy's scratch, where one number changes at a time.

It is a binary tree in one array: its n numbers begin at n, and each element before them is the lesser of the two below
it, at 2 i and 2 i + 1. The least of all is at 1. The array needs 2 n elements.
"""

from typing import Any


def put(tree: Any, n: int, i: int, value: Any) -> None:
    """Set number i."""
    i += n
    tree[i] = value
    while i > 1:
        i >>= 1
        lesser = min(tree[2 * i], tree[2 * i + 1])
        if tree[i] == lesser:
            break
        tree[i] = lesser


def least(tree: Any, n: int, first: int, end: int, otherwise: Any) -> Any:
    """Return the least of the numbers first .. end - 1, or ``otherwise`` if that is less."""
    found, low, high = otherwise, first + n, end + n
    while low < high:
        if low & 1:
            found = min(found, tree[low])
            low += 1
        if high & 1:
            high -= 1
            found = min(found, tree[high])
        low >>= 1
        high >>= 1
    return found


def place_of_least(tree: Any, n: int, first: int, end: int) -> int:
    """Return the place of a least number among first .. end - 1, which must not be empty."""
    at, low, high = first + n, first + n, end + n
    while low < high:
        if low & 1:
            at = low if tree[low] < tree[at] else at
            low += 1
        if high & 1:
            high -= 1
            at = high if tree[high] < tree[at] else at
        low >>= 1
        high >>= 1
    while at < n:
        at = 2 * at if tree[2 * at] == tree[at] else 2 * at + 1
    return at - n
