"""What may start under EASY backfilling though it ends after the shadow time of the first task.

It must leave the first task a place at that time. If that task has slots, something later goes to where it takes the
fewest of them. If the first one is a gang of tasks that differ, the later one goes to its usual place if the first one
can then be placed again, or else to one next to the place that was found for the first one.
"""

import math
from collections.abc import Mapping
from typing import Any

from vinesim.policies.backfill.ahead import fit_by, look_up_expected, restore_capacities, suppose_more
from vinesim.policies.backfill.cheapest import CHEAPEST, cheapest_unit, lead_to_cheapest
from vinesim.policies.backfill.shadow import SHADOW
from vinesim.policies.backfill.slots import add_taken, forget_taken, is_by_node, leaves_slots, n_alike
from vinesim.state.expected import held_until_on_us
from vinesim.state.places import end_of_members, first_row, is_member, note_place

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
    """Suppose that what a task, with its gang, would hold beyond the shadow time in the place that was noted is
    taken."""
    for member in range(task, end_of_members(model, state, task)):
        if is_member(model, state, task, member):
            begin, end = first_row(model, member), first_row(model, member + 1)
            own = int(scratch.row_unit[begin])
            if held_until_on_us(model, state, member, own, now_us) > scratch.shadow_us[0]:
                for row in range(begin, end):
                    add_taken(scratch, int(scratch.row_unit[row]), scratch.row_amount[row])


def place_past_shadow(model: Any, state: Any, scratch: Any, task: int, unit: int, now_us: float) -> int:
    """Do this where the first task has a particular place."""
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
            for row in range(first_row(model, member), first_row(model, member + 1)):
                add_taken(scratch, int(scratch.row_unit[row]), scratch.row_amount[row])
    for i in range(int(scratch.n_taken[0])):
        other = int(scratch.taken_unit[i])
        suppose_more(model, state, scratch, other, -max(0.0, scratch.taken[other] - scratch.freed[other]))
    forget_taken(scratch)
    look_up_expected(model, state, scratch, task)
    return fit_by(model, state, scratch, task, now_us, shadow_us, math.inf)
