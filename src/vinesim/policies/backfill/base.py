"""What all forms of backfilling share: what has happened, their queue, and their two kinds of chains.

The queue is a doubly linked chain of the waiting tasks, by rank; of equal ranks, in order of arrival. What is expected
of a unit, or of all, is a chain of changes of load in order of time: a running task takes its demand until its expected
end, a reservation from its begin to its expected end. Changes are numbered from 1, so that 0 means none: change 2 t + 1
is the begin of task t, and 2 t + 2 its end.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, ClassVar, Literal

from vinesim.policies.contract import OnlinePolicy, bound
from vinesim.state.expected import expected_us
from vinesim.state.layout import ATTACHED, OUTAGE, PENDING, TIMER
from vinesim.state.places import end_of_members
from vinesim.state.queries import (
    arrived_task,
    first_interrupted,
    first_withdrawn,
    meets_on_type,
    more_at_once,
    n_arrived,
    next_interrupted,
    next_withdrawn,
    task_type,
)
from vinesim.state.scratch import EVENT_OF_TASK, TASK_COUNT, TASK_ID_PLUS_1

Rank = Callable[[Any, Any, Any, int], float]  # (model, state, view, task)
BY_RANK = "by rank"
OF_FORM = ("decide", "groups", "renumbered", "scratch", "suited_to", "task_numbers")


def rank(model: Any, state: Any, view: Any, task: int) -> float:
    """Stand for the rank of a policy; by itself, that is the order of arrival."""
    return 0.0


@dataclass(frozen=True)
class Backfill(OnlinePolicy):
    """Jobs start in the order of a queue, later ones in the gaps before the reservations of earlier ones.

    The queue is in order of arrival, unless a class of your own has a static function ``rank(model, state, view,
    task)``. The lowest rank comes first, of equal ranks the task that arrived first. A task is asked for its rank when
    it arrives, and when an outage interrupts it; of a gang, the first task is.
    """

    sees_every_event: ClassVar[bool] = True
    takes_back: ClassVar[bool] = True
    takes_withdrawals: ClassVar[bool] = True
    takes_dependencies: ClassVar[bool] = True
    takes_gangs: ClassVar[bool] = True
    needs_estimates: ClassVar[bool] = True
    rank: ClassVar[Rank] = staticmethod(rank)

    passes_at: Literal["instant", "event"] = "instant"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.rank is not rank and "decide" not in vars(cls):
            cls.decide = staticmethod(bound(cls.decide, cls, rank=cls.rank))  # type: ignore[method-assign]
            cls.reserves = BY_RANK
            cls.name, cls.source = vars(cls).get("name", ""), vars(cls).get("source", "")

    def in_form(self, form: type["Backfill"]) -> "Backfill":
        """Return the policy that decides as another class does, with the options and the order of this one."""
        own: Any = type(self)
        other: Any = form
        kind = form if self.rank is rank else _ranked(other, own)
        return kind(**{item.name: getattr(self, item.name) for item in fields(kind)})


@lru_cache(maxsize=64)
def _ranked(form: type[Backfill], kind: type[Backfill]) -> type[Backfill]:
    """Return a class with the options and the order of one class that decides as another one does."""
    names = {name: inspect.getattr_static(form, name) for name in OF_FORM}
    names["decide"] = staticmethod(bound(form.decide, kind, rank=kind.rank))
    return type(kind.__name__, (kind,), {**names, "__module__": kind.__module__, "__doc__": kind.__doc__})


def is_between_passes(model: Any, state: Any, view: Any) -> bool:
    """Whether the policy does not look at its queue yet: more events come at this instant, and it waits for them."""
    return bool(view.options.passes_at.instant and more_at_once(model, state))


def list_of(name: str, size: str) -> Mapping[str, tuple[str, str]]:
    """Return the arrays of a list of numbers, each of which is in it once: see :func:`list_once`."""
    return {name: ("i4", size), f"n_{name}": ("i8", "one"), f"is_{name}": ("u1", size)}


IN_ORDER: Mapping[str, tuple[str, str]] = {
    "next": ("i4", "tasks"),  # tasks are numbered from 1, 0 = none
    "previous": ("i4", "tasks"),
    "first": ("i8", "one"),
    "last": ("i8", "one"),
    "rank": ("f8", "tasks"),
    "is_ranked": ("u1", "one"),  # whether any rank is not 0
    "is_overtaken": ("u1", "one"),  # whether a task has come that is not the last: for the policy, which forgets it
}
KNOWN: Mapping[str, tuple[str, str]] = {
    **IN_ORDER,
    "seen": ("i8", "one"),  # how many of the tasks that have arrived are known
    "is_running": ("u1", "tasks"),
    "change_us": ("f8", "tasks*2"),
    "change_next": ("i4", "tasks*2"),
    "expected": ("f8", "types"),  # how long one task takes on each type, or UNABLE
}
STALE = list_of("stale", "units")  # units that have changed since what is kept of them was brought up to date
KNOWN_TASKS: Mapping[str, str] = {
    **dict.fromkeys(("next", "previous", "first", "last"), TASK_ID_PLUS_1),
    "change_next": EVENT_OF_TASK,
    "change_first": EVENT_OF_TASK,
    "seen": TASK_COUNT,
}
UNABLE = -1.0  # in the place of a time: units of the type cannot run the task, or do not meet its requests
EARLY, OTHERWISE, AS_EXPECTED, NO_CHANGE = range(4)  # what an event changes


# What has happened


def note_event(model: Any, state: Any, view: Any, rank: Rank, note_stop: Callable[..., None]) -> int:
    """Process arrivals, ends, withdrawals and interruptions by outages. Returns what the event changes; NO_CHANGE if
    it was processed before. ``note_stop(scratch, task)`` records that a task no longer runs."""
    scratch, found = view.scratch, NO_CHANGE
    if scratch.seen[0] < n_arrived(model, state):
        for i in range(int(scratch.seen[0]), n_arrived(model, state)):
            task = arrived_task(model, state, i)
            if state.task_unit[task] == PENDING:
                enter(model, state, view, task, rank)
        scratch.seen[0] = n_arrived(model, state)
        found = AS_EXPECTED
    if ends_now(view):
        end_us = scratch.change_us[2 * view.task + 1]
        found = AS_EXPECTED if end_us == view.now_us else EARLY if end_us > view.now_us else OTHERWISE
        note_stop(scratch, view.task)
    if view.event == OUTAGE:
        take_back_interrupted(model, state, view, rank, note_stop)
        found = OTHERWISE
    if (view.event == OUTAGE or view.event == TIMER) and forget_withdrawn(model, state, scratch, note_stop):
        found = OTHERWISE
    return found


def ends_now(view: Any) -> bool:
    """Whether a task has ended of which ``note_event`` does not know it yet."""
    return bool(view.task >= 0 and view.scratch.is_running[view.task] == 1)


def take_back_interrupted(model: Any, state: Any, view: Any, rank: Rank, note_stop: Callable[..., None]) -> None:
    """Take back the tasks that were interrupted: of a gang the first one that is left, to which others are attached."""
    scratch = view.scratch
    task = first_interrupted(model, state)
    while task >= 0:
        if scratch.is_running[task] == 1 and state.task_unit[task] == PENDING:
            note_stop(scratch, task)
            for other in range(task + 1, end_of_members(model, state, task)):
                if scratch.is_running[other] == 1 and state.task_unit[other] == ATTACHED:
                    note_stop(scratch, other)
            enter(model, state, view, task, rank)
        task = next_interrupted(model, state, task)


def forget_withdrawn(model: Any, state: Any, scratch: Any, note_stop: Callable[..., None]) -> bool:
    """Forget the tasks that have left because their jobs are withdrawn. Returns whether there are any that were not
    forgotten before."""
    is_any, task = False, first_withdrawn(model, state)
    while task >= 0:
        if scratch.is_running[task] == 1:
            note_stop(scratch, task)
            is_any = True
        elif waits(scratch, task):
            leave(scratch, task)
            is_any = True
        task = next_withdrawn(model, state, task)
    return is_any


def longest_expected_us(model: Any, state: Any, task: int, low: int, high: int) -> float:
    """Return the longest expected time of a task on those of the types [low, high) that can run it; UNABLE if one of
    them does not provide what it requests, or there is none."""
    longest_us, own_type = UNABLE, task_type(model, state, task)
    for p in range(low, high):
        if model.affinity[p, own_type] > 0.0:
            if not meets_on_type(model, state, task, p):
                return UNABLE
            longest_us = max(longest_us, expected_us(model, state, task, p))
    return longest_us


# The queue


def first_waiting(scratch: Any) -> int:
    """Return the first task of the queue; -1 if there is none."""
    return int(scratch.first[0]) - 1


def next_waiting(scratch: Any, task: int) -> int:
    """Return the task that follows, or followed when the task left; -1 if there is none."""
    return int(scratch.next[task]) - 1


def goes_before(scratch: Any, task: int, other: int) -> bool:
    """Whether a task comes before another one in the queue."""
    own, its = scratch.rank[task], scratch.rank[other]
    return bool(own < its or (own == its and task < other))


def enter(model: Any, state: Any, view: Any, task: int, rank: Rank) -> None:
    """Insert the task into the queue. In order of arrival, that is at the end, unless it returns after an interruption,
    or had to wait for others."""
    scratch, item = view.scratch, task + 1
    scratch.rank[task] = rank(model, state, view, task)
    if scratch.rank[task] != 0.0:
        scratch.is_ranked[0] = 1
    before = int(scratch.last[0])
    while before > 0 and goes_before(scratch, task, before - 1):
        before = int(scratch.previous[before - 1])
    after = int(scratch.next[before - 1]) if before > 0 else int(scratch.first[0])
    scratch.previous[item - 1], scratch.next[item - 1] = before, after
    if before > 0:
        scratch.next[before - 1] = item
    else:
        scratch.first[0] = item
    if after > 0:
        scratch.previous[after - 1] = item
        scratch.is_overtaken[0] = 1
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


# Chains of changes


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


def task_of(change: int) -> int:
    """Return the task that a change belongs to."""
    return (change - 1) >> 1


def is_begin(change: int) -> bool:
    """Whether a change is the begin of a reservation."""
    return (change - 1) & 1 == 0


# Lists


def list_once(is_listed: Any, listed: Any, n_listed: Any, number: int) -> None:
    """Add a number to a list unless it is there."""
    if is_listed[number] == 0:
        is_listed[number] = 1
        listed[n_listed[0]] = number
        n_listed[0] += 1


def to_be_indexed(scratch: Any, unit: int) -> None:
    """Record that the unit has changed."""
    list_once(scratch.is_stale, scratch.stale, scratch.n_stale, unit)


def all_to_be_indexed(model: Any, scratch: Any) -> None:
    """Record that all units have."""
    for unit in range(len(model.unit_type)):
        to_be_indexed(scratch, unit)
