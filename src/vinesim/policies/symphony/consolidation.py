"""Consolidation: how many requests of an application start as one. Source: Symphony paper, section IV-A4."""

from typing import Any

from vinesim.policies.symphony.history import is_known, predict
from vinesim.state.queries import following, operations


def consolidated_operations(model: Any, state: Any, task: int, count: int) -> float:
    """Return the operations of the first ``count`` requests of the task's group."""
    total, last = operations(model, state, task), task
    for _ in range(count - 1):
        last = following(model, state, last)
        total += operations(model, state, last)
    return total


def trimmed(
    model: Any, state: Any, book: Any, row: int, task: int, most: int, room_us: float, slowdown: float
) -> tuple[int, float]:
    """Return how many requests, up to ``most``, are expected to take ``room_us`` or less as one, and their operations.

    If not even the first request is, return all: it is late, and the others wait behind it.
    """
    total, last, count = operations(model, state, task), task, 1
    best, best_size = 0, 0.0
    while True:
        if not is_known(book, row) or predict(book, row, total) * slowdown <= room_us:
            best, best_size = count, total
        elif best > 0:
            return best, best_size
        if count == most:
            return (best, best_size) if best > 0 else (count, total)
        last = following(model, state, last)
        total += operations(model, state, last)
        count += 1
