"""The queues, one a partition, and which task of them is tried next.

The first pending task of a group stands for it: the others of the group are younger and alike. A group whose first task
could neither start nor preempt anybody is parked: it is not tried again before a task has ended, was preempted, or was
started at an earlier instant. In a decision each queue has a heap of the first tasks of its groups.
"""

from collections.abc import Mapping
from typing import Any

from vinesim.policies.kueue.shares import SHARES, begin_with_use, needs_to_borrow, note_need, queue_of, share_with_need
from vinesim.state.layout import ARRIVAL
from vinesim.state.queries import first_pending, group, priority
from vinesim.state.skew_heap import join, without_root

QUEUES: Mapping[str, tuple[str, str]] = {
    **SHARES,
    "head": ("i8", "partitions"),  # 1 + the task that is tried next of each queue: the root of its heap
    "rank": ("f8", "tasks"),  # of a task in a heap
    "left": ("i4", "tasks"),  # the heaps, as in state/skew_heap.py
    "right": ("i4", "tasks"),
    "is_lined_up": ("i8", "one"),  # the heaps are those of this decision
    "valued": ("i8", "partitions"),  # 1 + the task of each queue whose value that is
    "value": ("f8", "partitions"),  # by which queues are compared, the lowest first
    "parked": ("i8", "groups"),  # 1 + the first task of the group that was tried in vain
    "parked_at": ("i8", "groups"),  # n_changes then
    "n_changes": ("i8", "one"),  # after which tasks are tried again
    "has_started": ("i8", "one"),  # a task since the last of these
    "decided_us": ("f8", "one"),  # the last instant
    "preemptor": ("i8", "one"),  # 1 + the task that starts once its victims have left
}


def note_change(view: Any) -> None:
    """Begin a decision: note whether tasks that were tried in vain may have room, or others to preempt."""
    scratch = view.scratch
    scratch.is_lined_up[0], scratch.is_in_order[0] = 0, 0
    is_later = view.now_us > scratch.decided_us[0]
    if view.event != ARRIVAL or (is_later and scratch.has_started[0] == 1):
        scratch.n_changes[0] += 1
        scratch.has_started[0] = 0
    scratch.decided_us[0] = view.now_us


def park(model: Any, state: Any, view: Any, task: int) -> None:
    """Let the tasks of a group wait for the next change."""
    of = group(model, state, task)
    view.scratch.parked[of] = task + 1
    view.scratch.parked_at[of] = view.scratch.n_changes[0]


def is_parked(view: Any, of: int, task: int) -> bool:
    """Whether the first task of a group waits for a change."""
    scratch = view.scratch
    return bool(scratch.parked[of] == task + 1 and scratch.parked_at[of] == scratch.n_changes[0])


def first_head(model: Any, state: Any, view: Any) -> int:
    """Return the task that is tried next: of the first tasks of all queues, the first; -1 if there is none."""
    best, best_value, scratch = -1, 0.0, view.scratch
    if scratch.is_lined_up[0] == 0:
        line_up(model, state, view)
    for queue in range(len(scratch.head)):
        pass_over_parked(model, state, view, queue)
        task = int(scratch.head[queue]) - 1
        if task >= 0:
            if scratch.valued[queue] != task + 1:
                note_value(model, state, view, queue, task)
            value = scratch.value[queue]
            if best < 0 or value < best_value or (value == best_value and comes_first(model, state, task, best)):
                best, best_value = task, value
    return best


def line_up(model: Any, state: Any, view: Any) -> None:
    """Put the first task of each group into the heap of its queue; without ``strict_fifo`` unless it is parked."""
    scratch = view.scratch
    scratch.is_lined_up[0] = 1
    for queue in range(len(scratch.head)):
        scratch.head[queue], scratch.valued[queue] = 0, 0
    for of in range(len(model.group_task_type)):
        task = int(first_pending(model, state, of))
        if task >= 0 and (view.options.queueing_strategy.strict_fifo or not is_parked(view, of, task)):
            queue = queue_of(model, task)
            scratch.rank[task], scratch.left[task], scratch.right[task] = -priority(model, state, task), 0, 0
            scratch.head[queue] = join(scratch.rank, scratch.left, scratch.right, 1, scratch.head[queue], task + 1)


def pass_over_parked(model: Any, state: Any, view: Any, queue: int) -> None:
    """Make the first task of a queue that is not parked its head; with ``strict_fifo``, none follows a parked one."""
    scratch, head = view.scratch, int(view.scratch.head[queue])
    while head > 0 and is_parked(view, group(model, state, head - 1), head - 1):
        if view.options.queueing_strategy.strict_fifo:
            head = 0
        else:
            head = int(without_root(scratch.rank, scratch.left, scratch.right, 1, head))
    scratch.head[queue] = head


def note_value(model: Any, state: Any, view: Any, queue: int, task: int) -> None:
    """Note by what the first task of a queue is compared: its queue's share with it, or whether it needs to borrow."""
    begin_with_use(state, view)
    note_need(model, state, view, task)
    if view.options.fair_sharing:
        view.scratch.value[queue] = share_with_need(model, view, queue)
    else:
        view.scratch.value[queue] = 1.0 if needs_to_borrow(model, view) else 0.0
    view.scratch.valued[queue] = task + 1


def comes_first(model: Any, state: Any, task: int, other: int) -> bool:
    """Whether a task is more urgent than another one, or as urgent and older."""
    mine, theirs = priority(model, state, task), priority(model, state, other)
    return bool(mine > theirs or (mine == theirs and task < other))
