"""Exclusive: a task runs at full speed, whatever else runs on its unit; or in turn, where units take tasks ahead.

In turn, a unit computes one task after another, in the order in which it was given them; the others wait ahead. The
data of a task comes while the unit computes those before it. When the unit is free for it is known as soon as it is
given the task, and changes only if a task before it is withdrawn.
"""

import numpy as np

from vinesim.core import calendar, ledger, linked
from vinesim.core.called import called
from vinesim.core.features import CONSOLIDATES, EARLY


def join(state, slot, end_us):
    if end_us < np.inf:
        calendar.push(state, slot, end_us)
    else:
        state.slot[slot].end_us = end_us
    return True


def leave(state, slot, is_due):
    if EARLY and not is_due and state.slot[slot].end_us < np.inf:
        calendar.cancel(state, slot)
    return True


def served_us(state, slot):
    return state.run[0].now_us - state.task_init_us[state.slot[slot].task]


def takes_ahead(model, unit):
    """Whether the tasks of a unit may wait for one another."""
    return ledger.takes_ahead(model, model.unit_type[unit])


def free_us(state, unit):
    """When a unit is done with all that it was given so far."""
    last = linked.last_of(state, unit)
    return state.slot[last].end_us if last >= 0 else state.run[0].now_us


def join_in_turn(state, slot, unit, end_us):
    linked.append(state, slot, unit)
    return join(state, slot, end_us)


def leave_in_turn(model, state, slot, unit, is_due):
    leave(state, slot, is_due)
    following = np.int64(state.slot[slot].next_on_unit)
    linked.remove(state, slot, unit)
    if EARLY and not is_due:
        close_up(state, unit, following)
    return True


@called
def close_up(state, unit, slot):
    """Let the segments from a slot on, which all wait ahead, begin as early as they can now."""
    free_at_us, other = state.run[0].now_us, np.int64(state.work_first[unit])
    while other != slot:
        free_at_us, other = state.slot[other].end_us, np.int64(state.slot[other].next_on_unit)
    while slot >= 0:
        one = state.slot[slot]
        leave(state, slot, False)
        start_us = max(one.there_us, free_at_us)
        one.before_us, end_us = start_us - free_at_us, start_us + one.work_us
        task = np.int64(one.task)
        while task >= 0:
            state.task_init_us[task], state.task_start_us[task] = free_at_us, start_us
            state.task_finish_us[task] = end_us
            task = np.int64(state.task_follower[task]) if CONSOLIDATES else np.int64(-1)
        join(state, slot, end_us)
        free_at_us, slot = end_us, np.int64(one.next_on_unit)
