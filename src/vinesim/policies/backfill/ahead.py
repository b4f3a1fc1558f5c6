"""What is expected of tasks that hold several units, and of gangs: one chain of changes for the whole datacenter.

A running task holds its rows (state/places.py) until its expected end, or until now if it runs longer; a reservation
holds them from its begin to the expected end of each of its tasks.
"""

import math
from collections.abc import Mapping
from typing import Any

from vinesim.model.scenario import Scenario
from vinesim.policies.backfill.base import (
    KNOWN,
    UNABLE,
    Rank,
    insert_in_order,
    leave,
    list_of,
    list_once,
    longest_expected_us,
    note_event,
    take_out,
)
from vinesim.state.expected import held_until_on_us, held_until_us
from vinesim.state.layout import DOWN
from vinesim.state.places import (
    end_of_members,
    first_row,
    is_member,
    note_place,
    set_hypothetical_begin,
    set_hypothetical_capacity,
)
from vinesim.state.queries import first_free, is_up, job_of, start, task_type

AHEAD: Mapping[str, tuple[str, str]] = {
    **KNOWN,
    "row_unit": ("i4", "held"),
    "row_amount": ("f8", "held"),
    "change_first": ("i4", "one"),  # none if nothing runs: only ends are in the chain
    "extra_capacity": ("f8", "units"),  # what tasks find of a unit in addition to its capacity
    **list_of("supposed", "units"),  # that tasks find with another capacity than their own
    "best_end_us": ("f8", "one"),  # when it ends where it fits best
    "n_asked": ("i8", "one"),  # types and distances among which that was
}
UP_BUT_FULL = 0.5 * DOWN  # as the capacity of a unit: it is up, and below any load, also one that is just below 0


def has_several(scenario: Scenario) -> bool:
    """Whether tasks hold several units or start together, units have their own capacities, or there are power
    caps or reservations."""
    work, center = scenario.workload, scenario.datacenter
    has_caps = center.capacity is not None or center.has_power_caps
    return work.has_vectors or work.gang_within is not None or has_caps or bool(scenario.reservations)


def begin_at(model: Any, state: Any, begin_us: float) -> None:
    """Let reservations of nodes be asked for tasks that begin at a time, or now if that is earlier."""
    if len(model.reserved_first) > 0:
        set_hypothetical_begin(model, state, begin_us)


def suppose_more(model: Any, state: Any, scratch: Any, unit: int, more: float) -> None:
    """Let tasks find more of a unit than its capacity, or less if ``more`` is negative, unless its node is down."""
    if scratch.is_supposed[unit] == 0 and not is_up(model, state, unit):
        return
    list_once(scratch.is_supposed, scratch.supposed, scratch.n_supposed, unit)
    scratch.extra_capacity[unit] = more
    capacity = model.unit_capacity[unit] + more
    set_hypothetical_capacity(model, state, unit, capacity if capacity > 0.0 else UP_BUT_FULL)


def restore_capacities(model: Any, state: Any, scratch: Any) -> None:
    """Let tasks find all units as they are; those whose node has gone down since stay down."""
    begin_at(model, state, -math.inf)
    for i in range(int(scratch.n_supposed[0])):
        restore_capacity(model, state, scratch, int(scratch.supposed[i]))
    scratch.n_supposed[0] = 0


def restore_capacity(model: Any, state: Any, scratch: Any, unit: int) -> None:
    """Let tasks find one unit as it is."""
    scratch.is_supposed[unit], scratch.extra_capacity[unit] = 0, 0.0
    if state.unit_open[unit] != DOWN:
        set_hypothetical_capacity(model, state, unit, model.unit_capacity[unit])


def update(model: Any, state: Any, view: Any, rank: Rank) -> int:
    """Process what has happened. Returns what it changes, as ``note_event`` does."""
    return note_event(model, state, view, rank, note_stop)


def unit_of(model: Any, scratch: Any, task: int) -> int:
    """Return the unit that a task runs on, or is to by the rows that were noted."""
    return int(scratch.row_unit[first_row(model, task)])


def note_stop(scratch: Any, task: int) -> None:
    """Record that the task no longer runs."""
    take_out(scratch.change_next, scratch.change_first, 0, 2 * task + 2)
    scratch.is_running[task] = 0


def start_now(model: Any, state: Any, view: Any, task: int, unit: int) -> Any:
    """Start a waiting task that has no reservation, with what is attached to it, where it fits now."""
    scratch = view.scratch
    leave(scratch, task)
    note_place(model, state, scratch, task, unit)
    for member in range(task, end_of_members(model, state, task)):
        if is_member(model, state, task, member):
            scratch.is_running[member] = 1
            own = unit_of(model, scratch, member)
            end_us = held_until_on_us(model, state, member, own, view.now_us)
            insert_in_order(scratch.change_us, scratch.change_next, scratch.change_first, 0, 2 * member + 2, end_us)
    return start(task, unit)


def look_up_expected(model: Any, state: Any, scratch: Any, task: int) -> None:
    """Record how long the task takes on each type, without its transfer; for a gang whose first task is on the type,
    the longest time of any of its tasks, with the longest transfer."""
    for p in range(len(model.affinity)):
        scratch.expected[p] = expected_together_us(model, state, task, p)


def expected_together_us(model: Any, state: Any, task: int, processor_type: int) -> float:
    """Return the expected time for one type; UNABLE if one of the tasks cannot run then, or may get a unit that does
    not provide what it requests."""
    longest_us, end = 0.0, end_of_members(model, state, task)
    for member in range(task, end):
        if is_member(model, state, task, member):
            if model.affinity[processor_type, task_type(model, state, member)] > 0.0:
                time_us = longest_expected_us(model, state, member, processor_type, processor_type + 1)
            elif member == task:
                return UNABLE
            else:  # it may get any type that can run it
                time_us = longest_expected_us(model, state, member, 0, len(model.affinity))
            if time_us == UNABLE:
                return UNABLE
            longest_us = max(longest_us, time_us + farthest_us(model, member) if end > task + 1 else time_us)
    return longest_us


def distance_us(model: Any, task: int, tier: int) -> float:
    """Return the time to transfer the task's data over a tier."""
    size = model.task_data_bytes[task] if len(model.task_data_bytes) else 0.0
    return model.tier_latency_us[tier] + size / model.tier_bandwidth[tier] if size > 0.0 else 0.0


def farthest_us(model: Any, task: int) -> float:
    """Return the longest of these times."""
    return max(distance_us(model, task, 0), max(distance_us(model, task, 1), distance_us(model, task, 2)))


def has_tiers(model: Any, state: Any, task: int) -> bool:
    """Whether a task ends at different times at different distances from its data; for gangs, all distances are one."""
    return len(model.task_data_node) > 0 and end_of_members(model, state, task) == task + 1


def tiers_of(model: Any, state: Any, task: int) -> range:
    """Return the distances at which the task is looked after, -1 for any."""
    return range(3) if has_tiers(model, state, task) else range(-1, 0)


def end_at_us(model: Any, scratch: Any, task: int, p: int, tier: int, begin_us: float) -> float:
    """Return when the task is expected to end if it begins at a time on a type, at a distance (-1: any) from its data.
    ``look_up_expected`` must have been called for it, as for :func:`fit_by`."""
    moving_us = distance_us(model, task, tier) if tier >= 0 else 0.0
    return held_until_us(model, task, begin_us, moving_us, scratch.expected[p])


def fit_by(model: Any, state: Any, scratch: Any, task: int, begin_us: float, after_us: float, until_us: float) -> int:
    """Return the unit on which the task fits and is expected to end first if it begins at a time, in (rack, shelf)
    order among equals, of those where it ends after ``after_us`` and until ``until_us``; -1 if there is none."""
    best, scratch.best_end_us[0], scratch.n_asked[0] = -1, math.inf, 0
    begin_at(model, state, begin_us)
    for p in range(len(model.affinity)):
        if scratch.expected[p] != UNABLE:
            for at in tiers_of(model, state, task):
                end_us = end_at_us(model, scratch, task, p, at, begin_us)
                if after_us < end_us <= until_us:
                    scratch.n_asked[0] += 1
                    if end_us <= scratch.best_end_us[0]:
                        unit = first_free(model, state, task, p, at)
                        if unit >= 0 and (best < 0 or end_us < scratch.best_end_us[0] or unit < best):
                            best, scratch.best_end_us[0] = unit, end_us
    return best


def can_be_alike(model: Any, state: Any, task: int) -> bool:
    """Whether all tasks of a group demand the same, and this one is not what is left of a gang. Next to reservations
    of nodes they may still differ by their expected times."""
    if len(model.reserved_first) > 0:
        return False
    if len(model.class_units) == 0 and len(model.task_demand) > 0:
        return False
    return len(model.job_gang) == 0 or task == model.job_first[job_of(model, state, task)]
