"""Whether a pending task can start once some running ones have left, and how few of them need to."""

from collections.abc import Mapping
from typing import Any

from vinesim.policies.kueue.candidates import CANDIDATES
from vinesim.policies.kueue.shares import begin_with_use, needs_to_borrow, suppose_gone
from vinesim.state.places import end_of_members, fastest_free_after

ENOUGH: Mapping[str, tuple[str, str]] = {
    **CANDIDATES,
    "victims": ("i4", "queue"),  # those that are to leave, and have not yet
    "n_victims": ("i8", "one"),
    "tried": ("i4", "queue"),  # others
    "borrows": ("i8", "one"),  # the task may borrow what they leave
}


def are_enough(model: Any, state: Any, view: Any, task: int, leaving: Any, n: int, may_borrow: bool) -> bool:
    """Whether a task can start once the first n of some tasks have left: without borrowing, or with it."""
    if not may_borrow:
        begin_with_use(state, view)
        for i in range(n):
            suppose_gone(model, state, view, int(leaving[i]))
        if needs_to_borrow(model, view):
            return False
    return bool(fastest_free_after(model, state, task, leaving, n) >= 0)


def finds_more_room(model: Any, state: Any, task: int) -> bool:
    """Whether a task has room with more room if it has room with less: known unless it is a gang."""
    return end_of_members(model, state, task) == task + 1


def fewest(model: Any, state: Any, view: Any, task: int, too_few: int, n: int, may_borrow: bool) -> int:
    """Return how many victims, from the first on, are enough, above ``too_few`` and up to n; 0 if not even n are."""
    victims = view.scratch.victims
    if n <= too_few or not are_enough(model, state, view, task, victims, n, may_borrow):
        return 0
    while n - too_few > 1:
        middle = (too_few + n) >> 1
        if are_enough(model, state, view, task, victims, middle, may_borrow):
            n = middle
        else:
            too_few = middle
    return n


def let_some_stay(model: Any, state: Any, view: Any, task: int, n: int, may_borrow: bool) -> int:
    """Let each victim stay, from the last but one to the first, without whom the others are enough; return how many
    leave. Of several that can stay together, no one is tried alone."""
    victims, last, gallops = view.scratch.victims, n - 2, finds_more_room(model, state, task)
    while last >= 0:
        first, apart = last + 1, 1  # those from the first to the last can stay
        too_far = -1  # not from there on
        while first - too_far > 1:
            tried = max(too_far + 1, last + 1 - apart) if apart > 0 else (too_far + first) >> 1
            if are_enough_without(model, state, view, task, tried, last, n, may_borrow):
                first, apart = tried, 2 * apart
            else:
                too_far, apart = tried, 0
            if not gallops:
                break
        for i in range(last + 1, n):
            victims[first + i - last - 1] = victims[i]
        n -= last + 1 - first
        last = first - 2 if gallops or first > last else first - 1
    return n


def are_enough_without(
    model: Any, state: Any, view: Any, task: int, first: int, last: int, n: int, may_borrow: bool
) -> bool:
    """Whether n victims are enough if those from the first to the last stay."""
    victims, tried = view.scratch.victims, view.scratch.tried
    for i in range(first):
        tried[i] = victims[i]
    for i in range(last + 1, n):
        tried[first + i - last - 1] = victims[i]
    return are_enough(model, state, view, task, tried, n - (last + 1 - first), may_borrow)
