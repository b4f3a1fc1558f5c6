"""The profile of each unit: how its load is expected to change, and when a task could begin on it.

A running task takes its demand until its expected end, or until now if it runs longer. A reservation takes it from its
begin to its expected end. The changes of a unit form a chain in order of time. They are numbered from 1, so that 0
means none: change 2 t + 1 is the begin of task t, and 2 t + 2 its end.
"""

import math
from collections.abc import Mapping
from typing import Any

from vinesim.policies.online.expected import expected_end_us, expected_us
from vinesim.state.layout import FULL, OVERFULL
from vinesim.state.queries import demand, fits, meets_on_type, next_with_room, transfer_us

PROFILE_SCRATCH: Mapping[str, tuple[str, str]] = {
    "change_us": ("f8", "tasks*2"),
    "change_next": ("i4", "tasks*2"),
    "change_first": ("i4", "units"),
    "on_unit": ("i4", "tasks"),  # 1 + the unit that it runs on or has reserved; 0 = none; NOWHERE
    "is_running": ("u1", "tasks"),
    "expected": ("f8", "types"),  # of one task; infinite on types that do not meet its requests
}
NOWHERE = -1  # no unit now up could ever hold the task


def add_change(scratch: Any, unit: int, change: int, time_us: float) -> None:
    """Insert a change into the unit's chain."""
    scratch.change_us[change - 1] = time_us
    last, ahead = 0, int(scratch.change_first[unit])
    while ahead > 0 and scratch.change_us[ahead - 1] <= time_us:
        last, ahead = ahead, int(scratch.change_next[ahead - 1])
    scratch.change_next[change - 1] = ahead
    if last > 0:
        scratch.change_next[last - 1] = change
    else:
        scratch.change_first[unit] = change


def remove_change(scratch: Any, unit: int, change: int) -> None:
    """Remove a change from the unit's chain."""
    last, ahead = 0, int(scratch.change_first[unit])
    while ahead != change:
        last, ahead = ahead, int(scratch.change_next[ahead - 1])
    if last > 0:
        scratch.change_next[last - 1] = scratch.change_next[change - 1]
    else:
        scratch.change_first[unit] = scratch.change_next[change - 1]


def task_of(change: int) -> int:
    """Return the task that a change belongs to."""
    return (change - 1) >> 1


def is_begin(change: int) -> bool:
    """Whether a change is the begin of a reservation."""
    return (change - 1) & 1 == 0


def reserve(model: Any, state: Any, scratch: Any, task: int, unit: int, begin_us: float) -> None:
    """Reserve the unit for the task from a time on."""
    scratch.on_unit[task] = unit + 1
    add_change(scratch, unit, 2 * task + 1, begin_us)
    add_change(scratch, unit, 2 * task + 2, expected_end_us(model, state, task, unit, begin_us))


def withdraw(scratch: Any, task: int) -> None:
    """Cancel the task's reservation."""
    unit = int(scratch.on_unit[task]) - 1
    remove_change(scratch, unit, 2 * task + 1)
    remove_change(scratch, unit, 2 * task + 2)
    scratch.on_unit[task] = 0


def run_on(model: Any, state: Any, scratch: Any, task: int, unit: int, now_us: float) -> None:
    """Start the task, which has no reservation, on the unit."""
    scratch.on_unit[task] = unit + 1
    scratch.is_running[task] = 1
    add_change(scratch, unit, 2 * task + 2, expected_end_us(model, state, task, unit, now_us))


def stop(scratch: Any, task: int) -> None:
    """Record that the task no longer runs."""
    remove_change(scratch, int(scratch.on_unit[task]) - 1, 2 * task + 2)
    scratch.on_unit[task] = 0
    scratch.is_running[task] = 0


def look_up_expected(model: Any, state: Any, scratch: Any, task: int) -> None:
    """Record the task's expected times on all types; infinite if it cannot run there or its requests are not met."""
    for p in range(len(model.affinity)):
        is_met = meets_on_type(model, state, task, p)
        scratch.expected[p] = expected_us(model, state, task, p) if is_met else math.inf


def has_room_for(load: float, wanted: float, capacity: float) -> bool:
    """Whether a unit with that load could take that demand."""
    return load < capacity * FULL and load + wanted <= capacity * OVERFULL


def begin_on(model: Any, state: Any, scratch: Any, task: int, unit: int, now_us: float, latest_us: float) -> float:
    """Return the earliest time, at most ``latest_us``, from which the unit has room for the task until its expected
    end; infinite if there is none. ``look_up_expected`` must have been called for the task."""
    execution_us = scratch.expected[model.unit_type[unit]]
    capacity = state.unit_open[unit]
    if execution_us == math.inf or capacity <= 0.0:
        return math.inf
    wanted, moving_us = demand(model, state, task, unit), transfer_us(model, state, task, unit)
    load = state.unit_load[unit]
    begin_us = now_us if has_room_for(load, wanted, capacity) else math.inf
    change = int(scratch.change_first[unit])
    while change > 0:
        time_us = max(now_us, scratch.change_us[change - 1])
        if begin_us + moving_us + execution_us <= time_us:
            return begin_us
        if begin_us == math.inf and time_us > latest_us:
            return math.inf
        while change > 0 and max(now_us, scratch.change_us[change - 1]) == time_us:
            taken = demand(model, state, task_of(change), unit)
            load += taken if is_begin(change) else -taken
            change = int(scratch.change_next[change - 1])
        if not has_room_for(load, wanted, capacity):
            begin_us = math.inf
        elif begin_us == math.inf and time_us <= latest_us:
            begin_us = time_us
    return begin_us


def takes_us(model: Any, state: Any, scratch: Any, task: int, unit: int) -> float:
    """Return transfer plus expected execution of the task on the unit. Needs ``look_up_expected``, like
    ``begin_on``."""
    return transfer_us(model, state, task, unit) + scratch.expected[model.unit_type[unit]]


def earliest_begin(model: Any, state: Any, scratch: Any, task: int, now_us: float) -> tuple[int, float]:
    """Return the unit on which the task could begin earliest, and when. Among several, the one with the earliest
    expected end, then the first in (rack, shelf) order. -1 and infinite if there is none."""
    look_up_expected(model, state, scratch, task)
    best, best_us, best_end_us = -1, math.inf, math.inf
    for unit in range(len(model.unit_type)):
        begin_us = begin_on(model, state, scratch, task, unit, now_us, best_us)
        if begin_us < math.inf:
            end_us = begin_us + takes_us(model, state, scratch, task, unit)
            if begin_us < best_us or end_us < best_end_us:
                best, best_us, best_end_us = unit, begin_us, end_us
    return best, best_us


def unit_now(model: Any, state: Any, scratch: Any, task: int, now_us: float) -> int:
    """Return the unit on which the task may begin now and is expected to end first, in (rack, shelf) order among
    equals; -1 if there is none."""
    look_up_expected(model, state, scratch, task)
    best, best_us = -1, math.inf
    for p in range(len(model.affinity)):
        unit = next_with_room(model, state, p, 0) if scratch.expected[p] < math.inf else -1
        while unit >= 0:
            needs_us = takes_us(model, state, scratch, task, unit)
            if (
                (needs_us < best_us or (needs_us == best_us and unit < best))
                and fits(model, state, task, unit)
                and begin_on(model, state, scratch, task, unit, now_us, now_us) <= now_us
            ):
                best, best_us = unit, needs_us
            unit = next_with_room(model, state, p, unit + 1)
    return best
