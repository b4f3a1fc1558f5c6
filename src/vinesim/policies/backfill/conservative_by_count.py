"""Conservative backfilling where all slots are alike, so that reservations are numbers of them.

The timetable says how many slots are free from now on: times in order, and the number from each to the next. After the
last one all are free. A search and a change take a binary search and a walk along the times between.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from vinesim.model.scenario import Scenario
from vinesim.model.workload import ANYWHERE, NO_GANG
from vinesim.policies.backfill.ahead import look_up_expected, start_now, unit_of, update
from vinesim.policies.backfill.base import (
    UNABLE,
    Backfill,
    ends_now,
    first_waiting,
    is_between_passes,
    next_waiting,
    rank,
    task_of,
)
from vinesim.policies.backfill.plan import PLAN, PLANNED, next_planned, note_change
from vinesim.state.demand import amounts
from vinesim.state.expected import expected_us, held_until_on_us, held_until_us
from vinesim.state.layout import OVERFULL
from vinesim.state.places import end_of_members, is_member
from vinesim.state.queries import demand, first_free, is_up, nothing

TIMETABLE: Mapping[str, tuple[str, str]] = {
    "time_us": ("f8", "tasks*4"),
    "n_free": ("i8", "tasks*4"),  # from then on
    "n_times": ("i8", "one"),
}


def begin_timetable(scratch: Any, now_us: float, n: int) -> None:
    """Let n slots be free from now on."""
    scratch.time_us[0], scratch.n_free[0], scratch.n_times[0] = now_us, n, 1


def last_by(scratch: Any, time_us: float) -> int:
    """Return the place of the last of the times that is not after a time; 0 if all are."""
    low, high = 0, int(scratch.n_times[0])
    while high - low > 1:
        middle = (low + high) // 2
        if scratch.time_us[middle] <= time_us:
            low = middle
        else:
            high = middle
    return low


def forget_past(scratch: Any, now_us: float) -> None:
    """Let the timetable begin now."""
    n_past = last_by(scratch, now_us)
    if n_past > 0:
        scratch.n_times[0] -= n_past
        for i in range(int(scratch.n_times[0])):
            scratch.time_us[i], scratch.n_free[i] = scratch.time_us[i + n_past], scratch.n_free[i + n_past]
    scratch.time_us[0] = now_us


def add_free(scratch: Any, begin_us: float, end_us: float, n: int) -> None:
    """Add n free slots from a time, or now, to before another one; fewer if it is negative."""
    begin_us = max(begin_us, scratch.time_us[0])
    if end_us > begin_us:
        first = cut(scratch, begin_us)
        end = cut(scratch, end_us) if end_us < math.inf else int(scratch.n_times[0])
        for i in range(first, end):
            scratch.n_free[i] += n
        join(scratch, end)
        join(scratch, first)


def cut(scratch: Any, time_us: float) -> int:
    """Return the place of a time, not before the first one; insert it if it is missing."""
    place = last_by(scratch, time_us)
    if scratch.time_us[place] == time_us:
        return place
    for i in range(int(scratch.n_times[0]), place + 1, -1):
        scratch.time_us[i], scratch.n_free[i] = scratch.time_us[i - 1], scratch.n_free[i - 1]
    scratch.time_us[place + 1], scratch.n_free[place + 1] = time_us, scratch.n_free[place]
    scratch.n_times[0] += 1
    return place + 1


def join(scratch: Any, place: int) -> None:
    """Remove a time at which nothing changes."""
    if 0 < place < scratch.n_times[0] and scratch.n_free[place] == scratch.n_free[place - 1]:
        scratch.n_times[0] -= 1
        for i in range(place, int(scratch.n_times[0])):
            scratch.time_us[i], scratch.n_free[i] = scratch.time_us[i + 1], scratch.n_free[i + 1]


@dataclass(frozen=True)
class ConservativeBackfillByCount(Backfill):
    """Conservative backfilling where any slot suffices for any task: units of one type, tasks that demand the same.

    Each task, or gang, reserves a number of slots at the earliest time from which that number is free until its
    expected end. It starts when its time has come and they are free. If something ends earlier or later than expected,
    tasks move to earlier times, one by one, in order of arrival, until none can. A reservation whose time has passed
    because something runs longer than expected is made again; so are all of them, in order of arrival, when a node goes
    down or comes up, or if nothing runs and nothing can start: a gang whose tasks end at different times may lack an
    earlier place only next to what was to follow its first ends.
    """

    scratch: ClassVar[Mapping[str, tuple[str, str]]] = {
        **PLAN,
        **TIMETABLE,
        "n_slots": ("i4", "tasks"),  # that a task needs, with its gang
        "takes_us": ("f8", "tasks"),  # for how long, with its gang, or UNABLE
        "ends_at_once": ("u1", "tasks"),  # whether all tasks of the gang are expected to take as long
    }

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        scratch, now_us = view.scratch, view.now_us
        if scratch.n_times[0] == 0:
            count_again(model, state, scratch, now_us)
        if ends_now(view) and is_counted(model, state, scratch, view.task):
            add_free(scratch, now_us, scratch.change_us[2 * view.task + 1], 1)
        change = update(model, state, view, rank)
        note_change(model, state, view, change, count_again)
        if scratch.first[0] == 0 or is_between_passes(model, state, view):
            return nothing()
        forget_past(scratch, now_us)
        task, unit = next_planned(model, state, view, find, move, give_back, unit_at_once, count_again)
        return start_now(model, state, view, task, unit) if task >= 0 else nothing()


def can_count(scenario: Scenario) -> bool:
    """Whether any slot suffices for any task."""
    work, center = scenario.workload, scenario.datacenter
    companions = [column for column in (work.companions or {}).values() if np.any(column)]
    has_more = work.partition is not None or work.placed is not None or work.application is not None or work.has_data
    if scenario.reservations or has_more or companions or (work.units is not None and np.any(work.units != 1)):
        return False
    if len(np.unique(center.unit_type)) > 1:
        return False
    if work.demand is not None and (len(np.unique(work.demand)) > 1 or np.any(work.demand == 0.0)):
        return False
    if work.gang_within is None or np.all(work.gang_within == NO_GANG):
        return True
    if not np.all((work.gang_within == ANYWHERE) | (work.gang_within == NO_GANG)):
        return False
    limits = [work.gang_spread, work.tasks_per_node, work.gang_nodes]
    if all(limit is None or not np.any(limit) for limit in limits):
        return True
    is_alone = len(np.unique(np.stack([center.rack, center.shelf]), axis=1)[0]) == len(center.unit_type)
    capacity = center.capacity if center.capacity is not None else center.processor_types[center.unit_type[0]].capacity
    takes = math.inf if work.demand is None or not len(work.demand) else work.demand[0]
    is_full = bool(np.all(2.0 * amounts(takes, capacity) > np.asarray(capacity) * OVERFULL))
    on_one = work.tasks_per_node is None or np.all(work.tasks_per_node <= 1)
    return is_alone and is_full and bool(on_one)


# The timetable


def count_again(model: Any, state: Any, scratch: Any, now_us: float) -> None:
    """Count the slots of all units that are up, what runs, and what is reserved."""
    n = 0
    for unit in range(len(model.unit_type)):
        if is_up(model, state, unit):
            n += int(model.unit_capacity[unit] * OVERFULL / demand(model, state, 0, unit))
    begin_timetable(scratch, now_us, n)
    change = int(scratch.change_first[0])
    while change > 0:
        if is_counted(model, state, scratch, task_of(change)):
            add_free(scratch, now_us, scratch.change_us[change - 1], -1)
        change = int(scratch.change_next[change - 1])
    task = first_waiting(scratch)
    while task >= 0:
        if scratch.plan[task] == PLANNED:
            count_reservation(model, state, scratch, task, -1)
        task = next_waiting(scratch, task)


def is_counted(model: Any, state: Any, scratch: Any, task: int) -> bool:
    """Whether a running task is on a unit that is up: it may end on a node that is drained."""
    return is_up(model, state, unit_of(model, scratch, task))


def count_reservation(model: Any, state: Any, scratch: Any, task: int, sign: int) -> None:
    """Take what a task, with its gang, has reserved, -1, or give it back, 1."""
    begin_us = scratch.begin_us[task]
    if scratch.ends_at_once[task] == 1:
        until_us = held_until_us(model, task, begin_us, 0.0, scratch.takes_us[task])
        add_free(scratch, begin_us, until_us, sign * int(scratch.n_slots[task]))
        return
    for member in range(task, end_of_members(model, state, task)):
        if is_member(model, state, task, member):
            add_free(scratch, begin_us, held_until_on_us(model, state, member, 0, begin_us), sign)


# Reservations


def give_back(model: Any, state: Any, scratch: Any, task: int) -> None:
    """Cancel a reservation."""
    count_reservation(model, state, scratch, task, 1)


def find(model: Any, state: Any, scratch: Any, task: int, now_us: float) -> bool:
    """Reserve the earliest time. Returns whether there is any."""
    look_up_slots(model, state, scratch, task)
    scratch.begin_us[task] = earliest(model, scratch, task, now_us, math.inf, math.inf)
    if scratch.begin_us[task] == math.inf:
        return False
    count_reservation(model, state, scratch, task, -1)
    return True


def move(model: Any, state: Any, scratch: Any, task: int, now_us: float) -> bool:
    """Move the reservation to an earlier time if there is one. Returns whether there is."""
    held_us = scratch.begin_us[task]
    if scratch.ends_at_once[task] == 1:
        begin_us = earliest(model, scratch, task, now_us, held_us, held_us)
        if begin_us < held_us:
            count_reservation(model, state, scratch, task, 1)
            scratch.begin_us[task] = begin_us
            count_reservation(model, state, scratch, task, -1)
        return begin_us < held_us
    count_reservation(model, state, scratch, task, 1)
    begin_us = earliest(model, scratch, task, now_us, held_us, math.inf)
    scratch.begin_us[task] = min(begin_us, held_us)
    count_reservation(model, state, scratch, task, -1)
    return begin_us < held_us


def look_up_slots(model: Any, state: Any, scratch: Any, task: int) -> None:
    """Record how many slots a task needs, with its gang, and for how long. That stays until it starts or is planned
    again."""
    look_up_expected(model, state, scratch, task)
    p, n, ends_at_once = int(model.unit_type[0]), 0, True
    own_us = expected_us(model, state, task, p)
    for member in range(task, end_of_members(model, state, task)):
        if is_member(model, state, task, member):
            n += 1
            ends_at_once = ends_at_once and expected_us(model, state, member, p) == own_us
    scratch.n_slots[task], scratch.takes_us[task] = n, scratch.expected[p]
    scratch.ends_at_once[task] = ends_at_once


def earliest(model: Any, scratch: Any, task: int, now_us: float, before_us: float, held_us: float) -> float:
    """Return the earliest time before another one from which the task, with its gang, has enough slots until its
    expected end; infinite if there is none. From ``held_us`` on it has reserved them itself."""
    n, takes_us = int(scratch.n_slots[task]), scratch.takes_us[task]
    if takes_us == UNABLE:
        return math.inf
    i, begin_us, is_open = last_by(scratch, now_us), now_us, False
    end_us = begin_us
    while i < scratch.n_times[0] and (is_open or max(begin_us, scratch.time_us[i]) < before_us):
        if scratch.n_free[i] < (n if scratch.time_us[i] < held_us else 0):
            is_open = False
        else:
            if not is_open:
                is_open, begin_us = True, max(now_us, scratch.time_us[i])
                end_us = held_until_us(model, task, begin_us, 0.0, takes_us)
            if i + 1 == scratch.n_times[0] or scratch.time_us[i + 1] >= end_us:
                return begin_us
        i += 1
    return math.inf


def unit_at_once(model: Any, state: Any, scratch: Any, task: int, now_us: float) -> int:
    """Return the unit on which the task may start now; -1 if there is none."""
    return first_free(model, state, task, int(model.unit_type[0]), -1)
