"""What all forms of backfilling share: when they look at their queue, and their two kinds of chains.

The queue is a doubly linked chain of the waiting tasks in order of arrival. What is expected of a unit, or of all, is a
chain of changes of load in order of time: a running task takes its demand until its expected end, a reservation from
its begin to its expected end. Changes are numbered from 1, so that 0 means none: change 2 t + 1 is the begin of task t,
and 2 t + 2 its end.
"""

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


def insert_in_order(time_of_us: Any, following: Any, first: Any, chain: int, change: int, time_us: float) -> None:
    """Insert a change into a chain, behind those of the same time. The arrays hold the times and the links of changes,
    and the first one of each chain."""
    time_of_us[change - 1] = time_us
    last, ahead = 0, int(first[chain])
    while ahead > 0 and time_of_us[ahead - 1] <= time_us:
        last, ahead = ahead, int(following[ahead - 1])
    following[change - 1] = ahead
    if last > 0:
        following[last - 1] = change
    else:
        first[chain] = change


def take_out(following: Any, first: Any, chain: int, change: int) -> None:
    """Remove a change from a chain."""
    last, ahead = 0, int(first[chain])
    while ahead != change:
        last, ahead = ahead, int(following[ahead - 1])
    if last > 0:
        following[last - 1] = following[change - 1]
    else:
        first[chain] = following[change - 1]


def to_be_indexed(scratch: Any, unit: int) -> None:
    """Record that the unit has changed."""
    list_once(scratch.is_stale, scratch.stale, scratch.n_stale, unit)


def list_once(is_listed: Any, listed: Any, n_listed: Any, number: int) -> None:
    """Add a number to a list unless it is there."""
    if is_listed[number] == 0:
        is_listed[number] = 1
        listed[n_listed[0]] = number
        n_listed[0] += 1


def task_of(change: int) -> int:
    """Return the task that a change belongs to."""
    return (change - 1) >> 1


def is_begin(change: int) -> bool:
    """Whether a change is the begin of a reservation."""
    return (change - 1) & 1 == 0
