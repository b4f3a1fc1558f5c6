"""Whether a pending task can start once some running ones have left, and how few of them need to."""

from collections.abc import Mapping
from typing import Any

from vinesim.policies.kueue.candidates import CANDIDATES
from vinesim.policies.kueue.shares import begin_with_use, needs_to_borrow, suppose_gone
from vinesim.state.places import fastest_free_after

ENOUGH: Mapping[str, tuple[str, str]] = {
    **CANDIDATES,
    "victims": ("i4", "queue"),  # those that are to leave, and have not yet
    "n_victims": ("i8", "one"),
    "borrows": ("i8", "one"),  # the task may borrow what they leave
}


def are_enough(model: Any, state: Any, view: Any, task: int, n: int, may_borrow: bool) -> bool:
    """Whether a task can start once the first n victims have left: without borrowing, or with it."""
    if not may_borrow:
        begin_with_use(state, view)
        for i in range(n):
            suppose_gone(model, state, view, int(view.scratch.victims[i]))
        if needs_to_borrow(model, view):
            return False
    return bool(fastest_free_after(model, state, task, view.scratch.victims, n) >= 0)


def fewest(model: Any, state: Any, view: Any, task: int, too_few: int, n: int, may_borrow: bool) -> int:
    """Return how many victims, from the first on, are enough, above ``too_few`` and up to n; 0 if not even n are."""
    if n <= too_few or not are_enough(model, state, view, task, n, may_borrow):
        return 0
    while n - too_few > 1:
        middle = (too_few + n) >> 1
        if are_enough(model, state, view, task, middle, may_borrow):
            n = middle
        else:
            too_few = middle
    return n


def let_some_stay(model: Any, state: Any, view: Any, task: int, n: int, may_borrow: bool) -> int:
    """Let each victim stay, from the last but one to the first, without whom the others are enough; return how many
    leave."""
    victims = view.scratch.victims
    for i in range(n - 2, -1, -1):
        stays = int(victims[i])
        for j in range(i, n - 1):
            victims[j] = victims[j + 1]
        if are_enough(model, state, view, task, n - 1, may_borrow):
            n -= 1
        else:
            for j in range(n - 1, i, -1):
                victims[j] = victims[j - 1]
            victims[i] = stays
    return n
