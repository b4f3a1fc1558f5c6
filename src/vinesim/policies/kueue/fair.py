"""Which running tasks leave so that a pending one can start, by fair sharing."""

import math
from collections.abc import Mapping
from typing import Any

from vinesim.policies.kueue.candidates import borrows_any_wanted, is_too_urgent, may_leave
from vinesim.policies.kueue.enough import are_enough, fewest
from vinesim.policies.kueue.running import put_in_order
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
    "n_choices": ("i8", "one"),
    "taken_at": ("i8", "queue"),  # n_choices when the task at this place of the order became a victim
    "first_left": ("i8", "partitions"),  # 1 + the place of the first task of a queue that is none; 0: no more leave
    "share_now": ("f8", "partitions"),  # of each queue, without the victims
}


def choose_fairly(model: Any, state: Any, view: Any, task: int, may_reclaim: bool) -> int:
    """Choose as few running tasks as make room; return how many, 0 if not even all that may leave do."""
    scratch, strategies = view.scratch, view.options.preemption_strategies
    begin_with_use(state, view)
    put_in_order(model, state, view)
    scratch.n_choices[0] += 1
    n, too_few = 0, 0
    for strategy in range(2):
        if not (strategies.initial_share if strategy == 0 else strategies.final_share):
            begin_to_choose(model, view, queue_of(model, task), may_reclaim)
            taken = next_to_leave(model, state, view, task, strategy == 0)
            while taken >= 0:
                other = int(scratch.in_order[taken])
                scratch.taken_at[taken] = scratch.n_choices[0]
                scratch.victims[n] = other
                suppose_gone(model, state, view, other)
                scratch.share_now[queue_of(model, other)] = share(model, view, queue_of(model, other))
                n += 1
                if n >= 2 * too_few:  # at 1, 2, 4, ...
                    if are_enough(model, state, view, task, scratch.victims, n, True):
                        return fewest(model, state, view, task, too_few, n, True)
                    too_few = n
                taken = next_to_leave(model, state, view, task, strategy == 0)
    return fewest(model, state, view, task, too_few, n, True)


def begin_to_choose(model: Any, view: Any, own: int, may_reclaim: bool) -> None:
    """Begin with the first task of each queue from which tasks may leave."""
    scratch = view.scratch
    for queue in range(len(scratch.first_left)):
        scratch.share_now[queue] = share(model, view, queue)
        scratch.first_left[queue] = scratch.first_of_queue[queue]
        if (queue == own and view.options.within_cluster_queue.never) or (queue != own and not may_reclaim):
            scratch.first_left[queue] = 0


def next_to_leave(model: Any, state: Any, view: Any, task: int, by_final: bool) -> int:
    """Return the place of the task that leaves next, of the queue with the highest share; -1 if there is none."""
    scratch, own = view.scratch, queue_of(model, task)
    while True:
        queue, highest = -1, 0.0
        for other in range(len(scratch.first_left)):
            if scratch.first_left[other] > 0 and (queue < 0 or scratch.share_now[other] > highest):
                queue, highest = other, scratch.share_now[other]
        if queue < 0:
            return -1
        mine = share_with_need(model, view, own)
        if queue == own or (is_low(mine, highest, by_final) and borrows_any_wanted(model, view, queue)):
            found = first_of(model, state, view, task, queue, mine, by_final)
            if found >= 0:
                return found
        scratch.first_left[queue] = 0  # nobody lowers its share by staying


def first_of(model: Any, state: Any, view: Any, task: int, queue: int, mine: float, by_final: bool) -> int:
    """Return the place of the first task of a queue that may leave by a strategy; -1 if none may."""
    scratch, own = view.scratch, queue_of(model, task)
    i = int(scratch.first_left[queue]) - 1
    while i >= 0 and not is_too_urgent(model, state, view, task, int(scratch.in_order[i])):
        other = int(scratch.in_order[i])
        if scratch.taken_at[i] == scratch.n_choices[0]:
            if scratch.first_left[queue] == i + 1 and scratch.next_of_queue[i] > 0:
                scratch.first_left[queue] = scratch.next_of_queue[i]
        elif may_leave(model, state, view, task, other) and (
            queue == own or not by_final or is_low(mine, share_without(model, state, view, queue, other), True)
        ):
            return i
        i = int(scratch.next_of_queue[i]) - 1
    return -1


def is_low(mine: float, theirs: float, by_final: bool) -> bool:
    """Whether the share of a queue, with the task that is tried, is low enough against the share of another queue, by a
    strategy: against its share before a task of it leaves, or, by the final strategy, after that."""
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
