"""Which running tasks leave so that one of lower rank can start."""

from collections.abc import Callable, Mapping
from typing import Any

from vinesim.policies.structures.binary_heap import heap_pop, heap_push
from vinesim.state.places import end_of_members
from vinesim.state.queries import fastest_free_without, in_the_way, next_running

RUNNING: Mapping[str, tuple[str, str]] = {
    "is_sorted": ("i8", "one"),  # the running tasks are known
    "unsorted": ("i4", "queue"),  # a heap of those still to be sorted: highest rank first, then the younger
    "unsorted_rank": ("f8", "queue"),
    "n_unsorted": ("i8", "one"),
    "standing": ("i4", "queue"),  # those that were sorted, in this order
    "standing_rank": ("f8", "queue"),
    "n_standing": ("i8", "one"),
    "victims": ("i4", "queue"),  # those that are to leave, and have not yet
    "n_victims": ("i8", "one"),
}
Rank = Callable[[Any, Any, Any, int], float]


def forget_running(scratch: Any) -> None:
    """Forget the running tasks and their ranks."""
    scratch.is_sorted[0] = 0
    scratch.n_unsorted[0] = 0
    scratch.n_standing[0] = 0


def find_victims(model: Any, state: Any, view: Any, task: int, rank: Rank, change_us: Rank) -> bool:
    """Find out which running tasks leave for a pending one that has no room. Returns whether that makes room."""
    scratch = view.scratch
    if scratch.is_sorted[0] == 0:
        look_at_running(model, state, view, task, rank, change_us)
    tried, n, unit = 0, 1, -1
    while unit < 0:  # twice as many until there is room
        n = sort_running(model, scratch, task, n)
        if n == tried:
            return False
        unit = fastest_free_without(model, state, task, scratch.standing, n)
        if unit < 0:
            tried = n
            n *= 2
    while n - tried > 1:  # room without the first n, none without the first `tried`
        middle = (tried + n) >> 1
        there = fastest_free_without(model, state, task, scratch.standing, middle)
        if there >= 0:
            n, unit = middle, there
        else:
            tried = middle
    scratch.n_victims[0] = in_the_way(model, state, task, unit, scratch.standing, n, scratch.victims)
    if scratch.n_victims[0] == 0:  # for a task that takes nothing of a full unit, the one without which it has room
        scratch.victims[0] = scratch.standing[n - 1]
        scratch.n_victims[0] = 1
    return True


def look_at_running(model: Any, state: Any, view: Any, task: int, rank: Rank, change_us: Rank) -> None:
    """Collect the running tasks that rank higher than a pending one, each for its gang, and when any rank changes."""
    scratch, last = view.scratch, len(model.task_operations) - 1
    own, n = scratch.rank[task], 0
    running = next_running(model, state, -1)
    while running >= 0:
        scratch.change_us[0] = min(scratch.change_us[0], change_us(model, state, view, running))
        value = rank(model, state, view, running)
        if value > own or (value == own and running > task):
            heap_push(scratch.unsorted, scratch.unsorted_rank, n, last - running, -value)
            n += 1
        running = next_running(model, state, end_of_members(model, state, running) - 1)
    scratch.n_unsorted[0] = n
    scratch.is_sorted[0] = 1


def sort_running(model: Any, scratch: Any, task: int, n: int) -> int:
    """Sort the first n of the running tasks, as far as they rank higher than a pending one; return how many do."""
    last, own = len(model.task_operations) - 1, scratch.rank[task]
    while scratch.n_standing[0] < n and scratch.n_unsorted[0] > 0:
        i, left = int(scratch.n_standing[0]), int(scratch.n_unsorted[0])
        scratch.standing[i] = last - scratch.unsorted[0]
        scratch.standing_rank[i] = -scratch.unsorted_rank[0]
        heap_pop(scratch.unsorted, scratch.unsorted_rank, left)
        scratch.n_unsorted[0] = left - 1
        scratch.n_standing[0] = i + 1
    n = min(n, int(scratch.n_standing[0]))
    while n > 0 and not ranks_higher(scratch, n - 1, own, task):
        n -= 1
    return n


def ranks_higher(scratch: Any, i: int, own: float, task: int) -> bool:
    """Whether the running task at a place of the order ranks higher than a pending one."""
    value = scratch.standing_rank[i]
    return bool(value > own or (value == own and scratch.standing[i] > task))
