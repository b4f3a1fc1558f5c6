"""EASY backfilling of tasks that hold several units, and of gangs.

The first task that waits gets a shadow time: the time at which it fits if what runs ends as expected. A later task or
gang that ends after it may start only if it leaves the first task a place at that time. If the first task has slots
(``slots.py``), the later one goes where it takes the fewest of them. If the first one is a gang of tasks that differ,
the later one goes to its usual place if the first one can then be placed again, or else to one next to the place that
was found for the first one.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.backfill.ahead import (
    AHEAD,
    begin_at,
    can_be_alike,
    fit_by,
    look_up_expected,
    restore_capacities,
    start_now,
    suppose_more,
    unit_of,
    update,
)
from vinesim.policies.backfill.base import (
    AS_EXPECTED,
    NO_CHANGE,
    Backfill,
    ends_now,
    first_waiting,
    is_between_passes,
    next_waiting,
    rank,
    task_of,
)
from vinesim.policies.backfill.slots import (
    CHEAPEST,
    SLOTS,
    begin_counting,
    cheapest_unit,
    count_slots,
    find_best,
    forget_slots,
    forget_taken,
    free_rows,
    is_by_node,
    lead_to_cheapest,
    leaves_slots,
    n_alike,
    take_rows,
)
from vinesim.state.expected import held_until_on_us, next_reservation_end_us
from vinesim.state.places import end_of_members, is_member, note_place, rows_of
from vinesim.state.queries import group, is_within_quotas, next_with_room, nothing

SHADOW: Mapping[str, tuple[str, str]] = {
    **SLOTS,
    "reserved_for": ("i8", "one"),  # 1 + the task with the reservation, 0 = none
    "is_firm": ("u1", "one"),  # nothing runs longer than expected, so it need not be made again at each event
    "shadow_us": ("f8", "one"),
}


def cancel(model: Any, scratch: Any) -> None:
    """Cancel the reservation."""
    if scratch.reserved_for[0] > 0:
        forget_slots(model, scratch)
    scratch.reserved_for[0], scratch.is_firm[0] = 0, 0


def reserve(model: Any, state: Any, scratch: Any, task: int, now_us: float) -> bool:
    """Let tasks end as expected until the task fits, and keep its slots, or its place, from then on. Returns whether it
    ever does; a task whose quotas leave no room reserves nothing. ``look_up_expected`` must have been called for it."""
    if not is_within_quotas(model, state, task):
        return False
    change = int(scratch.change_first[0])
    is_firm = change == 0 or scratch.change_us[change - 1] > now_us
    begin_counting(model, state, scratch, task)
    unit, shadow_us = -1, now_us
    while unit < 0:
        end_us = max(now_us, scratch.change_us[change - 1]) if change > 0 else math.inf
        shadow_us = min(end_us, next_reservation_end_us(model, shadow_us))
        if shadow_us == math.inf:
            break
        begin_at(model, state, shadow_us)
        if shadow_us == end_us:
            change = let_end(model, state, scratch, task, change, now_us)
        count_where_reserved(model, state, scratch, task)
        if scratch.n_items[0] == 0 or find_best(model, state, scratch, task):
            unit = fit_by(model, state, scratch, task, shadow_us, -math.inf, math.inf)
    if unit >= 0:
        scratch.reserved_for[0], scratch.shadow_us[0], scratch.is_firm[0] = task + 1, shadow_us, is_firm
        if scratch.n_items[0] == 0:
            note_place(model, state, scratch, task, unit)
    else:
        forget_slots(model, scratch)
    restore_capacities(model, state, scratch)
    return unit >= 0


def count_where_reserved(model: Any, state: Any, scratch: Any, task: int) -> None:
    """Count the slots of the nodes that are ever reserved: there they depend on the time."""
    if len(model.reserved_first) > 0 and scratch.n_items[0] > 0:
        for node in range(len(model.node_rack)):
            if model.reserved_first[node] < model.reserved_first[node + 1]:
                count_slots(model, state, scratch, task, node)


def let_end(model: Any, state: Any, scratch: Any, task: int, change: int, now_us: float) -> int:
    """Let tasks find the room that is freed at the time of a change, and count the slots there. Returns the change
    after that."""
    first, time_us = change, max(now_us, scratch.change_us[change - 1])
    while change > 0 and max(now_us, scratch.change_us[change - 1]) == time_us:
        other = task_of(change)
        free_rows(model, scratch, other)
        for row in rows_of(model, other):
            unit = int(scratch.row_unit[row])
            suppose_more(model, state, scratch, unit, scratch.freed[unit])
        change = int(scratch.change_next[change - 1])
    last = -1
    while first != change and scratch.n_items[0] > 0:
        other = task_of(first)
        node = int(model.unit_node[unit_of(model, scratch, other)])
        if node != last:
            count_slots(model, state, scratch, task, node)
        last, first = node, int(scratch.change_next[first - 1])
    return change


def note_ended(model: Any, scratch: Any, task: int) -> None:
    """Record that a running task no longer frees anything by the shadow time: it has, or it ends after it."""
    if scratch.reserved_for[0] > 0 and scratch.change_us[2 * task + 1] <= scratch.shadow_us[0]:
        for row in rows_of(model, task):
            scratch.freed[scratch.row_unit[row]] -= scratch.row_amount[row]


def free_at_shadow(model: Any, state: Any, scratch: Any, task: int) -> None:
    """Record what a task, with its gang, that starts now frees by the shadow time."""
    for member in range(task, end_of_members(model, state, task)):
        if is_member(model, state, task, member) and scratch.change_us[2 * member + 1] <= scratch.shadow_us[0]:
            free_rows(model, scratch, member)


PAST_SHADOW: Mapping[str, tuple[str, str]] = {**SHADOW, **CHEAPEST}


def unit_past_shadow(model: Any, state: Any, scratch: Any, task: int, unit: int, now_us: float) -> int:
    """Return the unit on which a task, whose usual place is on ``unit``, may start next to the first one; -1 if there
    is none. Units keep the capacities that the task is to find."""
    first, shadow_us = int(scratch.reserved_for[0]) - 1, scratch.shadow_us[0]
    if scratch.n_items[0] == 0:
        return place_past_shadow(model, state, scratch, task, unit, now_us)
    if end_of_members(model, state, task) == task + 1:
        unit = cheapest_unit(model, state, scratch, task, first, now_us, shadow_us)
    else:
        n = n_alike(model, state, task)
        if is_by_node(model, state, task, n):
            unit = lead_to_cheapest(model, state, scratch, task, first, n, now_us, shadow_us)
    if unit < 0:
        return -1
    note_place(model, state, scratch, task, unit)
    take_beyond(model, state, scratch, task, now_us)
    return unit if leaves_slots(model, state, scratch, first) else -1


def take_beyond(model: Any, state: Any, scratch: Any, task: int, now_us: float) -> None:
    """Suppose that the units are taken that a task, with its gang, would hold beyond the shadow time in the place that
    was noted."""
    for member in range(task, end_of_members(model, state, task)):
        if is_member(model, state, task, member):
            own = unit_of(model, scratch, member)
            if held_until_on_us(model, state, member, own, now_us) > scratch.shadow_us[0]:
                take_rows(model, scratch, member)


def place_past_shadow(model: Any, state: Any, scratch: Any, task: int, unit: int, now_us: float) -> int:
    """Do the same as ``unit_past_shadow`` where the first task has a particular place."""
    first, shadow_us = int(scratch.reserved_for[0]) - 1, scratch.shadow_us[0]
    note_place(model, state, scratch, task, unit)
    take_beyond(model, state, scratch, task, now_us)
    for i in range(int(scratch.n_freed[0])):
        suppose_more(model, state, scratch, int(scratch.freed_unit[i]), scratch.freed[scratch.freed_unit[i]])
    for i in range(int(scratch.n_taken[0])):
        other = int(scratch.taken_unit[i])
        suppose_more(model, state, scratch, other, scratch.freed[other] - scratch.taken[other])
    forget_taken(scratch)
    look_up_expected(model, state, scratch, first)
    again = fit_by(model, state, scratch, first, shadow_us, -math.inf, math.inf)
    if again >= 0:
        note_place(model, state, scratch, first, again)
        restore_capacities(model, state, scratch)
        return unit
    restore_capacities(model, state, scratch)
    for member in range(first, end_of_members(model, state, first)):
        if is_member(model, state, first, member):
            take_rows(model, scratch, member)
    for i in range(int(scratch.n_taken[0])):
        other = int(scratch.taken_unit[i])
        suppose_more(model, state, scratch, other, -max(0.0, scratch.taken[other] - scratch.freed[other]))
    forget_taken(scratch)
    look_up_expected(model, state, scratch, task)
    return fit_by(model, state, scratch, task, now_us, shadow_us, math.inf)


@dataclass(frozen=True)
class EasyBackfillOfNodes(Backfill):
    """EASY backfilling where a task holds several units, and gangs start together.

    The shadow time of the first task that does not fit is the earliest of the expected ends of what runs at which it
    fits, with its gang, if nothing else starts. A later task or gang in the queue may start now if it ends by then, or
    where it leaves the first task a place at that time: any place, not a particular one (``slots.py``). The shadow time
    is kept until the task starts, something ends earlier or later than expected, or a node goes down or comes up. A
    task whose quotas leave no room is passed over and reserves nothing, as in Slurm.
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
        if ends_now(view):
            note_ended(model, scratch, view.task)
        last = int(scratch.last[0])
        change = update(model, state, view, rank)
        if change == AS_EXPECTED and view.task < 0 and scratch.is_firm[0] == 1:
            if scratch.is_overtaken[0] == 1:
                scratch.to_try[0] = scratch.first[0]
            elif scratch.to_try[0] == 0:  # what was tried before finds no more than then
                scratch.to_try[0] = scratch.next[last - 1] if last > 0 else scratch.first[0]
        elif change != NO_CHANGE:
            scratch.to_try[0] = scratch.first[0]
            scratch.passes[0] += 1
            if change != AS_EXPECTED or scratch.is_firm[0] == 0:
                cancel(model, scratch)
        scratch.is_overtaken[0] = 0
        if scratch.to_try[0] == 0 or is_between_passes(model, state, view) or not is_any_free(model, state):
            return nothing()
        task = first_waiting(scratch)
        while task >= 0 and not keeps_place(model, state, scratch, task, now_us):
            cancel(model, scratch)
            look_up_expected(model, state, scratch, task)
            unit = fit_by(model, state, scratch, task, now_us, -math.inf, math.inf)
            if unit >= 0:
                return start_now(model, state, view, task, unit)
            if reserve(model, state, scratch, task, now_us):
                scratch.to_try[0] = scratch.next[task]
                scratch.passes[0] += 1
                break
            task = next_waiting(scratch, task)
        return backfill(model, state, view)


def is_any_free(model: Any, state: Any) -> bool:
    """Whether any unit has room."""
    for p in range(len(model.affinity)):
        unit = next_with_room(model, state, p, 0)
        if unit >= 0:
            return True
    return False


def keeps_place(model: Any, state: Any, scratch: Any, task: int, now_us: float) -> bool:
    """Whether a task goes on waiting for its shadow time."""
    is_waiting = scratch.reserved_for[0] == task + 1 and now_us < scratch.shadow_us[0]
    return bool(is_waiting and is_within_quotas(model, state, task))


def backfill(model: Any, state: Any, view: Any) -> Any:
    """Start the next task of the queue that does not delay the first one."""
    scratch, task = view.scratch, int(view.scratch.to_try[0]) - 1
    if scratch.reserved_for[0] == 0:
        return nothing()
    if task == scratch.reserved_for[0] - 1:
        task = next_waiting(scratch, task)
    while task >= 0:
        unit = unit_that_delays_nobody(model, state, scratch, task, view.now_us)
        if unit >= 0:
            scratch.to_try[0] = scratch.next[task]
            action = start_now(model, state, view, task, unit)
            free_at_shadow(model, state, scratch, task)
            return action
        task = next_waiting(scratch, task)
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
