"""The profile of each unit: how its load is expected to change, and when a task could begin on it.

A running task takes its demand until its expected end, or until now if it runs longer. A reservation takes it from its
begin to its expected end.
"""

import math
from collections.abc import Mapping
from typing import Any

from vinesim.policies.backfill.changes import add_change, is_begin, remove_change, task_of
from vinesim.policies.backfill.index import (
    INDEX_SCRATCH,
    n_ranges,
    next_that_fits,
    place_from,
    range_of,
    update_index,
)
from vinesim.policies.structures.min_tree import first_within, least_of
from vinesim.state.expected import expected_us, held_until_on_us, held_until_us, planned_end_us
from vinesim.state.layout import FULL, OVERFULL
from vinesim.state.queries import demand, meets_on_type, transfer_us

PROFILE_SCRATCH: Mapping[str, tuple[str, str]] = {
    **INDEX_SCRATCH,
    "on_unit": ("i4", "tasks"),  # 1 + the unit that it runs on or has reserved; 0 = none; NOWHERE
    "is_running": ("u1", "tasks"),
    "expected": ("f8", "types"),  # of one task; infinite on types that do not meet its requests
    "best": ("i8", "one"),  # the unit found so far, -1 = none
    "best_us": ("f8", "one"),  # when the task can begin on it
    "best_end_us": ("f8", "one"),
}
NOWHERE = -1  # no unit now up could ever hold the task


def reserve(model: Any, state: Any, scratch: Any, task: int, unit: int, begin_us: float) -> None:
    """Reserve the unit for the task from a time on."""
    scratch.on_unit[task] = unit + 1
    add_change(scratch, unit, 2 * task + 1, begin_us)
    add_change(scratch, unit, 2 * task + 2, held_until_on_us(model, state, task, unit, begin_us))


def cancel(scratch: Any, task: int) -> None:
    """Cancel the task's reservation."""
    unit = int(scratch.on_unit[task]) - 1
    remove_change(scratch, unit, 2 * task + 1)
    remove_change(scratch, unit, 2 * task + 2)
    scratch.on_unit[task] = 0


def note_start(model: Any, state: Any, scratch: Any, task: int, unit: int, now_us: float) -> None:
    """Start the task, which has no reservation, on the unit."""
    scratch.on_unit[task] = unit + 1
    scratch.is_running[task] = 1
    add_change(scratch, unit, 2 * task + 2, held_until_on_us(model, state, task, unit, now_us))


def note_stop(scratch: Any, task: int) -> None:
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
        if held_until_us(model, task, begin_us, moving_us, execution_us) <= time_us:
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
    """Return for how long the task is expected to be on the unit. Needs ``look_up_expected``, like ``begin_on``."""
    execution_us = scratch.expected[model.unit_type[unit]]
    return planned_end_us(model, task, 0.0, transfer_us(model, state, task, unit), execution_us)


def earliest_begin(model: Any, state: Any, scratch: Any, task: int, now_us: float) -> tuple[int, float]:
    """Return the unit on which the task could begin earliest, and when. Among several, the one with the earliest
    expected end, then the first in (rack, shelf) order. -1 and infinite if there is none."""
    unit = unit_now(model, state, scratch, task, now_us)
    scratch.best[0], scratch.best_us[0], scratch.best_end_us[0] = -1, math.inf, math.inf
    if unit >= 0:
        weigh(model, state, scratch, task, unit, now_us)
    update_index(model, state, scratch)
    if scratch.room_us[1] > scratch.best_us[0]:
        return int(scratch.best[0]), scratch.best_us[0]  # no unit that is busy now may have room as early
    for p in range(len(model.affinity)):
        if scratch.expected[p] < math.inf:
            for i in range(n_ranges(model)):
                first, end = range_of(model, task, i)
                if first < end:
                    place, place_end = place_from(model, scratch, p, first), place_from(model, scratch, p, end)
                    look_among(model, state, scratch, task, place, place_end, now_us)
    return int(scratch.best[0]), scratch.best_us[0]


def look_among(model: Any, state: Any, scratch: Any, task: int, place: int, place_end: int, now_us: float) -> None:
    """Look for a better unit among those of one type at one distance; first at the one that may have room earliest,
    then at all that may be better."""
    size = int(scratch.tree_size[0])
    least_us = max(now_us, least_of(scratch.room_us, size, place, place_end, math.inf))
    if least_us == math.inf or least_us > scratch.best_us[0]:
        return
    unit = int(scratch.unit_at[place])
    needs_us = takes_us(model, state, scratch, task, unit)
    if demand(model, state, task, unit) > model.unit_capacity[unit] * (2.0 * OVERFULL - 1.0):
        return
    at = first_within(scratch.room_us, size, place, place_end, least_us, True)
    weigh(model, state, scratch, task, int(scratch.unit_at[at]), now_us)
    at = next_better(scratch, place, place_end, needs_us, now_us)
    while at >= 0:
        weigh(model, state, scratch, task, int(scratch.unit_at[at]), now_us)
        at = next_better(scratch, at + 1, place_end, needs_us, now_us)


def next_better(scratch: Any, place: int, place_end: int, needs_us: float, now_us: float) -> int:
    """Return the next place of a unit that may be better than the best one; -1 if there is none."""
    if place >= place_end:
        return -1
    best_us, best_end_us = scratch.best_us[0], scratch.best_end_us[0]
    end_us = best_us + needs_us
    is_tie_better = end_us < best_end_us or (end_us == best_end_us and scratch.unit_at[place] < scratch.best[0])
    if best_us <= now_us and not is_tie_better:
        return -1
    return first_within(scratch.room_us, int(scratch.tree_size[0]), place, place_end, best_us, is_tie_better)


def weigh(model: Any, state: Any, scratch: Any, task: int, unit: int, now_us: float) -> None:
    """Make the unit the best one if the task could begin on it earlier, or as early and end earlier."""
    best_us, best_end_us = scratch.best_us[0], scratch.best_end_us[0]
    begin_us = begin_on(model, state, scratch, task, unit, now_us, best_us)
    if begin_us < math.inf:
        end_us = begin_us + takes_us(model, state, scratch, task, unit)
        if (
            begin_us < best_us
            or end_us < best_end_us
            or (end_us == best_end_us and begin_us == best_us and unit < scratch.best[0])
        ):
            scratch.best[0], scratch.best_us[0], scratch.best_end_us[0] = unit, begin_us, end_us


def unit_now(model: Any, state: Any, scratch: Any, task: int, now_us: float) -> int:
    """Return the unit on which the task may begin now and is expected to end first, in (rack, shelf) order among
    equals; -1 if there is none."""
    look_up_expected(model, state, scratch, task)
    best, best_us = -1, math.inf
    for p in range(len(model.affinity)):
        if scratch.expected[p] < math.inf:
            for i in range(n_ranges(model)):
                first, end = range_of(model, task, i)
                if first < end:
                    moving_us = transfer_us(model, state, task, first)
                    needs_us = planned_end_us(model, task, 0.0, moving_us, scratch.expected[p])
                    if needs_us <= best_us:
                        unit = first_now(model, state, scratch, task, p, first, end, now_us)
                        if unit >= 0 and (needs_us < best_us or unit < best):
                            best, best_us = unit, needs_us
    return best


def first_now(model: Any, state: Any, scratch: Any, task: int, p: int, first: int, end: int, now_us: float) -> int:
    """Return the first unit of the type in [first, end) on which the task may begin now; -1 if there is none."""
    unit = next_that_fits(model, state, scratch, task, p, first, end)
    while unit >= 0 and begin_on(model, state, scratch, task, unit, now_us, now_us) > now_us:
        unit = next_that_fits(model, state, scratch, task, p, unit + 1, end)
    return unit
