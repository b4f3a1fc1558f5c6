"""EASY backfilling of tasks that hold several units, and of gangs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.backfill.ahead import (
    AHEAD,
    AS_EXPECTED,
    NO_CHANGE,
    can_be_alike,
    fit_by,
    look_up_expected,
    restore_capacities,
    start_now,
    update,
)
from vinesim.policies.backfill.past_shadow import PAST_SHADOW, unit_past_shadow
from vinesim.policies.backfill.queue import Backfill, is_between_passes
from vinesim.policies.backfill.shadow import cancel, free_at_shadow, note_ended, reserve
from vinesim.state.queries import group, is_within_quotas, next_with_room, nothing


@dataclass(frozen=True)
class EasyBackfillOfNodes(Backfill):
    """EASY backfilling where a task holds several units, and gangs start together.

    The shadow time of the first task that does not fit is the earliest of the expected ends of what runs at which it
    fits, with its gang, if nothing else starts. Something later in the queue may start now if it ends by then, or where
    it leaves the first task a place at that time: any place, not a particular one (``slots.py``, ``past_shadow.py``).
    The shadow time is kept until the task starts, something ends earlier or later than expected, or a node goes down or
    comes up. A task for which its quotas leave no room is passed over and reserves nothing, as in Slurm.
    """

    groups: ClassVar[tuple[str, ...]] = ("requests",)
    scratch: ClassVar[Mapping[str, tuple[str, str]]] = {
        **AHEAD,
        **PAST_SHADOW,
        "to_try": ("i8", "one"),  # 1 + the next task to try, 0 = none
        "passes": ("i8", "one"),  # passes over the queue so far
        "no_room": ("i8", "groups"),  # the last pass in which no unit had room for a task of the group
        "no_room_past_shadow": ("i8", "groups"),  # the same, with the reservation of the first task
    }

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        scratch, now_us = view.scratch, view.now_us
        restore_capacities(model, state, scratch)
        if view.task >= 0 and scratch.is_running[view.task] == 1:
            note_ended(model, scratch, view.task)
        last = int(scratch.last[0])
        change = update(model, state, view)
        if change == AS_EXPECTED and view.task < 0 and scratch.is_firm[0] == 1:
            if scratch.to_try[0] == 0:  # what was tried before finds no more than then
                scratch.to_try[0] = scratch.next[last - 1] if last > 0 else scratch.first[0]
        elif change != NO_CHANGE:
            scratch.to_try[0] = scratch.first[0]
            scratch.passes[0] += 1
            if change != AS_EXPECTED or scratch.is_firm[0] == 0:
                cancel(model, scratch)
        if scratch.to_try[0] == 0 or is_between_passes(model, state, view) or not is_any_free(model, state):
            return nothing()
        item = int(scratch.first[0])
        while item > 0 and not keeps_place(model, state, scratch, item, now_us):
            cancel(model, scratch)
            look_up_expected(model, state, scratch, item - 1)
            unit = fit_by(model, state, scratch, item - 1, now_us, -math.inf, math.inf)
            if unit >= 0:
                return start_now(model, state, view, item - 1, unit)
            if reserve(model, state, scratch, item - 1, now_us):
                scratch.to_try[0] = scratch.next[item - 1]
                scratch.passes[0] += 1
                break
            item = int(scratch.next[item - 1])
        return backfill(model, state, view)


def is_any_free(model: Any, state: Any) -> bool:
    """Whether any unit has room."""
    for p in range(len(model.affinity)):
        unit = next_with_room(model, state, p, 0)
        if unit >= 0:
            return True
    return False


def keeps_place(model: Any, state: Any, scratch: Any, item: int, now_us: float) -> bool:
    """Whether a task, numbered from 1, goes on waiting for its shadow time."""
    is_waiting = scratch.reserved_for[0] == item and now_us < scratch.shadow_us[0]
    return bool(is_waiting and is_within_quotas(model, state, item - 1))


def backfill(model: Any, state: Any, view: Any) -> Any:
    """Start the next task of the queue that does not delay the first one."""
    scratch, item = view.scratch, int(view.scratch.to_try[0])
    if scratch.reserved_for[0] == 0:
        return nothing()
    if item == scratch.reserved_for[0]:
        item = int(scratch.next[item - 1])
    while item > 0:
        unit = unit_that_delays_nobody(model, state, scratch, item - 1, view.now_us)
        following = int(scratch.next[item - 1])
        if unit >= 0:
            scratch.to_try[0] = following
            action = start_now(model, state, view, item - 1, unit)
            free_at_shadow(model, state, scratch, item - 1)
            return action
        item = following
    scratch.to_try[0] = 0
    restore_capacities(model, state, scratch)
    return nothing()


def unit_that_delays_nobody(model: Any, state: Any, scratch: Any, task: int, now_us: float) -> int:
    """Return the unit on which the task may start without delaying the first one; -1 if there is none."""
    of, shadow_us = group(model, state, task), scratch.shadow_us[0]
    is_alike = can_be_alike(model, state, task)
    if is_alike and scratch.no_room[of] == scratch.passes[0]:
        return -1
    look_up_expected(model, state, scratch, task)
    restore_capacities(model, state, scratch)
    unit = fit_by(model, state, scratch, task, now_us, -math.inf, shadow_us)
    ends_later = scratch.n_asked[0] == 0
    if unit >= 0 or (ends_later and is_alike and scratch.no_room_past_shadow[of] == scratch.passes[0]):
        return unit
    unit = fit_by(model, state, scratch, task, now_us, shadow_us, math.inf)
    if unit < 0:
        if is_alike:
            scratch.no_room[of] = scratch.passes[0]
        return -1
    unit = unit_past_shadow(model, state, scratch, task, unit, now_us)
    if unit < 0 and is_alike and ends_later:
        scratch.no_room_past_shadow[of] = scratch.passes[0]
    return unit
