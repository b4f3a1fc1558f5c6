"""Which running tasks a pending one may preempt, in the order in which they are tried."""

from collections.abc import Mapping
from typing import Any

from vinesim.policies.kueue.running import IN_ORDER, put_in_order
from vinesim.policies.kueue.shares import account_of, amount_held, is_borrowing, queue_of
from vinesim.state.places import may_hold
from vinesim.state.queries import priority, started_us

CANDIDATES: Mapping[str, tuple[str, str]] = {
    **IN_ORDER,
    "candidates": ("i4", "queue"),  # those of other queues come first
    "n_candidates": ("i8", "one"),
    "n_others": ("i8", "one"),  # of other queues
    "lends": ("i8", "partitions"),  # it is another queue, and borrows what is wanted
    "is_wanted": ("i8", "quotas"),  # the task lacks room in this quota; or it needs it, and lacks none
}


def find_candidates(model: Any, state: Any, view: Any, task: int, may_reclaim: bool) -> None:
    """Find the tasks that one may preempt by the options, in order; what is wanted was noted."""
    scratch = view.scratch
    n = find_others(model, state, view, task) if may_reclaim else 0
    scratch.n_others[0] = n
    if not view.options.within_cluster_queue.never:
        n = find_own(model, state, view, task, n)
    scratch.n_candidates[0] = n


def find_others(model: Any, state: Any, view: Any, task: int) -> int:
    """Find candidates in other queues; return how many there are."""
    scratch, own, n_lend, n = view.scratch, queue_of(model, task), 0, 0
    for queue in range(len(scratch.lends)):
        scratch.lends[queue] = int(queue != own and borrows_any_wanted(model, view, queue))
        n_lend += scratch.lends[queue]
    if n_lend == 0:
        return 0
    put_in_order(model, state, view)
    for i in range(scratch.n_in_order[0]):
        other = int(scratch.in_order[i])
        if not view.options.reclaim_within_cohort.any and priority(model, state, other) >= priority(model, state, task):
            break
        if scratch.lends[queue_of(model, other)] == 1 and may_leave(model, state, view, task, other):
            scratch.candidates[n] = other
            n += 1
    return n


def has_own(model: Any, state: Any, view: Any, task: int) -> bool:
    """Whether a task of the same queue runs that is not more urgent."""
    put_in_order(model, state, view)
    i = int(view.scratch.first_of_queue[queue_of(model, task)]) - 1
    return bool(i >= 0 and priority(model, state, int(view.scratch.in_order[i])) <= priority(model, state, task))


def find_own(model: Any, state: Any, view: Any, task: int, n: int) -> int:
    """Find candidates in the same queue, after the n others; return how many there are together."""
    scratch = view.scratch
    put_in_order(model, state, view)
    i = int(scratch.first_of_queue[queue_of(model, task)]) - 1
    while i >= 0 and not is_too_urgent(model, state, view, task, int(scratch.in_order[i])):
        other = int(scratch.in_order[i])
        if may_leave(model, state, view, task, other):
            scratch.candidates[n] = other
            n += 1
        i = int(scratch.next_of_queue[i]) - 1
    return n


def is_too_urgent(model: Any, state: Any, view: Any, task: int, other: int) -> bool:
    """Whether a running task, as those after it in the order, is too urgent to leave for one that is tried."""
    mine, theirs = priority(model, state, task), priority(model, state, other)
    if is_own(model, task, other):
        return bool(
            theirs > mine or (theirs == mine and not view.options.within_cluster_queue.lower_or_newer_equal_priority)
        )
    return bool(not view.options.reclaim_within_cohort.any and theirs >= mine)


def may_leave(model: Any, state: Any, view: Any, task: int, other: int) -> bool:
    """Whether a running task that is not too urgent may leave for one that is tried: nobody leaves at the instant at
    which it started, and only who uses what is wanted does."""
    if started_us(model, state, other) >= view.now_us:
        return False
    if not is_own(model, task, other):
        return borrows_what_is_wanted(model, state, view, task, other)
    is_newer = priority(model, state, other) < priority(model, state, task) or other > task
    return is_newer and uses_what_is_wanted(model, state, view, other)


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


def borrows_any_wanted(model: Any, view: Any, queue: int) -> bool:
    """Whether a queue borrows anything that is wanted."""
    for quota in range(len(model.quota_partition)):
        is_lent = model.quota_partition[quota] == queue and is_borrowing(model, view, quota)
        if is_lent and is_wanted_in(model, view, int(model.quota_cohort[quota])):
            return True
    return False


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
    """Whether a task of another queue uses a quota of which its queue borrows the wanted amounts."""
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
