"""The queues, one a partition, and which task of them is tried next.

The first pending task of a group stands for it: the others of the group are younger and alike. A group whose first task
could neither start nor preempt anybody is parked: it is not tried again before a task has ended, was preempted, or was
started at an earlier instant.
"""

from collections.abc import Mapping
from typing import Any

from vinesim.policies.kueue.shares import SHARES, begin_with_use, needs_to_borrow, note_need, queue_of, share_with_need
from vinesim.state.layout import ARRIVAL
from vinesim.state.queries import first_pending, group, priority

QUEUES: Mapping[str, tuple[str, str]] = {
    **SHARES,
    "head": ("i8", "partitions"),  # 1 + the group whose first task is tried next of each queue
    "parked": ("i8", "groups"),  # 1 + the first task of the group that was tried in vain
    "parked_at": ("i8", "groups"),  # n_changes then
    "n_changes": ("i8", "one"),  # after which tasks are tried again
    "has_started": ("i8", "one"),  # a task since the last of these
    "decided_us": ("f8", "one"),  # the last instant
    "preemptor": ("i8", "one"),  # 1 + the task that starts once its victims have left
}


def note_change(view: Any) -> None:
    """Note whether tasks that were tried in vain may have room, or others to preempt."""
    scratch = view.scratch
    is_later = view.now_us > scratch.decided_us[0]
    if view.event != ARRIVAL or (is_later and scratch.has_started[0] == 1):
        scratch.n_changes[0] += 1
        scratch.has_started[0] = 0
    scratch.decided_us[0] = view.now_us


def park(model: Any, state: Any, view: Any, task: int) -> None:
    """Let a task, and those of its group, wait for the next change."""
    of = group(model, state, task)
    view.scratch.parked[of] = task + 1
    view.scratch.parked_at[of] = view.scratch.n_changes[0]


def is_parked(view: Any, of: int, task: int) -> bool:
    """Whether the first task of a group waits for a change."""
    scratch = view.scratch
    return bool(scratch.parked[of] == task + 1 and scratch.parked_at[of] == scratch.n_changes[0])


def first_head(model: Any, state: Any, view: Any) -> int:
    """Return the task that is tried next: of the first tasks of all queues, the first; -1 if there is none."""
    find_heads(model, state, view)
    begin_with_use(state, view)
    best, best_value, scratch = -1, 0.0, view.scratch
    for queue in range(len(scratch.head)):
        if scratch.head[queue] > 0:
            of = int(scratch.head[queue]) - 1
            task = int(first_pending(model, state, of))
            if not is_parked(view, of, task):
                note_need(model, state, view, task)
                value = 1.0 if needs_to_borrow(model, view) else 0.0
                if view.options.fair_sharing:
                    value = share_with_need(model, view, queue)
                if best < 0 or value < best_value or (value == best_value and comes_first(model, state, task, best)):
                    best, best_value = task, value
    return best


def find_heads(model: Any, state: Any, view: Any) -> None:
    """Find the first task of each queue; without ``strict_fifo`` one that is not parked."""
    head = view.scratch.head
    for queue in range(len(head)):
        head[queue] = 0
    for of in range(len(model.group_task_type)):
        task = int(first_pending(model, state, of))
        if task >= 0 and (view.options.queueing_strategy.strict_fifo or not is_parked(view, of, task)):
            queue = queue_of(model, task)
            other = int(first_pending(model, state, int(head[queue]) - 1)) if head[queue] > 0 else -1
            if other < 0 or comes_first(model, state, task, other):
                head[queue] = of + 1


def comes_first(model: Any, state: Any, task: int, other: int) -> bool:
    """Whether a task is more urgent than another one, or as urgent and older."""
    mine, theirs = priority(model, state, task), priority(model, state, other)
    return bool(mine > theirs or (mine == theirs and task < other))
