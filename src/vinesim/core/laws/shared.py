"""Shared: the tasks of a unit share its speed above a parallelism, or by a table of rates, in equal parts; or each task
type by its own speed curve.

One clock a unit measures the full-speed service that each of its tasks has had (``work_done``); a task is due when that
clock has advanced by its service. Only the segment that ends first is in the calendar; it is queued again when a task
joins or leaves. The finish of the others is infinite, that is, unknown. Source: Symphony paper, section on the resource
map (a CPU runs several requests); egalitarian processor sharing.

By curves the tasks of a unit get different shares. So the clock of the unit stands still, and ``due`` is what is left
of each task, which is brought up to date when a task joins or leaves.

The segments on a unit are a list of their slots, in the order in which the unit was given them; units that take tasks
one after another have it too.
"""

import numpy as np

from vinesim.core import calendar, tasks
from vinesim.core.features import CURVES, LIMITS, called
from vinesim.jit.intrinsics import not_negative
from vinesim.state import queries
from vinesim.state.layout import OUT_OF_TIME


def add_to_unit(state, slot, unit):
    """Enter a slot at the end of the list of a unit."""
    last = last_on_unit(state, unit)
    state.slot[slot].next_on_unit = -1
    if last < 0:
        state.work_first[unit] = slot
    else:
        state.slot[last].next_on_unit = slot


def remove_from_unit(state, slot, unit):
    """Take a slot out of the list of a unit."""
    last, other = np.int64(-1), np.int64(state.work_first[unit])
    while other != slot:
        last, other = other, np.int64(state.slot[other].next_on_unit)
    if last < 0:
        state.work_first[unit] = state.slot[slot].next_on_unit
    else:
        state.slot[last].next_on_unit = state.slot[slot].next_on_unit


def last_on_unit(state, unit):
    """The last slot of a unit; -1 if there is none."""
    last, other = np.int64(-1), np.int64(state.work_first[unit])
    while other >= 0:
        last, other = other, np.int64(state.slot[other].next_on_unit)
    return last


ANY = -1  # task: all have the same speed


def speed(model, state, task, unit, load):
    """The share of full speed of a task on a unit."""
    if load <= model.unit_parallelism[unit]:
        return 1.0
    return queries.throughput(model, state, task, unit, load) / load


def advance(model, state, unit):
    """Advance the unit's clock of work to now."""
    if CURVES and queries.has_speed_curves(model, unit):
        advance_each(model, state, unit)
        return
    now = state.run[0].now_us
    state.work_done[unit] += (now - state.work_at_us[unit]) * speed(
        model, state, np.int64(ANY), unit, state.unit[unit].load
    )
    state.work_at_us[unit] = now


def join(model, state, slot, unit, load, service_us):
    """Begin a segment, whose end is not known yet."""
    advance(model, state, unit)
    one = state.slot[slot]
    one.due, one.end_us = state.work_done[unit] + service_us, np.inf
    add_to_unit(state, slot, unit)
    return requeue(model, state, unit, load)


def leave(model, state, slot, unit, load, is_due):
    if state.work_event[unit] == slot:
        if not is_due:
            calendar.cancel(state, slot)
        state.work_event[unit] = -1
    advance(model, state, unit)
    remove_from_unit(state, slot, unit)
    return requeue(model, state, unit, load)


def served_us(model, state, slot, unit):
    one = state.slot[slot]
    took_us = state.run[0].now_us - state.work_at_us[unit]
    done = state.work_done[unit] + took_us * speed(model, state, np.int64(one.task), unit, state.unit[unit].load)
    return one.before_us + one.work_us - max(0.0, one.due - done) if one.work_us < np.inf else 0.0


def first_due(model, state, unit, load):
    """The slot of a unit that is due first; -1 if there is none."""
    if CURVES and queries.has_speed_curves(model, unit):
        return first_done(model, state, unit, load)
    first, slot = np.int64(-1), np.int64(state.work_first[unit])
    while slot >= 0:
        if first < 0 or state.slot[slot].due < state.slot[first].due:
            first = slot
        slot = np.int64(state.slot[slot].next_on_unit)
    return first


def requeue(model, state, unit, load):
    """Put the end of the segment that is done first into the calendar, in place of the present one. Returns whether it
    is a finite number, or none of them ever ends."""
    queued, now, first = np.int64(state.work_event[unit]), state.run[0].now_us, first_due(model, state, unit, load)
    if queued >= 0:
        calendar.cancel(state, queued)
        state.slot[queued].end_us = np.inf
        state.task_finish_us[state.slot[queued].task] = np.inf
    state.work_event[unit] = first
    if first < 0:
        return True
    left_us = max(0.0, state.slot[first].due - state.work_done[unit])
    left_us /= speed(model, state, np.int64(state.slot[first].task), unit, load)
    end_us = max(now + left_us, state.task_start_us[state.slot[first].task])  # rounding must not put it before
    if LIMITS and tasks.has_limits(model):
        first, end_us = first_to_leave(model, state, unit, first, end_us)
    state.work_event[unit] = first
    if end_us == np.inf:
        if state.slot[first].due == np.inf:  # none of them ever ends
            state.work_event[unit] = -1
            return True
        run = state.run[0]
        run.error, run.error_task, run.error_unit, run.error_us = OUT_OF_TIME, state.slot[first].task, unit, left_us
        return False
    state.task_finish_us[state.slot[first].task] = end_us
    calendar.push(state, first, end_us)
    return True


@called
def first_to_leave(model, state, unit, first, end_us):
    """Which segment of a unit ends first, and when: the one that is done first, or one that its limit ends."""
    killed, least_us, slot = np.int64(-1), np.inf, np.int64(state.work_first[unit])
    while slot >= 0:
        task = not_negative(np.int64(state.slot[slot].task))
        limit_us = state.task_init_us[task] + model.job_limit_us[model.task_job[task]]
        if limit_us < least_us:
            killed, least_us = slot, limit_us
        state.slot[slot].killed = 0
        slot = np.int64(state.slot[slot].next_on_unit)
    if least_us < end_us:
        state.slot[killed].killed = 1
        return killed, max(least_us, state.run[0].now_us)
    return first, end_us


# By speed curves


@called
def advance_each(model, state, unit):
    """Bring what is left of each task of the unit up to date."""
    now = state.run[0].now_us
    took_us, slot = now - state.work_at_us[unit], np.int64(state.work_first[unit])
    while slot >= 0:
        one = state.slot[slot]
        one.due -= took_us * speed(model, state, np.int64(one.task), unit, state.unit[unit].load)
        slot = np.int64(one.next_on_unit)
    state.work_at_us[unit] = now


@called
def first_done(model, state, unit, load):
    """The slot of a unit that is done first; -1 if there is none."""
    first, first_us, slot = np.int64(-1), np.inf, np.int64(state.work_first[unit])
    while slot >= 0:
        one = state.slot[slot]
        left_us = max(0.0, one.due) / speed(model, state, np.int64(one.task), unit, load)
        if first < 0 or left_us < first_us or (left_us == first_us and one.due < state.slot[first].due):
            first, first_us = slot, left_us
        slot = np.int64(one.next_on_unit)
    return first
