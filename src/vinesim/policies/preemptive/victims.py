"""Which running tasks leave so that one of lower rank can start."""

from collections.abc import Mapping
from typing import Any

from vinesim.policies.preemptive.running import RUNNING, Rank, n_higher
from vinesim.state.queries import fastest_free_without, victims_for

VICTIMS: Mapping[str, tuple[str, str]] = {
    **RUNNING,
    "victims": ("i4", "queue"),  # those that are to leave, and have not yet
    "n_victims": ("i8", "one"),
}


def find_victims(model: Any, state: Any, view: Any, task: int, rank: Rank, sinks: bool) -> bool:
    """Find out which running tasks leave for a pending one that has no room. Returns whether that makes room."""
    scratch = view.scratch
    tried, n, unit = 0, 1, -1
    while unit < 0:  # twice as many until there is room
        n = n_higher(model, state, view, task, n, rank, sinks)
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
    scratch.n_victims[0] = victims_for(model, state, task, unit, scratch.standing, n, scratch.victims)
    if scratch.n_victims[0] == 0:  # for a task that takes nothing of a full unit, the one without which it has room
        scratch.victims[0] = scratch.standing[n - 1]
        scratch.n_victims[0] = 1
    return True
