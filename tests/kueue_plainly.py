"""The policy kueue without caches and shortcuts: it searches queues, running tasks and victims each time."""

from typing import Any

import pytest

from vinesim.policies.kueue import candidates, enough, fair, policy, running, victims
from vinesim.policies.kueue.queues import comes_first, is_parked, note_value
from vinesim.policies.kueue.shares import queue_of, share, share_with_need, share_without
from vinesim.state import queries
from vinesim.state.places import end_of_members


def search_plainly(patch: pytest.MonkeyPatch) -> None:
    """Make the policy search in this simple way until the patch is undone."""
    patch.setattr(policy, "first_head", first_head)
    patch.setattr(policy, "is_within_quotas", lambda model, state, task: True)
    for module in (candidates, fair):
        patch.setattr(module, "put_in_order", put_in_order)
    patch.setattr(fair, "next_to_leave", next_to_leave)
    patch.setattr(victims, "has_low_share", lambda model, view, queue: True)
    for module in (enough, victims):  # all victims at first, and of them one after the other stays
        patch.setattr(module, "finds_more_room", lambda model, state, task: False)


def first_head(model: Any, state: Any, view: Any) -> int:
    """The first of the first tasks of all queues; each is the first of the first tasks of its groups."""
    scratch, heads = view.scratch, {}
    for of in range(len(model.group_task_type)):
        task = queries.first_pending(model, state, of)
        is_held = not view.options.queueing_strategy.strict_fifo and is_parked(view, of, task)
        if task >= 0 and not is_held:
            queue = queue_of(model, task)
            if queue not in heads or comes_first(model, state, task, heads[queue]):
                heads[queue] = task
    best, best_value = -1, 0.0
    for queue, task in sorted(heads.items()):
        if not is_parked(view, queries.group(model, state, task), task):
            note_value(model, state, view, queue, task)
            value = scratch.value[queue]
            if best < 0 or value < best_value or (value == best_value and comes_first(model, state, task, best)):
                best, best_value = task, value
    return best


def put_in_order(model: Any, state: Any, view: Any) -> None:
    """Sort all running tasks."""
    tasks, task = [], queries.next_running(model, state, -1)
    while task >= 0:
        tasks.append(task)
        task = queries.next_running(model, state, end_of_members(model, state, task) - 1)

    def rank(task: int) -> tuple[float, float, int]:
        return queries.priority(model, state, task), -queries.started_us(model, state, task), -task

    tasks.sort(key=rank)
    view.scratch.n_in_order[0] = len(tasks)
    view.scratch.in_order[: len(tasks)] = tasks
    running.link_queues(model, view.scratch)


def next_to_leave(model: Any, state: Any, view: Any, task: int, by_final: bool) -> int:
    """The first, in the order of all tasks, that may leave of the queue with the highest share; a queue that has none
    when it is looked at loses no more."""
    scratch, own, options = view.scratch, queue_of(model, task), view.options
    mine, left = share_with_need(model, view, own), {}  # of each queue, the first
    for place in range(scratch.n_in_order[0]):
        other = int(scratch.in_order[place])
        queue = queue_of(model, other)
        is_out = scratch.first_left[queue] == 0 or scratch.taken_at[place] == scratch.n_choices[0]
        theirs, limit = queries.priority(model, state, other), queries.priority(model, state, task)
        may_be_equal = other > task and options.within_cluster_queue.lower_or_newer_equal_priority
        is_low = theirs < limit or (theirs == limit and queue == own and may_be_equal)
        if is_out or not (is_low or (queue != own and options.reclaim_within_cohort.any)):
            continue
        if candidates.may_leave(model, state, view, task, other):
            is_fair = fair.is_low(mine, share(model, view, queue), by_final)
            after = share_without(model, state, view, queue, other) if by_final else 0.0
            if queue == own or (is_fair and (not by_final or fair.is_low(mine, after, True))):
                left.setdefault(queue, place)
    for queue in sorted(range(len(scratch.first_left)), key=lambda queue: (-share(model, view, queue), queue)):
        if scratch.first_left[queue] > 0 and queue in left:
            return left[queue]
        scratch.first_left[queue] = 0
    return -1
