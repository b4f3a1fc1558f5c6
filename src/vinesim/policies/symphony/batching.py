"""Consolidation: how many requests of an application start together. Source: Symphony paper, section IV-A4."""

from typing import Any

from vinesim.policies.symphony.history import is_known, predict
from vinesim.state.queries import following, operations


def batch_size(model: Any, state: Any, task: int, count: int) -> float:
    """Operations of the first ``count`` requests of the group that the task leads."""
    total, member = operations(model, state, task), task
    for _ in range(count - 1):
        member = following(model, state, member)
        total += operations(model, state, member)
    return total


def trimmed(
    model: Any, state: Any, book: Any, row: int, task: int, most: int, room_us: float, slowdown: float
) -> tuple[int, float]:
    """The largest batch of up to ``most`` requests that is expected to take ``room_us`` or less, and its operations.

    All of them if not even the first request is: it is late, and the others wait behind it.
    """
    total, member, count = operations(model, state, task), task, 1
    best, best_size = 0, 0.0
    while True:
        if not is_known(book, row) or predict(book, row, total) * slowdown <= room_us:
            best, best_size = count, total
        elif best > 0:
            return best, best_size
        if count == most:
            return (best, best_size) if best > 0 else (count, total)
        member = following(model, state, member)
        total += operations(model, state, member)
        count += 1
