"""Which running tasks leave so that a pending one can start: Kueue's classic preemption; fair.py has fair sharing."""

from collections.abc import Mapping
from typing import Any

from vinesim.policies.kueue.candidates import borrows_what_is_wanted, find_candidates, is_own
from vinesim.policies.kueue.enough import ENOUGH, fewest, let_some_stay
from vinesim.policies.kueue.fair import FAIR, choose_fairly
from vinesim.policies.kueue.shares import asks_for_more, begin_with_use, note_need, suppose_gone
from vinesim.state.layout import OVERFULL
from vinesim.state.queries import priority

VICTIMS: Mapping[str, tuple[str, str]] = {**ENOUGH, **FAIR}


def find_victims(model: Any, state: Any, view: Any, task: int) -> bool:
    """Find out which tasks leave for one that found no room. Returns whether that makes room."""
    scratch, options = view.scratch, view.options
    begin_with_use(state, view)
    note_need(model, state, view, task)
    may_borrow = options.fair_sharing == 1 or options.borrow_within_cohort.lower_priority
    if asks_for_more(model, view) and (options.reclaim_within_cohort.never or not may_borrow):
        return False
    find_candidates(model, state, view, task)
    n = choose_fairly(model, state, view, task) if options.fair_sharing else choose(model, state, view, task)
    borrows = options.fair_sharing or scratch.borrows[0] == 1
    scratch.n_victims[0] = let_some_stay(model, state, view, task, n, borrows) if n > 0 else 0
    return bool(n > 0)


def choose(model: Any, state: Any, view: Any, task: int) -> int:
    """Choose by the first of these ways that makes room; return how many leave, 0 if none does."""
    scratch, n = view.scratch, 0
    all_own = n_of_others(model, view, task) == 0
    scratch.borrows[0] = 1
    if all_own or view.options.borrow_within_cohort.lower_priority:  # all are if nobody reclaims
        n = choose_from(model, state, view, task, all_own)
    if n == 0 and not all_own and is_below_nominal(model, state, view):
        scratch.borrows[0] = 0
        n = choose_from(model, state, view, task, False)
    if n == 0 and not all_own:
        scratch.borrows[0] = 1
        n = choose_from(model, state, view, task, True)
    return n


def n_of_others(model: Any, view: Any, task: int) -> int:
    """Return how many candidates are of other queues."""
    n = 0
    for i in range(view.scratch.n_candidates[0]):
        n += int(not is_own(model, task, int(view.scratch.candidates[i])))
    return n


def is_below_nominal(model: Any, state: Any, view: Any) -> bool:
    """Whether the queue of the task uses less than each wanted quota says."""
    scratch = view.scratch
    begin_with_use(state, view)
    for quota in range(len(scratch.is_wanted)):
        if scratch.is_wanted[quota] == 1 and scratch.use[quota] * OVERFULL >= model.quota_nominal[quota]:
            return False
    return True


def choose_from(model: Any, state: Any, view: Any, task: int, only_own: bool) -> int:
    """Choose as few of the candidates as make room, in their order, or only of those of the same queue: with
    ``borrows`` others only if they are less urgent, and up to the threshold."""
    scratch, n = view.scratch, 0
    begin_with_use(state, view)
    most = view.options.max_priority_threshold
    for i in range(scratch.n_candidates[0]):
        other = int(scratch.candidates[i])
        if not is_own(model, task, other):
            value = priority(model, state, other)
            is_low = value < priority(model, state, task) and value <= most
            if only_own or not (is_low or scratch.borrows[0] == 0):
                continue
            if not borrows_what_is_wanted(model, state, view, task, other):
                continue
        scratch.victims[n] = other
        n += 1
        suppose_gone(model, state, view, other)
    return fewest(model, state, view, task, 0, n, scratch.borrows[0] == 1)
