"""Which running tasks leave so that a pending one can start: Kueue's classic preemption; fair.py has fair sharing."""

from collections.abc import Mapping
from typing import Any

from vinesim.policies.kueue.candidates import borrows_what_is_wanted, find_candidates, has_own, note_wanted
from vinesim.policies.kueue.enough import ENOUGH, are_enough, fewest, finds_more_room, let_some_stay
from vinesim.policies.kueue.fair import FAIR, choose_fairly, has_low_share
from vinesim.policies.kueue.shares import asks_for_more, begin_with_use, note_need, queue_of, suppose_gone
from vinesim.state.layout import OVERFULL
from vinesim.state.queries import priority

VICTIMS: Mapping[str, tuple[str, str]] = {**ENOUGH, **FAIR}


def find_victims(model: Any, state: Any, view: Any, task: int) -> bool:
    """Find out which tasks leave for one that found no room. Returns whether that makes room."""
    scratch, options = view.scratch, view.options
    if options.within_cluster_queue.never and options.reclaim_within_cohort.never:
        return False
    begin_with_use(state, view)
    note_need(model, state, view, task)
    may_borrow = options.fair_sharing == 1 or options.borrow_within_cohort.lower_priority
    if asks_for_more(model, view) and (options.reclaim_within_cohort.never or not may_borrow):
        return False
    note_wanted(model, state, view)
    may_reclaim = not options.reclaim_within_cohort.never
    if options.fair_sharing:
        own_first = not options.within_cluster_queue.never and has_own(model, state, view, task)
        may_reclaim = may_reclaim and (own_first or has_low_share(model, view, queue_of(model, task)))
        n = choose_fairly(model, state, view, task, may_reclaim) if own_first or may_reclaim else 0
    else:
        may_reclaim = may_reclaim and (may_borrow or is_below_nominal(model, view))
        find_candidates(model, state, view, task, may_reclaim)
        n = choose(model, state, view, task) if scratch.n_candidates[0] > 0 else 0
    borrows = options.fair_sharing or scratch.borrows[0] == 1
    scratch.n_victims[0] = let_some_stay(model, state, view, task, n, borrows) if n > 0 else 0
    return bool(n > 0)


def choose(model: Any, state: Any, view: Any, task: int) -> int:
    """Choose victims in the first of these ways that makes room; return how many leave, 0 if none makes room."""
    scratch, n, is_below = view.scratch, 0, is_below_nominal(model, view)
    scratch.borrows[0] = 1
    if scratch.n_others[0] > 0:
        if view.options.borrow_within_cohort.lower_priority:
            n = choose_from(model, state, view, task, False)
        if n == 0 and is_below:
            scratch.borrows[0] = 0
            n = choose_from(model, state, view, task, False)
    if n == 0:
        scratch.borrows[0] = 1
        n = choose_from(model, state, view, task, True)
    return n


def is_below_nominal(model: Any, view: Any) -> bool:
    """Whether the queue of the task uses less than each wanted quota says."""
    scratch = view.scratch
    for quota in range(len(scratch.is_wanted)):
        if scratch.is_wanted[quota] == 1 and scratch.use[quota] * OVERFULL >= model.quota_nominal[quota]:
            return False
    return True


def choose_from(model: Any, state: Any, view: Any, task: int, only_own: bool) -> int:
    """Choose as few of the candidates as make room, in their order, or only of those of the same queue: with
    ``borrows`` others only if they are less urgent, and up to the threshold."""
    scratch, n, too_few = view.scratch, 0, 0
    n_others, borrows = int(scratch.n_others[0]), scratch.borrows[0] == 1
    begin_with_use(state, view)
    for i in range(n_others if only_own else 0, scratch.n_candidates[0]):
        other = int(scratch.candidates[i])
        if i < n_others:
            value = priority(model, state, other)
            is_low = value < priority(model, state, task) and value <= view.options.max_priority_threshold
            if (borrows and not is_low) or not borrows_what_is_wanted(model, state, view, task, other):
                continue
        scratch.victims[n] = other
        suppose_gone(model, state, view, other)
        n += 1
        if n >= 2 * too_few and finds_more_room(model, state, task):  # at 1, 2, 4, ...
            if are_enough(model, state, view, task, scratch.victims, n, borrows):
                return fewest(model, state, view, task, too_few, n, borrows)
            too_few = n
    return fewest(model, state, view, task, too_few, n, borrows)
