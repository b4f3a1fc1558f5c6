"""Device laws: when a segment ends on its unit, and how far it has come.

A law is three functions: ``join`` and ``leave`` as a segment begins and before its end, each with the load of the unit
after it, and ``served_us``, the service that a segment has had. Which law a unit follows is a fact about the unit:
alone, a task runs at full speed; in turn, one task after another does; ``shared``, tasks get equal parts of a speed, or
each task type by its own speed curve. A serving engine (``batching``) is not called when a request ends: it says so.

In turn, where units take tasks ahead, the others wait on the unit in the order in which it was given them. The data of
a task comes while the unit computes those before it. When the unit is free for it is known as soon as it is given the
task, and changes only if a task before it is withdrawn.
"""

import numpy as np

from vinesim.core import calendar, ledger
from vinesim.core.features import AHEAD, BATCHING, EARLY, SHARED, called
from vinesim.core.laws import batching, shared
from vinesim.core.tasks import follower_of


def is_shared(model, unit):
    """Whether tasks may share the speed of a unit."""
    return model.unit_parallelism[unit] < model.unit_capacity[unit]


def join(model, state, slot, unit, load, service_us, end_us):
    """Begin a segment that takes ``service_us`` alone, until ``end_us``. Returns whether the next end on the unit is a
    finite number, or never comes."""
    if SHARED and is_shared(model, unit):
        return shared.join(model, state, slot, unit, load, service_us)
    if AHEAD and takes_ahead(model, unit):
        shared.add_to_unit(state, slot, unit)
    return join_alone(state, slot, end_us)


def leave(model, state, slot, unit, load, is_due):
    """Remove a segment from its unit. If it ``is_due``, its end has already been taken out of the calendar. Returns as
    ``join``."""
    if BATCHING and batching.is_engine(model, unit):
        return True
    if SHARED and is_shared(model, unit):
        return shared.leave(model, state, slot, unit, load, is_due)
    if AHEAD and takes_ahead(model, unit):
        return leave_in_turn(model, state, slot, unit, is_due)
    return leave_alone(state, slot, is_due)


def served_us(model, state, slot, unit):
    """The service that a segment has had so far, us at full speed, its transfer included."""
    if SHARED and is_shared(model, unit):
        return shared.served_us(model, state, slot, unit)
    return state.run[0].now_us - state.task_init_us[state.slot[slot].task]


# Alone, and in turn


def join_alone(state, slot, end_us):
    if end_us < np.inf:
        calendar.push(state, slot, end_us)
    else:
        state.slot[slot].end_us = end_us
    return True


def leave_alone(state, slot, is_due):
    if EARLY and not is_due and state.slot[slot].end_us < np.inf:
        calendar.cancel(state, slot)
    return True


def takes_ahead(model, unit):
    """Whether the tasks of a unit may wait for one another."""
    return ledger.takes_ahead(model, model.unit_type[unit])


def free_us(state, unit):
    """When a unit is done with all that it was given so far."""
    last = shared.last_on_unit(state, unit)
    return state.slot[last].end_us if last >= 0 else state.run[0].now_us


def leave_in_turn(model, state, slot, unit, is_due):
    leave_alone(state, slot, is_due)
    following = np.int64(state.slot[slot].next_on_unit)
    shared.remove_from_unit(state, slot, unit)
    if EARLY and not is_due:
        close_up(state, unit, following)
    return True


@called
def close_up(state, unit, slot):
    """Make the segments from a slot on, which all wait ahead, begin as early as they now can."""
    free_at_us, other = state.run[0].now_us, np.int64(state.work_first[unit])
    while other != slot:
        free_at_us, other = state.slot[other].end_us, np.int64(state.slot[other].next_on_unit)
    while slot >= 0:
        one = state.slot[slot]
        leave_alone(state, slot, False)
        start_us = max(one.there_us, free_at_us)
        one.before_us, end_us = start_us - free_at_us, start_us + one.work_us
        task = np.int64(one.task)
        while task >= 0:
            state.task_init_us[task], state.task_start_us[task] = free_at_us, start_us
            state.task_finish_us[task] = end_us
            task = follower_of(state, task)
        join_alone(state, slot, end_us)
        free_at_us, slot = end_us, np.int64(one.next_on_unit)
