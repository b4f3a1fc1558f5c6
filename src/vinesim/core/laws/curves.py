"""Curves: the tasks of a unit share its speed, each task type by its own speed curve.

The tasks of a unit get different shares. So the clock of the unit stands still, and ``due`` is what is left of each
task, which is brought up to date when a task joins or leaves.
"""

import numpy as np

from vinesim.core import linked
from vinesim.core.called import called
from vinesim.core.laws import shared


@called
def join(model, state, slot, unit, load, service_us):
    advance(model, state, unit)
    shared.enter(state, slot, unit, service_us)
    return shared.requeue(model, state, unit, load, first_done(model, state, unit, load))


@called
def leave(model, state, slot, unit, load, is_due):
    shared.take_out(state, slot, unit, is_due)
    advance(model, state, unit)
    linked.remove(state, slot, unit)
    return shared.requeue(model, state, unit, load, first_done(model, state, unit, load))


@called
def served_us(model, state, slot, unit):
    one = state.slot[slot]
    took_us = state.run[0].now_us - state.work_at_us[unit]
    done = state.work_done[unit] + took_us * shared.speed(model, state, np.int64(one.task), unit, state.unit[unit].load)
    return one.before_us + one.work_us - max(0.0, one.due - done) if one.work_us < np.inf else 0.0


def advance(model, state, unit):
    """Bring what is left of each task of the unit up to date."""
    now = state.run[0].now_us
    took_us, slot = now - state.work_at_us[unit], np.int64(state.work_first[unit])
    while slot >= 0:
        one = state.slot[slot]
        one.due -= took_us * shared.speed(model, state, np.int64(one.task), unit, state.unit[unit].load)
        slot = np.int64(one.next_on_unit)
    state.work_at_us[unit] = now


def first_done(model, state, unit, load):
    """The slot of a unit that is done first; -1 if there is none."""
    first, first_us, slot = np.int64(-1), np.inf, np.int64(state.work_first[unit])
    while slot >= 0:
        one = state.slot[slot]
        left_us = max(0.0, one.due) / shared.speed(model, state, np.int64(one.task), unit, load)
        if first < 0 or left_us < first_us or (left_us == first_us and one.due < state.slot[first].due):
            first, first_us = slot, left_us
        slot = np.int64(one.next_on_unit)
    return first
