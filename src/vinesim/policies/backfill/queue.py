"""What all forms of backfilling share: when they look at their queue, and the queue itself, a doubly linked chain of
the waiting tasks in order of arrival."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from vinesim.policies.contract import OnlinePolicy
from vinesim.state.queries import more_at_once
from vinesim.state.scratch import TASK_ID_PLUS_1


@dataclass(frozen=True)
class Backfill(OnlinePolicy):
    """Jobs start in order of arrival, later ones in the gaps before the reservations of earlier ones."""

    sees_every_event: ClassVar[bool] = True
    takes_back: ClassVar[bool] = True
    takes_withdrawals: ClassVar[bool] = True
    takes_dependencies: ClassVar[bool] = True
    takes_gangs: ClassVar[bool] = True
    needs_estimates: ClassVar[bool] = True

    passes_at: Literal["instant", "event"] = "instant"


def is_between_passes(model: Any, state: Any, view: Any) -> bool:
    """Whether the policy does not look at its queue yet: more events come at this instant, and it waits for them."""
    return bool(view.options.passes_at.instant and more_at_once(model, state))


IN_ORDER: Mapping[str, tuple[str, str]] = {
    "next": ("i4", "tasks"),  # tasks are numbered from 1, 0 = none
    "previous": ("i4", "tasks"),
    "first": ("i8", "one"),
    "last": ("i8", "one"),
}

IN_ORDER_TASKS = dict.fromkeys(IN_ORDER, TASK_ID_PLUS_1)


def enter(scratch: Any, task: int) -> None:
    """Insert the task into the queue: at the end, unless it returns after an interruption."""
    item = task + 1
    before = int(scratch.last[0])
    while before > item:
        before = int(scratch.previous[before - 1])
    after = int(scratch.next[before - 1]) if before > 0 else int(scratch.first[0])
    scratch.previous[item - 1], scratch.next[item - 1] = before, after
    if before > 0:
        scratch.next[before - 1] = item
    else:
        scratch.first[0] = item
    if after > 0:
        scratch.previous[after - 1] = item
    else:
        scratch.last[0] = item


def waits(scratch: Any, task: int) -> bool:
    """Whether the task is in the queue."""
    return bool(scratch.first[0] == task + 1 or scratch.previous[task] > 0)


def leave(scratch: Any, task: int) -> None:
    """Remove the task from the queue; what follows it there can still be asked for."""
    before, after = int(scratch.previous[task]), int(scratch.next[task])
    if before > 0:
        scratch.next[before - 1] = after
    else:
        scratch.first[0] = after
    if after > 0:
        scratch.previous[after - 1] = before
    else:
        scratch.last[0] = before
    scratch.previous[task] = 0
