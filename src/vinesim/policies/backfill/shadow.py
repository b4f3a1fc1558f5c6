"""The shadow time of EASY backfilling: when the first task that waits fits, if what runs ends as expected."""

import math
from collections.abc import Mapping
from typing import Any

from vinesim.policies.backfill.ahead import begin_at, fit_by, restore_capacities, suppose_more
from vinesim.policies.backfill.changes import task_of
from vinesim.policies.backfill.slots import SLOTS, add_freed, begin_counting, count_slots, find_best, forget_slots
from vinesim.state.expected import next_reservation_end_us
from vinesim.state.places import end_of_members, first_row, is_member, note_place
from vinesim.state.queries import is_within_quotas

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
    ever does; a task for which its quotas leave no room reserves nothing. ``look_up_expected`` must have been called
    for it."""
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
    """Let tasks find what ends at the time of a change, and count the slots there. Returns the change after that."""
    first, time_us = change, max(now_us, scratch.change_us[change - 1])
    while change > 0 and max(now_us, scratch.change_us[change - 1]) == time_us:
        other = task_of(change)
        for row in range(first_row(model, other), first_row(model, other + 1)):
            unit = int(scratch.row_unit[row])
            add_freed(scratch, unit, scratch.row_amount[row])
            suppose_more(model, state, scratch, unit, scratch.freed[unit])
        change = int(scratch.change_next[change - 1])
    last = -1
    while first != change and scratch.n_items[0] > 0:
        other = task_of(first)
        node = int(model.unit_node[scratch.row_unit[first_row(model, other)]])
        if node != last:
            count_slots(model, state, scratch, task, node)
        last, first = node, int(scratch.change_next[first - 1])
    return change


def note_ended(model: Any, scratch: Any, task: int) -> None:
    """Record that a running task no longer frees anything by the shadow time: it has, or it ends after it."""
    if scratch.reserved_for[0] > 0 and scratch.change_us[2 * task + 1] <= scratch.shadow_us[0]:
        for row in range(first_row(model, task), first_row(model, task + 1)):
            scratch.freed[scratch.row_unit[row]] -= scratch.row_amount[row]


def free_at_shadow(model: Any, state: Any, scratch: Any, task: int) -> None:
    """Record what a task, with its gang, that starts now frees by the shadow time."""
    for member in range(task, end_of_members(model, state, task)):
        if is_member(model, state, task, member) and scratch.change_us[2 * member + 1] <= scratch.shadow_us[0]:
            for row in range(first_row(model, member), first_row(model, member + 1)):
                add_freed(scratch, int(scratch.row_unit[row]), scratch.row_amount[row])
