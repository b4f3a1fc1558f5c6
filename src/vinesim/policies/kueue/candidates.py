"""Which running tasks a pending one may preempt, in the order in which they are tried."""

from collections.abc import Mapping
from typing import Any

from vinesim.policies.kueue.shares import account_of, amount_held, is_borrowing, queue_of
from vinesim.state.places import end_of_members, may_hold
from vinesim.state.queries import next_running, priority, started_us

CANDIDATES: Mapping[str, tuple[str, str]] = {
    "candidates": ("i4", "queue"),
    "n_candidates": ("i8", "one"),
    "is_wanted": ("i8", "quotas"),  # the task lacks room in this quota; or it needs it, and lacks none
}


def find_candidates(model: Any, state: Any, view: Any, task: int) -> None:
    """Find the tasks that one may preempt by the options, in order; its need was noted."""
    scratch, n = view.scratch, 0
    note_wanted(model, state, view)
    other = int(next_running(model, state, -1))
    while other >= 0:
        if started_us(model, state, other) < view.now_us and is_candidate(model, state, view, task, other):
            scratch.candidates[n] = other
            n += 1
        other = int(next_running(model, state, end_of_members(model, state, other) - 1))
    scratch.n_candidates[0] = n
    sort_candidates(model, state, view, task)


def note_wanted(model: Any, state: Any, view: Any) -> None:
    """Note the quotas in which the task lacks room; all that it needs if it lacks room elsewhere."""
    scratch, n_lacking = view.scratch, 0
    for quota in range(len(scratch.need)):
        need = scratch.need[quota]
        lacks = need > 0.0 and not may_hold(model, state, quota, scratch.use[quota] + need)
        scratch.is_wanted[quota] = int(lacks)
        n_lacking += int(lacks)
    for quota in range(len(scratch.need)):
        if n_lacking == 0 and scratch.need[quota] > 0.0:
            scratch.is_wanted[quota] = 1


def is_own(model: Any, task: int, other: int) -> bool:
    """Whether two tasks are of the same queue."""
    return queue_of(model, task) == queue_of(model, other)


def is_candidate(model: Any, state: Any, view: Any, task: int, other: int) -> bool:
    """Whether a task may preempt a running one."""
    mine, theirs = priority(model, state, task), priority(model, state, other)
    if is_own(model, task, other):
        within = view.options.within_cluster_queue
        is_newer = within.lower_or_newer_equal_priority and theirs == mine and other > task
        may_leave = not within.never and (theirs < mine or is_newer)
        return bool(may_leave and uses_what_is_wanted(model, state, view, other))
    reclaim = view.options.reclaim_within_cohort
    may_leave = reclaim.any or (reclaim.lower_priority and theirs < mine)
    return bool(may_leave and borrows_what_is_wanted(model, state, view, task, other))


def uses_what_is_wanted(model: Any, state: Any, view: Any, other: int) -> bool:
    """Whether a task of the same queue uses a quota that is wanted; true if none is."""
    account, is_any_wanted = account_of(model, other), False
    for quota in range(len(view.scratch.is_wanted)):
        is_any_wanted = is_any_wanted or view.scratch.is_wanted[quota] == 1
    if account >= 0:
        for i in range(model.account_first[account], model.account_first[account + 1]):
            quota = int(model.account_quota[i])
            if view.scratch.is_wanted[quota] == 1 and amount_held(model, state, other, quota) > 0.0:
                return True
    return not is_any_wanted


def borrows_what_is_wanted(model: Any, state: Any, view: Any, task: int, other: int) -> bool:
    """Whether a task of another queue uses a quota of which its queue borrows what is wanted."""
    account = account_of(model, other)
    if account < 0 or account_of(model, task) < 0:
        return False
    for i in range(model.account_first[account], model.account_first[account + 1]):
        quota = int(model.account_quota[i])
        is_lent = is_wanted_in(model, view, int(model.quota_cohort[quota])) and is_borrowing(model, view, quota)
        if is_lent and amount_held(model, state, other, quota) > 0.0:
            return True
    return False


def is_wanted_in(model: Any, view: Any, cohort: int) -> bool:
    """Whether what the quotas of a cohort count is wanted."""
    if cohort < 0:
        return False
    for i in range(model.cohort_first[cohort], model.cohort_first[cohort + 1]):
        if view.scratch.is_wanted[model.cohort_quota[i]] == 1:
            return True
    return False


def sort_candidates(model: Any, state: Any, view: Any, task: int) -> None:
    """Put the candidates in order (Shell's method)."""
    candidates, n = view.scratch.candidates, int(view.scratch.n_candidates[0])
    gap = n >> 1
    while gap > 0:
        for i in range(gap, n):
            moved, j = int(candidates[i]), i
            while j >= gap and leaves_first(model, state, task, moved, int(candidates[j - gap])):
                candidates[j] = candidates[j - gap]
                j -= gap
            candidates[j] = moved
        gap >>= 1


def leaves_first(model: Any, state: Any, task: int, one: int, other: int) -> bool:
    """Whether one candidate is tried before another: of another queue, of lower priority, started later, younger."""
    if is_own(model, task, one) != is_own(model, task, other):
        return not is_own(model, task, one)
    if priority(model, state, one) != priority(model, state, other):
        return bool(priority(model, state, one) < priority(model, state, other))
    if started_us(model, state, one) != started_us(model, state, other):
        return bool(started_us(model, state, one) > started_us(model, state, other))
    return one > other
