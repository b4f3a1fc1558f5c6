"""The policy kueue without what it keeps and skips: queues, running tasks and victims are searched each time."""

from typing import Any

import pytest

from vinesim.policies.kueue import candidates, enough, policy, running, victims
from vinesim.policies.kueue.queues import comes_first, is_parked, note_value
from vinesim.policies.kueue.shares import queue_of
from vinesim.state import queries
from vinesim.state.places import end_of_members


def search_plainly(patch: pytest.MonkeyPatch) -> None:
    """Let the policy search so until the patch is undone."""
    patch.setattr(policy, "first_head", first_head)
    patch.setattr(policy, "is_within_quotas", lambda model, state, task: True)
    patch.setattr(candidates, "put_in_order", put_in_order)
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
