"""The changes of each unit's load that are expected: a chain in order of time.

A running task takes its demand until its expected end, a reservation from its begin to its expected end. Changes are
numbered from 1, so that 0 means none: change 2 t + 1 is the begin of task t, and 2 t + 2 its end.
"""

from collections.abc import Mapping
from typing import Any

from vinesim.state.scratch import EVENT_OF_TASK

CHANGES_SCRATCH: Mapping[str, tuple[str, str]] = {
    "change_us": ("f8", "tasks*2"),
    "change_next": ("i4", "tasks*2"),
    "change_first": ("i4", "units"),
    "stale": ("i4", "units"),  # units whose profile or load has changed since the index was brought up to date
    "n_stale": ("i8", "one"),
    "is_stale": ("u1", "units"),
}

CHANGES_TASKS = {"change_next": EVENT_OF_TASK, "change_first": EVENT_OF_TASK}


def add_change(scratch: Any, unit: int, change: int, time_us: float) -> None:
    """Insert a change into the unit's chain."""
    insert_change(scratch, unit, change, time_us)
    to_be_indexed(scratch, unit)


def insert_change(scratch: Any, chain: int, change: int, time_us: float) -> None:
    """Insert a change into a chain, behind those of the same time."""
    insert_in_order(scratch.change_us, scratch.change_next, scratch.change_first, chain, change, time_us)


def insert_in_order(time_of_us: Any, following: Any, first: Any, chain: int, change: int, time_us: float) -> None:
    """The same where these arrays hold the times, the links and the first of each chain."""
    time_of_us[change - 1] = time_us
    last, ahead = 0, int(first[chain])
    while ahead > 0 and time_of_us[ahead - 1] <= time_us:
        last, ahead = ahead, int(following[ahead - 1])
    following[change - 1] = ahead
    if last > 0:
        following[last - 1] = change
    else:
        first[chain] = change


def remove_change(scratch: Any, unit: int, change: int) -> None:
    """Remove a change from the unit's chain."""
    take_change(scratch, unit, change)
    to_be_indexed(scratch, unit)


def take_change(scratch: Any, chain: int, change: int) -> None:
    """Remove a change from a chain."""
    take_out(scratch.change_next, scratch.change_first, chain, change)


def take_out(following: Any, first: Any, chain: int, change: int) -> None:
    """The same where these arrays hold the links and the first of each chain."""
    last, ahead = 0, int(first[chain])
    while ahead != change:
        last, ahead = ahead, int(following[ahead - 1])
    if last > 0:
        following[last - 1] = following[change - 1]
    else:
        first[chain] = following[change - 1]


def to_be_indexed(scratch: Any, unit: int) -> None:
    """Record that the unit has changed."""
    if scratch.is_stale[unit] == 0:
        scratch.is_stale[unit] = 1
        scratch.stale[scratch.n_stale[0]] = unit
        scratch.n_stale[0] += 1


def task_of(change: int) -> int:
    """Return the task that a change belongs to."""
    return (change - 1) >> 1


def is_begin(change: int) -> bool:
    """Whether a change is the begin of a reservation."""
    return (change - 1) & 1 == 0
