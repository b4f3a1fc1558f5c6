"""What queues use, would use, and borrow of their quotas; and their shares of what their cohort can lend."""

import math
from collections.abc import Mapping
from typing import Any

from vinesim.state.layout import OVERFULL
from vinesim.state.places import end_of_members, gang_of, is_member
from vinesim.state.queries import counted_amount, is_running, task_type

SHARES: Mapping[str, tuple[str, str]] = {
    "use": ("f8", "quotas"),  # what tasks hold of each quota, as far as they are not supposed to leave
    "need": ("f8", "quotas"),  # the least that the task that is tried would hold of it
}


def queue_of(model: Any, task: int) -> int:
    """Return the queue of a task: the row of its partition, 0 if it has none."""
    return int(model.job_partition[model.task_job[task]]) if len(model.job_partition) > 0 else 0


def account_of(model: Any, task: int) -> int:
    """Return the account of a task, -1 if it counts against no quota."""
    return int(model.job_account[model.task_job[task]]) if len(model.job_account) > 0 else -1


def begin_with_use(state: Any, view: Any) -> None:
    """Begin with what running tasks hold."""
    for quota in range(len(view.scratch.use)):
        view.scratch.use[quota] = state.quota_held[quota]


def note_need(model: Any, state: Any, view: Any, task: int) -> None:
    """Note the least that a pending task would hold of its quotas, with its gang."""
    need, account = view.scratch.need, account_of(model, task)
    for quota in range(len(need)):
        need[quota] = 0.0
    if account < 0:
        return
    for i in range(model.account_first[account], model.account_first[account + 1]):
        quota = int(model.account_quota[i])
        counted = int(model.quota_counts[quota])
        need[quota] += model.class_least[task_type(model, state, task), counted]
        for member in range(task + 1, end_of_members(model, state, task)):
            if is_member(model, state, task, member):
                need[quota] += model.class_least[task_type(model, state, member), counted]


def needs_to_borrow(model: Any, view: Any) -> bool:
    """Whether the task that is tried would use more of a quota than that says."""
    scratch = view.scratch
    for quota in range(len(scratch.need)):
        used = scratch.use[quota] + scratch.need[quota]
        if scratch.need[quota] > 0.0 and used > model.quota_nominal[quota] * OVERFULL:
            return True
    return False


def asks_for_more(model: Any, view: Any) -> bool:
    """Whether that task alone would use more of a quota than that says."""
    for quota in range(len(view.scratch.need)):
        if view.scratch.need[quota] > model.quota_nominal[quota] * OVERFULL:
            return True
    return False


def is_borrowing(model: Any, view: Any, quota: int) -> bool:
    """Whether more is used of a quota than that says."""
    return bool(view.scratch.use[quota] > model.quota_nominal[quota] * OVERFULL)


def amount_held(model: Any, state: Any, task: int, quota: int) -> float:
    """Return what a running task, with its gang, holds of a quota against which it counts."""
    first, end = gang_of(model, task)
    total, counted = 0.0, int(model.quota_counts[quota])
    for member in range(first, end):
        if is_running(model, state, member):
            total += counted_amount(model, state, member, int(state.task_unit[member]), counted)
    return total


def suppose_gone(model: Any, state: Any, view: Any, task: int) -> None:
    """Suppose that a running task, with its gang, uses nothing."""
    account = account_of(model, task)
    if account < 0:
        return
    for i in range(model.account_first[account], model.account_first[account + 1]):
        quota = int(model.account_quota[i])
        view.scratch.use[quota] = max(0.0, view.scratch.use[quota] - amount_held(model, state, task, quota))


def share_with_need(model: Any, view: Any, queue: int) -> float:
    """Return the share of a queue if the task that is tried, of this queue, ran."""
    return share_of(model, view, queue, 1.0, -1, 0.0)


def share(model: Any, view: Any, queue: int) -> float:
    """Return the share of a queue now."""
    return share_of(model, view, queue, 0.0, -1, 0.0)


def share_without(model: Any, state: Any, view: Any, queue: int, task: int) -> float:
    """Return the share of a queue without one of its running tasks."""
    largest = 0.0
    for quota in range(len(model.quota_partition)):
        if model.quota_partition[quota] == queue:
            part = share_of(model, view, queue, 0.0, quota, amount_held(model, state, task, quota))
            largest = max(largest, part)
    return largest


def share_of(model: Any, view: Any, queue: int, with_need: float, only: int, less: float) -> float:
    """Return the largest, over the quotas of a queue or of one, of what it borrows by what its cohort can lend, divided
    by its weight; infinite for a queue of weight 0 that borrows. ``less`` is not counted."""
    largest, scratch = 0.0, view.scratch
    for quota in range(len(model.quota_partition)):
        if model.quota_partition[quota] == queue and (only < 0 or quota == only):
            cohort = model.quota_cohort[quota]
            used = scratch.use[quota] + with_need * scratch.need[quota] - less
            borrowed = used - model.quota_nominal[quota]
            if cohort >= 0 and used > model.quota_nominal[quota] * OVERFULL and borrowed > 0.0:
                lent, weight = model.cohort_lent[cohort], model.partition_weight[queue]
                part = math.inf if lent <= 0.0 or weight <= 0.0 else borrowed / lent / weight
                largest = max(largest, part)
    return largest
