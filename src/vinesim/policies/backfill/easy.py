"""EASY backfilling: only the first waiting job has a reservation."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.model.scenario import Scenario
from vinesim.policies.backfill.ahead import has_several
from vinesim.policies.backfill.base import KNOWN_TASKS, Backfill, first_waiting, is_between_passes, next_waiting, rank
from vinesim.policies.backfill.easy_of_nodes import EasyBackfillOfNodes, is_any_free
from vinesim.policies.backfill.profile import (
    PROFILE,
    cancel,
    earliest_begin,
    has_room_for,
    index_again,
    reserve,
    start_now,
    unit_now,
    update,
)
from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.structures.min_tree import least_of
from vinesim.state.queries import demand, fits, next_pending, nothing, task_type


@dataclass(frozen=True)
class EasyBackfill(Backfill):
    """Tasks start in order of arrival; later ones fill gaps if that does not delay the first waiting task.

    Each task takes its demand of one unit that can run it and meets its requests. The first task that finds no room
    reserves the unit that will have room for it earliest, its shadow time, by the expected ends of the tasks there. A
    later task may start now if it ends by the shadow time, takes only what the reservation leaves of that unit, or uses
    another unit. Expected times: the workload's estimates, or else the true ones, and at most the jobs' limits. A task
    that runs longer than its estimate counts as ending now. A task that no unit now up can ever hold reserves nothing.

    A task starts where it is expected to finish first. Ties: (rack, shelf) order; among units to reserve, the earliest
    expected end, then that order. Cost per decision: (groups of tasks, by type and requests) x processor types x
    log(units). If tasks have demands: pending tasks x processor types x log(units), and the units with some room, or
    some expected earlier than the reservation, that is too small for the first task.

    ``passes_at``: when the policy goes through the queue: once an ``instant``, after all its ends and arrivals, or
    after each ``event``, as in the sources.

    If tasks hold several units, or are gangs, room on nodes is kept by counting:
    docs/explanation/semantics/backfilling.md. Cost per decision then: running tasks to find the shadow time, and for
    each type of waiting task the nodes with room.
    """

    name: ClassVar[str] = "easy_backfill"
    source: ClassVar[str] = "Lifka, The ANL/IBM SP scheduling system, 1995; Mu'alem and Feitelson, 2001"
    reserves: ClassVar[str] = "first"
    groups: ClassVar[tuple[str, ...]] = ("requests",)
    scratch: ClassVar[Mapping[str, tuple[str, str]]] = {
        **PROFILE,
        "least_load": ("f8", "types"),  # of the type's units with room, except the reserved one
    }
    task_numbers: ClassVar[Mapping[str, str]] = KNOWN_TASKS

    def suited_to(self, scenario: Scenario) -> OnlinePolicy:
        return self.in_form(EasyBackfillOfNodes) if has_several(scenario) else self

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        update(model, state, view, rank)
        scratch, now_us = view.scratch, view.now_us
        task = first_waiting(scratch)
        if task < 0 or is_between_passes(model, state, view) or not is_any_free(model, state):
            return nothing()
        while task >= 0:
            unit = unit_now(model, state, scratch, task, now_us)
            if unit >= 0:
                return start_now(model, state, view, task, unit)
            reserved, shadow_us = earliest_begin(model, state, scratch, task, now_us)
            if reserved >= 0:
                reserve(model, state, scratch, task, reserved, shadow_us)
                other, unit = first_that_fills(model, state, scratch, task, reserved, now_us)
                cancel(scratch, task)
                return nothing() if other < 0 else start_now(model, state, view, other, unit)
            task = next_to_try(model, state, scratch, task)
        return nothing()

    @staticmethod
    def renumbered(model: Any, state: Any, view: Any) -> None:
        index_again(model, view.scratch)


def next_to_try(model: Any, state: Any, scratch: Any, task: int) -> int:
    """Return the next task of the queue to try if one cannot start; -1 if there is none. Tasks that take whole units
    differ only by type and requests: then the rest of its group cannot start either. In order of arrival they need not
    be looked at."""
    is_by_group = len(model.task_demand) == 0 and scratch.is_ranked[0] == 0
    return next_pending(model, state, task) if is_by_group else next_waiting(scratch, task)


def first_that_fills(model: Any, state: Any, scratch: Any, task: int, reserved: int, now_us: float) -> tuple[int, int]:
    """Return the first task of the queue after ``task`` that may start now, and its unit; -1, -1 if there is none."""
    if len(model.task_demand) > 0:
        look_at_room(model, state, scratch, reserved)
    task = next_to_try(model, state, scratch, task)
    while task >= 0:
        if len(model.task_demand) == 0 or may_fit(model, state, scratch, task, reserved):
            unit = unit_now(model, state, scratch, task, now_us)
            if unit >= 0:
                return task, unit
        task = next_to_try(model, state, scratch, task)
    return -1, -1


def look_at_room(model: Any, state: Any, scratch: Any, but_for: int) -> None:
    """Record the least load of each type's units with room, except for one unit."""
    size = int(scratch.tree_size[0])
    place = int(scratch.place[but_for])
    for p in range(len(model.affinity)):
        first, end = int(scratch.type_first[p]), int(scratch.type_first[p + 1])
        if first <= place < end:
            before = least_of(scratch.load, size, first, place, math.inf)
            scratch.least_load[p] = least_of(scratch.load, size, place + 1, end, before)
        else:
            scratch.least_load[p] = least_of(scratch.load, size, first, end, math.inf)


def may_fit(model: Any, state: Any, scratch: Any, task: int, reserved: int) -> bool:
    """Whether the task fits the emptiest unit of any type that can run it, or the reserved one."""
    own_type = task_type(model, state, task)
    for p in range(len(model.affinity)):
        if scratch.least_load[p] < math.inf and model.affinity[p, own_type] > 0.0:
            unit = int(scratch.unit_at[scratch.type_first[p]])
            wanted, capacity = demand(model, state, task, unit), model.unit_capacity[unit]
            if has_room_for(scratch.least_load[p], wanted, capacity):
                return True
    return fits(model, state, task, reserved)
