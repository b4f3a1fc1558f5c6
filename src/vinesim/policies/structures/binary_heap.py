"""A binary heap in two arrays of a policy's scratch: the smallest key comes first, the smaller item among equals."""

from typing import Any


def heap_push(items: Any, keys: Any, n: int, item: int, key: float) -> None:
    """Put an item into a heap of n items."""
    i = n
    while i > 0 and _is_before(items, keys, key, item, (i - 1) >> 1):
        items[i] = items[(i - 1) >> 1]
        keys[i] = keys[(i - 1) >> 1]
        i = (i - 1) >> 1
    items[i] = item
    keys[i] = key


def heap_pop(items: Any, keys: Any, n: int) -> None:
    """Remove the first item of a heap of n items."""
    n -= 1
    item, key, i = items[n], keys[n], 0
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and _is_before(items, keys, keys[child + 1], items[child + 1], child):
            child += 1
        if not _is_before(items, keys, keys[child], items[child], n):
            break
        items[i] = items[child]
        keys[i] = keys[child]
        i = child
    items[i] = item
    keys[i] = key


def _is_before(items: Any, keys: Any, key: float, item: int, i: int) -> bool:
    """Whether an item with that key comes before the one at position i."""
    other = keys[i]
    return key < other or (key == other and item < items[i])
