"""Which running tasks leave so that one of lower rank can start."""

from collections.abc import Mapping
from typing import Any

from vinesim.policies.preemptive.running import RUNNING, Rank, n_higher
from vinesim.state.places import begin_trial, end_trial, suppose_away, undo
from vinesim.state.queries import fastest_free, victims_for

VICTIMS: Mapping[str, tuple[str, str]] = {
    **RUNNING,
    "victims": ("i4", "queue"),  # those that are to leave, and have not yet
    "n_victims": ("i8", "one"),
}


def find_victims(model: Any, state: Any, view: Any, task: int, rank: Rank, sinks: bool) -> bool:
    """Find out which running tasks leave for a pending one that has no room. Returns whether that makes room."""
    n, unit = fewest_without(model, state, view, task, rank, sinks)
    if unit < 0:
        return False
    scratch = view.scratch
    scratch.n_victims[0] = victims_for(model, state, task, unit, scratch.standing, n, scratch.victims)
    if scratch.n_victims[0] == 0:  # for a task that takes nothing of a full unit, the one without which it has room
        scratch.victims[0] = scratch.standing[n - 1]
        scratch.n_victims[0] = 1
    return True


def fewest_without(model: Any, state: Any, view: Any, task: int, rank: Rank, sinks: bool) -> tuple[int, int]:
    """Return how many of the tasks that rank higher, the highest first, have to be away for a pending task to have
    room, and the fastest unit then; -1 if it has no room even without all of them. The search supposes more and more of
    them away, twice as many each time, and then finds the fewest by halving."""
    standing = view.scratch.standing
    tried, n, unit = 0, 1, -1
    begun = without_tried = begin_trial(model, state)
    while unit < 0:
        if sinks:  # where tasks share a unit, their ranks are found from what is held
            undo(model, state, begun)
        n = n_higher(model, state, view, task, n, rank, sinks)
        if n == tried:
            break
        if sinks:
            without_tried = suppose_away(model, state, standing, 0, tried)
        without_n = suppose_away(model, state, standing, tried, n)
        unit = fastest_free(model, state, task)
        if unit < 0:
            tried, without_tried = n, without_n
            n *= 2
    while n - tried > 1:  # room without the first n, none without the first `tried`
        middle = (tried + n) >> 1
        undo(model, state, without_tried)
        without_middle = suppose_away(model, state, standing, tried, middle)
        there = fastest_free(model, state, task)
        if there >= 0:
            n, unit = middle, there
        else:
            tried, without_tried = middle, without_middle
    end_trial(model, state, begun)
    return n, unit
