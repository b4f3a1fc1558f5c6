"""Which running tasks leave so that a pending one can start, by fair sharing."""

import math
from collections.abc import Mapping
from typing import Any

from vinesim.policies.kueue.candidates import borrows_what_is_wanted
from vinesim.policies.kueue.enough import are_enough, fewest
from vinesim.policies.kueue.shares import (
    begin_with_use,
    queue_of,
    share,
    share_with_need,
    share_without,
    suppose_gone,
)
from vinesim.state.layout import OVERFULL

FAIR: Mapping[str, tuple[str, str]] = {
    "is_taken": ("i8", "queue"),  # the candidate at this place is among the victims
    "first_left": ("i8", "partitions"),  # 1 + the place of the first candidate of a queue that is not, and may leave
    "next_left": ("i4", "queue"),  # 1 + the place of the next one of the same queue
}


def choose_fairly(model: Any, state: Any, view: Any, task: int) -> int:
    """Choose as few of the candidates as make room; return how many, 0 if not even all do."""
    scratch, strategies = view.scratch, view.options.preemption_strategies
    begin_with_use(state, view)
    for i in range(scratch.n_candidates[0]):
        scratch.is_taken[i] = 0
    n, too_few = 0, 0
    for strategy in range(2):
        if not (strategies.initial_share if strategy == 0 else strategies.final_share):
            begin_to_choose(model, view)
            taken = next_to_leave(model, state, view, task, strategy == 0)
            while taken >= 0:
                scratch.is_taken[taken] = 1
                scratch.victims[n] = scratch.candidates[taken]
                suppose_gone(model, state, view, int(scratch.victims[n]))
                n += 1
                if n >= 2 * too_few:  # at 1, 2, 4, ...
                    if are_enough(model, state, view, task, scratch.victims, n, True):
                        return fewest(model, state, view, task, too_few, n, True)
                    too_few = n
                taken = next_to_leave(model, state, view, task, strategy == 0)
    return fewest(model, state, view, task, too_few, n, True)


def begin_to_choose(model: Any, view: Any) -> None:
    """Link the candidates of each queue that are left."""
    scratch = view.scratch
    for queue in range(len(scratch.first_left)):
        scratch.first_left[queue] = 0
    for i in range(scratch.n_candidates[0] - 1, -1, -1):
        if scratch.is_taken[i] == 0:
            queue = queue_of(model, int(scratch.candidates[i]))
            scratch.next_left[i] = scratch.first_left[queue]
            scratch.first_left[queue] = i + 1


def next_to_leave(model: Any, state: Any, view: Any, task: int, by_final: bool) -> int:
    """Return the place of the candidate that leaves next, of the queue with the highest share; -1 if there is none."""
    scratch, own = view.scratch, queue_of(model, task)
    while True:
        queue, highest = -1, 0.0
        for other in range(len(scratch.first_left)):
            if scratch.first_left[other] > 0:
                value = share(model, view, other)
                if queue < 0 or value > highest:
                    queue, highest = other, value
        if queue < 0:
            return -1
        mine = share_with_need(model, view, own)
        if queue != own and not is_low(mine, highest, by_final):
            scratch.first_left[queue] = 0  # nobody lowers it by staying
            continue
        i, before = int(scratch.first_left[queue]) - 1, -1
        while i >= 0:
            other = int(scratch.candidates[i])
            if queue == own or may_leave(model, state, view, task, other, mine, by_final):
                if before < 0:
                    scratch.first_left[queue] = scratch.next_left[i]
                else:
                    scratch.next_left[before] = scratch.next_left[i]
                return i
            i, before = int(scratch.next_left[i]) - 1, i
        scratch.first_left[queue] = 0


def may_leave(model: Any, state: Any, view: Any, task: int, other: int, mine: float, by_final: bool) -> bool:
    """Whether a task of another queue, whose share is high enough now, may leave by a strategy."""
    if not borrows_what_is_wanted(model, state, view, task, other):
        return False
    return not by_final or is_low(mine, share_without(model, state, view, queue_of(model, other), other), True)


def is_low(mine: float, theirs: float, by_final: bool) -> bool:
    """Whether the share of a queue, with the task that is tried, is low enough against that of another, by a strategy:
    before a task of that leaves, or by the final one after that."""
    if by_final:
        return bool(mine < math.inf and mine <= theirs * OVERFULL)
    return bool(mine * OVERFULL < theirs)


def has_low_share(model: Any, view: Any, queue: int) -> bool:
    """Whether the share of a queue, with the task that is tried, is low enough for any other queue by any strategy."""
    mine, by_final = share_with_need(model, view, queue), not view.options.preemption_strategies.initial_share
    for other in range(len(view.scratch.first_left)):
        if other != queue and is_low(mine, share(model, view, other), by_final):
            return True
    return False
