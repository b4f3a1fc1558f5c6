"""EASY backfilling of tasks that hold several units, and of gangs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.backfill.ahead import (
    AHEAD,
    AS_EXPECTED,
    NOTHING_NEW,
    begin,
    can_be_alike,
    fit_by,
    hear,
    look_up_expected,
    offer,
    offer_as_is,
)
from vinesim.policies.backfill.changes import task_of
from vinesim.policies.contract import OnlinePolicy
from vinesim.state.places import end_of_members, first_row, is_member, note_place
from vinesim.state.queries import group, is_within_quotas, more_at_once, next_with_room, nothing


@dataclass(frozen=True)
class EasyBackfillOfNodes(OnlinePolicy):
    """EASY backfilling where a task holds several units, and gangs start together.

    The first task that does not fit reserves a place: the units that it would hold, with its gang, at its shadow time.
    That is the earliest of the expected ends of what runs at which it fits if nothing else starts. Something later in
    the queue may start now if it ends by the shadow time; else only beside the reservation: what it finds of each
    reserved unit is less by what the reservation takes and what ends by the shadow time does not free. The reservation
    is kept until its task starts, something ends earlier or later than expected, or a node goes down or comes up. A
    task for which its quotas leave no room is passed over and reserves nothing, as in Slurm.
    """

    sees_every_event: ClassVar[bool] = True
    takes_back: ClassVar[bool] = True
    takes_withdrawals: ClassVar[bool] = True
    takes_gangs: ClassVar[bool] = True
    needs_estimates: ClassVar[bool] = True
    groups: ClassVar[tuple[str, ...]] = ("requests",)
    scratch: ClassVar[Mapping[str, tuple[str, str]]] = {
        **AHEAD,
        "reserved_for": ("i8", "one"),  # 1 + the task with the reservation, 0 = none
        "is_firm": ("u1", "one"),  # nothing runs longer than expected, so it need not be made anew at each event
        "shadow_us": ("f8", "one"),
        "reserved": ("i4", "units"),  # the units of the reservation
        "n_reserved": ("i8", "one"),
        "is_reserved": ("u1", "units"),
        "kept_back": ("f8", "units"),  # what it takes of them, less what running tasks free by the shadow time
        "to_try": ("i8", "one"),  # 1 + the next task to backfill, 0 = none
        "passes": ("i8", "one"),  # passes over the queue so far
        "no_room": ("i8", "groups"),  # the last pass in which no unit had room for a task of the group
        "no_room_beside": ("i8", "groups"),  # the same, beside the reservation
    }

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        scratch, now_us = view.scratch, view.now_us
        offer_as_is(model, state, scratch)
        if view.task >= 0 and scratch.is_running[view.task] == 1:
            free(model, scratch, view.task)
        news = hear(model, state, view)
        if news != NOTHING_NEW:
            scratch.to_try[0] = scratch.first[0]
            scratch.passes[0] += 1
            if news != AS_EXPECTED or scratch.is_firm[0] == 0:
                cancel(scratch)
        if scratch.first[0] == 0 or more_at_once(model, state) or not is_any_free(model, state):
            return nothing()
        item = int(scratch.first[0])
        while item > 0 and not keeps_place(model, state, scratch, item, now_us):
            cancel(scratch)
            look_up_expected(model, state, scratch, item - 1)
            unit = fit_by(model, state, scratch, item - 1, now_us, -math.inf, math.inf)
            if unit >= 0:
                return begin(model, state, view, item - 1, unit)
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
    """Whether a task, numbered from 1, goes on waiting for the place that it has reserved."""
    is_waiting = scratch.reserved_for[0] == item and now_us < scratch.shadow_us[0]
    return bool(is_waiting and is_within_quotas(model, state, item - 1))


def cancel(scratch: Any) -> None:
    """Cancel the reservation."""
    for i in range(int(scratch.n_reserved[0])):
        scratch.is_reserved[scratch.reserved[i]] = 0
    scratch.n_reserved[0], scratch.reserved_for[0] = 0, 0


def free(model: Any, scratch: Any, task: int) -> None:
    """Record that a running task no longer frees its part of the reservation by the shadow time: it has, or it ends
    after it."""
    for row in range(first_row(model, task), first_row(model, task + 1)):
        unit = int(scratch.row_unit[row])
        if scratch.is_reserved[unit] == 1 and scratch.change_us[2 * task + 1] <= scratch.shadow_us[0]:
            scratch.kept_back[unit] += scratch.row_amount[row]


def reserve(model: Any, state: Any, scratch: Any, task: int, now_us: float) -> bool:
    """Let tasks end as expected until the task fits, and reserve the place. Returns whether it ever does; a task for
    which its quotas leave no room reserves nothing."""
    if not is_within_quotas(model, state, task):
        return False
    change = int(scratch.change_first[0])
    is_firm = change == 0 or scratch.change_us[change - 1] > now_us
    unit, shadow_us = -1, now_us
    while change > 0 and unit < 0:
        shadow_us = max(now_us, scratch.change_us[change - 1])
        if shadow_us == math.inf:
            break
        while change > 0 and max(now_us, scratch.change_us[change - 1]) == shadow_us:
            other = task_of(change)
            for row in range(first_row(model, other), first_row(model, other + 1)):
                freed = int(scratch.row_unit[row])
                offer(model, state, scratch, freed, scratch.more[freed] + scratch.row_amount[row])
            change = int(scratch.change_next[change - 1])
        unit = fit_by(model, state, scratch, task, shadow_us, -math.inf, math.inf)
    if unit >= 0:
        note_place(model, state, scratch, task, unit)
        keep_back(model, state, scratch, task)
        scratch.reserved_for[0], scratch.shadow_us[0], scratch.is_firm[0] = task + 1, shadow_us, is_firm
    offer_as_is(model, state, scratch)
    return unit >= 0


def keep_back(model: Any, state: Any, scratch: Any, task: int) -> None:
    """Note what the reservation takes of each unit, less what is free of it by then beyond what is free now."""
    for member in range(task, end_of_members(model, state, task)):
        if is_member(model, state, task, member):
            for row in range(first_row(model, member), first_row(model, member + 1)):
                unit = int(scratch.row_unit[row])
                if scratch.is_reserved[unit] == 0:
                    scratch.is_reserved[unit] = 1
                    scratch.reserved[scratch.n_reserved[0]] = unit
                    scratch.n_reserved[0] += 1
                    scratch.kept_back[unit] = -scratch.more[unit]
                scratch.kept_back[unit] += scratch.row_amount[row]


def backfill(model: Any, state: Any, view: Any) -> Any:
    """Start the next task of the queue that does not delay the one with the reservation."""
    scratch, item = view.scratch, int(view.scratch.to_try[0])
    if scratch.reserved_for[0] == 0:
        return nothing()
    if item == scratch.reserved_for[0]:
        item = int(scratch.next[item - 1])
    while item > 0:
        unit = unit_beside(model, state, scratch, item - 1, view.now_us)
        following = int(scratch.next[item - 1])
        if unit >= 0:
            scratch.to_try[0] = following
            action = begin(model, state, view, item - 1, unit)
            take(model, state, scratch, item - 1)
            return action
        item = following
    scratch.to_try[0] = 0
    offer_as_is(model, state, scratch)
    return nothing()


def unit_beside(model: Any, state: Any, scratch: Any, task: int, now_us: float) -> int:
    """Return the unit on which the task may start without delaying the reservation, and ends first; -1 if there is
    none."""
    of, shadow_us = group(model, state, task), scratch.shadow_us[0]
    is_alike = can_be_alike(model, state, task)
    if is_alike and scratch.no_room[of] == scratch.passes[0]:
        return -1
    look_up_expected(model, state, scratch, task)
    offer_as_is(model, state, scratch)
    unit = fit_by(model, state, scratch, task, now_us, -math.inf, shadow_us)
    n_until = int(scratch.n_asked[0])
    if unit >= 0 or (n_until == 0 and is_alike and scratch.no_room_beside[of] == scratch.passes[0]):
        return unit
    for i in range(int(scratch.n_reserved[0])):
        reserved = int(scratch.reserved[i])
        offer(model, state, scratch, reserved, -max(0.0, scratch.kept_back[reserved]))
    unit = fit_by(model, state, scratch, task, now_us, shadow_us, math.inf)
    if unit < 0 and is_alike:
        if scratch.n_asked[0] == 0:
            scratch.no_room[of] = scratch.passes[0]
        elif n_until == 0:
            scratch.no_room_beside[of] = scratch.passes[0]
    return unit


def take(model: Any, state: Any, scratch: Any, task: int) -> None:
    """Record that what starts now frees its part of the reservation again if it ends by the shadow time."""
    for member in range(task, end_of_members(model, state, task)):
        if is_member(model, state, task, member) and scratch.change_us[2 * member + 1] <= scratch.shadow_us[0]:
            for row in range(first_row(model, member), first_row(model, member + 1)):
                unit = int(scratch.row_unit[row])
                if scratch.is_reserved[unit] == 1:
                    scratch.kept_back[unit] -= scratch.row_amount[row]
