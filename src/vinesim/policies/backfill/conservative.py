"""Conservative backfilling: every waiting job has a reservation. Source: Mu'alem and Feitelson, 2001, section 2.

Reservations are made and moved in passes over the queue (plan.py). A unit whose profile has gained room since the last
pass is ``freed``; only there can a task find an earlier time than its own, so it looks only there.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.model.scenario import Scenario
from vinesim.policies.backfill.ahead import has_several
from vinesim.policies.backfill.base import (
    KNOWN_TASKS,
    Backfill,
    Rank,
    ends_now,
    first_waiting,
    goes_before,
    is_begin,
    is_between_passes,
    next_waiting,
    rank,
    task_of,
    waits,
)
from vinesim.policies.backfill.conservative_by_count import ConservativeBackfillByCount, can_count
from vinesim.policies.backfill.conservative_of_nodes import ConservativeBackfillOfNodes
from vinesim.policies.backfill.plan import FREED, keep_freed, note_freed
from vinesim.policies.backfill.profile import (
    NOWHERE,
    PROFILE,
    begin_on,
    cancel,
    earliest_begin,
    index_again,
    look_up_expected,
    reserve,
    start_now,
    takes_us,
    unit_now,
    update,
    update_index,
)
from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.structures.min_tree import first_within
from vinesim.state.layout import OUTAGE, TIMER
from vinesim.state.queries import arrived_task, first_withdrawn, fits, is_up, next_withdrawn, nothing
from vinesim.state.scratch import TASK_ID_PLUS_1

PLAN_SCRATCH: Mapping[str, tuple[str, str]] = {
    **PROFILE,
    **FREED,
    "unplaced": ("i8", "one"),  # 1 + the first task that may lack a reservation, 0 = none
    "was_down": ("u1", "units"),
}


def cancel_and_free(scratch: Any, task: int) -> None:
    """Free what the task has reserved."""
    unit = int(scratch.on_unit[task]) - 1
    note_freed(scratch, unit)
    cancel(scratch, task)


def take_back(scratch: Any, task: int) -> None:
    """Take the reservation from the task, which has to find another one."""
    cancel_and_free(scratch, task)
    to_be_placed(scratch, task)


def to_be_placed(scratch: Any, task: int) -> None:
    """Record that the task has no reservation yet."""
    if scratch.unplaced[0] == 0 or goes_before(scratch, task, int(scratch.unplaced[0]) - 1):
        scratch.unplaced[0] = task + 1


def update_plan(model: Any, state: Any, view: Any, rank: Rank) -> None:
    """Do what ``update`` does; a task that ends early, and a node that comes up, give room; a task that ends late may
    have made reservations of its unit worthless."""
    scratch = view.scratch
    seen = int(scratch.seen[0])
    is_end = ends_now(view)
    end_us = scratch.change_us[2 * view.task + 1] if is_end else view.now_us
    forget_withdrawn(model, state, view)
    update(model, state, view, rank)
    if is_end and is_late(scratch, view.unit, view.now_us):
        take_back_all(scratch, view.unit)
    if end_us > view.now_us:
        note_freed(scratch, view.unit)
    for i in range(seen, int(scratch.seen[0])):
        to_be_placed(scratch, arrived_task(model, state, i))
    if view.event == OUTAGE:
        take_back_interrupted(model, state, scratch)


def forget_withdrawn(model: Any, state: Any, view: Any) -> None:
    """Free what withdrawn tasks hold or have reserved, before ``update`` takes them out of the queue."""
    if view.event == OUTAGE or view.event == TIMER:
        scratch, task = view.scratch, first_withdrawn(model, state)
        while task >= 0:
            if scratch.is_running[task] == 1:
                unit = int(scratch.on_unit[task]) - 1
                if is_late(scratch, unit, view.now_us):
                    take_back_all(scratch, unit)
                note_freed(scratch, unit)
            elif waits(scratch, task):
                if scratch.on_unit[task] > 0:
                    cancel_and_free(scratch, task)
                if scratch.unplaced[0] == task + 1:
                    scratch.unplaced[0] = scratch.next[task]
            task = next_withdrawn(model, state, task)


def take_back_interrupted(model: Any, state: Any, scratch: Any) -> None:
    """Cancel reservations on units that are down, free units that came up, and let tasks without a unit look again."""
    for unit in range(len(model.unit_type)):
        is_down = not is_up(model, state, unit)
        if is_down:
            take_back_all(scratch, unit)
        elif scratch.was_down[unit] == 1:
            note_freed(scratch, unit)
        scratch.was_down[unit] = is_down
    task = first_waiting(scratch)
    while task >= 0:
        if scratch.on_unit[task] == NOWHERE:
            scratch.on_unit[task] = 0
        if scratch.on_unit[task] == 0:
            to_be_placed(scratch, task)
        task = next_waiting(scratch, task)


def take_back_all(scratch: Any, unit: int) -> None:
    """Take all reservations of the unit from the waiting tasks."""
    change = int(scratch.change_first[unit])
    while change > 0:
        if is_begin(change):
            take_back(scratch, task_of(change))
            change = int(scratch.change_first[unit])
        else:
            change = int(scratch.change_next[change - 1])


def is_late(scratch: Any, unit: int, now_us: float) -> bool:
    """Whether a reservation of the unit should have begun before now."""
    change = int(scratch.change_first[unit])
    while change > 0 and scratch.change_us[change - 1] < now_us:
        if is_begin(change):
            return True
        change = int(scratch.change_next[change - 1])
    return False


def next_begin(model: Any, state: Any, scratch: Any, now_us: float) -> tuple[int, int]:
    """Return a task whose reservation begins now and that fits, and its unit. If there is none, return the first task
    that does not fit, because its unit is still in use, but may begin on another unit. -1, -1 if there is none."""
    delayed, other = -1, -1
    update_index(model, state, scratch)
    size, n_units = int(scratch.tree_size[0]), len(model.unit_type)
    unit = first_within(scratch.begin_us, size, 0, n_units, now_us, True)
    while unit >= 0:
        change = int(scratch.change_first[unit])
        while change > 0 and scratch.change_us[change - 1] <= now_us:
            if is_begin(change):
                task = task_of(change)
                if fits(model, state, task, unit):
                    return task, unit
                if delayed < 0 or goes_before(scratch, task, delayed):
                    found = unit_now(model, state, scratch, task, now_us)
                    if found >= 0:
                        delayed, other = task, found
            change = int(scratch.change_next[change - 1])
        unit = first_within(scratch.begin_us, size, unit + 1, n_units, now_us, True)
    return delayed, other


def settle(model: Any, state: Any, view: Any) -> None:
    """Make and move reservations until every waiting task has one and none could begin earlier."""
    scratch, now_us = view.scratch, view.now_us
    while scratch.unplaced[0] > 0 or scratch.n_freed[0] > 0:
        scratch.passes[0] += 1
        task = first_waiting(scratch) if scratch.n_freed[0] > 0 else int(scratch.unplaced[0]) - 1
        scratch.unplaced[0] = 0
        while task >= 0:
            place(model, state, scratch, task, now_us)
            task = next_waiting(scratch, task)
        keep_freed(scratch)


def place(model: Any, state: Any, scratch: Any, task: int, now_us: float) -> None:
    """Give the task a reservation, or an earlier one if there is one."""
    if scratch.on_unit[task] == 0:
        unit, begin_us = earliest_begin(model, state, scratch, task, now_us)
        if unit >= 0:
            reserve(model, state, scratch, task, unit, begin_us)
        else:
            scratch.on_unit[task] = NOWHERE
    elif scratch.on_unit[task] > 0 and scratch.n_freed[0] > 0:
        move(model, state, scratch, task, now_us)


def move(model: Any, state: Any, scratch: Any, task: int, now_us: float) -> None:
    """Move the task to the earliest begin before its own on units that were freed."""
    held, held_us = int(scratch.on_unit[task]) - 1, scratch.change_us[2 * task]
    if not now_us < held_us:
        return
    look_up_expected(model, state, scratch, task)
    is_freed = scratch.until_pass[held] > 0
    if is_freed:
        cancel(scratch, task)
    best, best_us, best_end_us = -1, held_us, math.inf
    for i in range(int(scratch.n_freed[0])):
        unit = int(scratch.freed[i])
        begin_us = begin_on(model, state, scratch, task, unit, now_us, best_us)
        if begin_us < held_us:
            end_us = begin_us + takes_us(model, state, scratch, task, unit)
            if begin_us < best_us or end_us < best_end_us or (end_us == best_end_us and unit < best):
                best, best_us, best_end_us = unit, begin_us, end_us
    if best >= 0:
        if not is_freed:
            cancel(scratch, task)
        reserve(model, state, scratch, task, best, best_us)
        note_freed(scratch, held)
    elif is_freed:
        reserve(model, state, scratch, task, held, held_us)


@dataclass(frozen=True)
class ConservativeBackfill(Backfill):
    """Each task reserves the earliest time at which some unit has room for it, without delaying earlier reservations.

    Each task takes its demand of one unit that can run it and meets its requests, from its begin to its expected end.
    It reserves when it arrives and starts when its time has come. If a unit has room earlier than expected, tasks move
    to earlier times, in order of arrival, until none can. A task that runs longer than its estimate counts as ending
    now. A task that has to wait for it starts on another unit if that delays nobody; if it ends late, the reservations
    of its unit are made again, in order of arrival. Expected times: the workload's estimates, or else the true ones,
    and at most the jobs' limits.

    ``passes_at``: when the policy goes through the queue: once an ``instant``, after all its ends and arrivals, or
    after each ``event``, as in the sources.

    Ties: the earliest expected end, then (rack, shelf) order. Cost per decision: on arrival, processor types x
    log(units) + the reservations of one unit, and of each unit with an earlier gap that is too small for the task; if a
    task ends early, pending tasks x reservations of the units that gained room, and the same again for every task that
    moves: minutes for 10,000 waiting tasks with wrong estimates. On large datacenters, reading memory adds to this:
    docs/explanation/performance/policies.md.

    Gangs reserve a number of slots if any slot suffices for any task. Cost per reservation then: the times at which
    something begins or ends before it. Other gangs, and tasks that hold several units, reserve all units that they
    would hold. Cost per reservation then: the units of the types that may run it. When a task ends early, only
    reservations that find a longer gap on a unit that it frees are made again; if tasks hold companions, or more than
    units of one type, all are: docs/explanation/semantics/backfilling.md.
    """

    name: ClassVar[str] = "conservative_backfill"
    source: ClassVar[str] = "Mu'alem and Feitelson, IEEE TPDS 12(6), 2001, section 2"
    reserves: ClassVar[str] = "all"
    scratch: ClassVar[Mapping[str, tuple[str, str]]] = PLAN_SCRATCH
    task_numbers: ClassVar[Mapping[str, str]] = {**KNOWN_TASKS, "unplaced": TASK_ID_PLUS_1}

    def suited_to(self, scenario: Scenario) -> OnlinePolicy:
        if not has_several(scenario):
            return self
        return self.in_form(ConservativeBackfillByCount if can_count(scenario) else ConservativeBackfillOfNodes)

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        update_plan(model, state, view, rank)
        scratch = view.scratch
        if scratch.first[0] == 0 or is_between_passes(model, state, view):
            return nothing()
        settle(model, state, view)
        task, unit = next_begin(model, state, scratch, view.now_us)
        if task < 0:
            return nothing()
        if unit == scratch.on_unit[task] - 1:
            cancel(scratch, task)
        else:
            cancel_and_free(scratch, task)
        return start_now(model, state, view, task, unit)

    @staticmethod
    def renumbered(model: Any, state: Any, view: Any) -> None:
        index_again(model, view.scratch)
