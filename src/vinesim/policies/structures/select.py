"""The k-th least of some values, by partition around a pivot. Source: Hoare, Communications of the ACM 4(7), 1961."""

from typing import Any


def kth_least(values: Any, n: int, k: int) -> Any:
    """Return the k-th least, from 1 on, of the first n values, which are put into another order."""
    low, high, place = 0, n - 1, k - 1
    while low < high:
        pivot, i, j = values[(low + high) // 2], low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i, j = i + 1, j - 1
        if place <= j:
            high = j
        elif place >= i:
            low = i
        else:
            break
    return values[place]
