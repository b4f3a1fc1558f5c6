"""EASY backfilling: only the first waiting job has a reservation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.backfill.profile import earliest_begin, reserve, unit_now, withdraw
from vinesim.policies.backfill.waiting import SCRATCH, begin, hear
from vinesim.policies.contract import OnlinePolicy
from vinesim.state.queries import fits, more_at_once, next_with_room, nothing, task_type


@dataclass(frozen=True)
class EasyBackfill(OnlinePolicy):
    """Tasks start in order of arrival; later ones fill gaps if that does not delay the first waiting task.

    Each task takes its demand of one unit that can run it and meets its requests. The first task that finds no room
    reserves the unit that will have room for it earliest, its shadow time, by the expected ends of the tasks there. A
    later task may start now if it ends by the shadow time, takes only what the reservation leaves of that unit, or uses
    another unit. Expected times: the workload's estimates, or else the true ones. A task that runs longer than its
    estimate counts as ending now. A task that no unit now up can ever hold reserves nothing.

    A task starts where it is expected to finish first. Ties: (rack, shelf) order; among units to reserve, the earliest
    expected end, then that order. Cost per decision: units + running tasks + pending tasks x processor types.
    """

    name: ClassVar[str] = "easy_backfill"
    source: ClassVar[str] = "Lifka, The ANL/IBM SP scheduling system, 1995; Mu'alem and Feitelson, 2001"
    sees_every_event: ClassVar[bool] = True
    takes_back: ClassVar[bool] = True
    needs_estimates: ClassVar[bool] = True
    scratch: ClassVar[Mapping[str, tuple[str, str]]] = {
        **SCRATCH,
        "emptiest": ("i4", "types"),  # 1 + the unit of the type with the least load, except the reserved one
    }

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        hear(model, state, view)
        scratch, now_us = view.scratch, view.now_us
        item = int(scratch.first[0])
        if item == 0 or more_at_once(model, state) or not look_at_room(model, state, scratch, -1):
            return nothing()
        while item > 0:
            unit = unit_if_any(model, state, scratch, item - 1, now_us, -1)
            if unit >= 0:
                return begin(model, state, view, item - 1, unit)
            reserved, shadow_us = earliest_begin(model, state, scratch, item - 1, now_us)
            if reserved >= 0:
                reserve(model, state, scratch, item - 1, reserved, shadow_us)
                task, unit = first_that_fills(model, state, scratch, item, reserved, now_us)
                withdraw(scratch, item - 1)
                return nothing() if task < 0 else begin(model, state, view, task, unit)
            item = int(scratch.next[item - 1])
        return nothing()


def look_at_room(model: Any, state: Any, scratch: Any, but_for: int) -> bool:
    """Record the emptiest unit of each type; return whether any unit has room."""
    has_any = False
    for p in range(len(model.affinity)):
        scratch.emptiest[p] = 0
        unit = next_with_room(model, state, p, 0)
        while unit >= 0:
            has_any = True
            best = int(scratch.emptiest[p]) - 1
            if unit != but_for and (best < 0 or state.unit_load[unit] < state.unit_load[best]):
                scratch.emptiest[p] = unit + 1
            unit = next_with_room(model, state, p, unit + 1)
    return has_any


def first_that_fills(model: Any, state: Any, scratch: Any, item: int, reserved: int, now_us: float) -> tuple[int, int]:
    """Return the first task of the queue after ``item`` that may start now, and its unit; -1, -1 if there is none."""
    look_at_room(model, state, scratch, reserved)
    item = int(scratch.next[item - 1])
    while item > 0:
        unit = unit_if_any(model, state, scratch, item - 1, now_us, reserved)
        if unit >= 0:
            return item - 1, unit
        item = int(scratch.next[item - 1])
    return -1, -1


def unit_if_any(model: Any, state: Any, scratch: Any, task: int, now_us: float, reserved: int) -> int:
    """Return the same as ``unit_now``, but find out quickly if there is none."""
    if not may_fit(model, state, scratch, task, reserved):
        return -1
    return unit_now(model, state, scratch, task, now_us)


def may_fit(model: Any, state: Any, scratch: Any, task: int, reserved: int) -> bool:
    """Whether the task fits the emptiest unit of any type that can run it, or the reserved one."""
    kind = task_type(model, state, task)
    for p in range(len(model.affinity)):
        emptiest = int(scratch.emptiest[p]) - 1
        if emptiest >= 0 and model.affinity[p, kind] > 0.0 and fits(model, state, task, emptiest):
            return True
    return reserved >= 0 and fits(model, state, task, reserved)
