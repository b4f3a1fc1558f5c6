"""Units whose tasks share their speed: processor sharing above a given parallelism, or by a table of rates.

Every running task of a unit gets the same share, so one clock per unit measures the full-speed service that each of its
tasks has had (``work_done``); a task is due when that clock has advanced by its service time. Only the task that is due
first has its finish in the event queue; the event moves when a task joins or leaves. The finish of the others is
infinite, that is, unknown. Source: Symphony paper, section on the resource map (a CPU runs several requests);
egalitarian processor sharing.

Where task types have speed curves of their own, the tasks of a unit get different shares. There the clock of the unit
stands still, and ``work_due`` is what is left of each task, which is brought up to date when a task joins or leaves.
"""

import numpy as np

from vinesim.engine.contract import OUT_OF_TIME
from vinesim.engine.progress import first_killed
from vinesim.state import event_queue, queries
from vinesim.state.compiled_form import with_early_ends
from vinesim.state.kernel import inlined, kernel


@inlined
def is_shared(model, state, unit):
    """Whether the unit's tasks may share its speed; where none does, nothing is read of the unit."""
    return state.work_next.shape[0] > 0 and model.unit_parallelism[unit] < model.unit_capacity[unit]


@inlined
def speed(model, state, task, unit, load):
    """Return the share of full speed of a task on the unit; -1 stands for any task, where all have the same."""
    if load <= model.unit_parallelism[unit]:
        return 1.0
    return queries.throughput(model, state, task, unit, load) / load


@inlined
def advance(model, state, unit):
    """Advance the unit's work clock, or the work of each of its tasks, to now."""
    now = state.run[0].now_us
    if queries.has_speed_curves(model, unit):
        _advance_each(model, state, unit)
    else:
        took_us = now - state.work_at_us[unit]
        state.work_done[unit] += took_us * speed(model, state, np.int64(-1), unit, state.unit_load[unit])
    state.work_at_us[unit] = now


@kernel
def _advance_each(model, state, unit):
    took_us = state.run[0].now_us - state.work_at_us[unit]
    task = np.int64(state.work_first[unit])
    while task >= 0:
        state.work_due[task] -= took_us * speed(model, state, task, unit, state.unit_load[unit])
        task = np.int64(state.work_next[task])


@kernel
def _first_of_each(model, state, unit, load):
    """Return the task of the unit that is done first, where they have different speeds; -1 if there is none."""
    first, first_us = np.int64(-1), np.inf
    task = np.int64(state.work_first[unit])
    while task >= 0:
        left_us = max(0.0, state.work_due[task]) / speed(model, state, task, unit, load)
        is_as_soon = first >= 0 and left_us == first_us and state.work_due[task] < state.work_due[first]
        if first < 0 or left_us < first_us or is_as_soon:
            first, first_us = task, left_us
        task = np.int64(state.work_next[task])
    return first


@inlined
def note_out_of_time(state, task, unit, service_us):
    """Record that the clock cannot represent the time of a task."""
    run = state.run[0]
    run.error, run.error_task, run.error_unit, run.error_us = OUT_OF_TIME, task, unit, service_us


@inlined
def _first_due(model, state, unit, load):
    """Return the task of the unit that is done first, -1 if there is none."""
    if queries.has_speed_curves(model, unit):
        return _first_of_each(model, state, unit, load)
    first = np.int64(-1)
    task = np.int64(state.work_first[unit])
    while task >= 0:
        if first < 0 or state.work_due[task] < state.work_due[first]:
            first = task
        task = np.int64(state.work_next[task])
    return first


@inlined
def requeue(model, state, unit, load):
    """Put the finish of the task that is due first into the event queue, replacing the present one. Returns whether it
    is a finite number."""
    first = _first_due(model, state, unit, load)
    queued = state.work_event[unit]
    if queued >= 0:
        event_queue.cancel(state, queued)
        state.task_finish_us[queued] = np.inf
    state.work_event[unit] = first
    if first >= 0:
        left = max(0.0, state.work_due[first] - state.work_done[unit])
        finish_us = state.run[0].now_us + left / speed(model, state, first, unit, load)
        finish_us = max(finish_us, state.task_start_us[first])  # rounding must not put it before
        first, finish_us = _or_killed(model, state, unit, first, finish_us)
        state.work_event[unit] = first
        if finish_us == np.inf:
            if state.work_due[first] == np.inf:  # none of them ever ends
                state.work_event[unit] = -1
                return True
            note_out_of_time(state, first, unit, left / speed(model, state, first, unit, load))
            return False
        state.task_finish_us[first] = finish_us
        event_queue.push(state, first)
    return True


def _due(model, state, unit, first, finish_us):
    return first, finish_us


@with_early_ends(without=_due, inline=False)
def _or_killed(model, state, unit, first, finish_us):
    """Return which task of the unit ends first, and when: the one that is due first, or one that its limit ends."""
    if state.task_killed.shape[0] == 0:
        return first, finish_us
    killed, limit_us = first_killed(model, state, unit)
    task = np.int64(state.work_first[unit])
    while task >= 0:
        state.task_killed[task] = 0
        task = np.int64(state.work_next[task])
    if limit_us < finish_us:
        state.task_killed[killed] = 1
        return killed, max(limit_us, state.run[0].now_us)
    return first, finish_us


@inlined
def start(model, state, task, unit, load, service_us):
    """Let a task join the unit, whose load becomes ``load``; alone it would take ``service_us``. Returns whether the
    next finish there is a finite number."""
    advance(model, state, unit)
    state.work_due[task] = state.work_done[unit] + service_us
    state.task_finish_us[task] = np.inf
    state.work_next[task] = -1
    last, other = np.int64(-1), state.work_first[unit]
    while other >= 0:
        last, other = other, state.work_next[other]
    if last < 0:
        state.work_first[unit] = task
    else:
        state.work_next[last] = task
    return requeue(model, state, unit, load)


@inlined
def finish(model, state, task, unit, load):
    """Let a task whose finish is not in the event queue, or no more, leave the unit, whose load becomes ``load``.
    Returns whether the next finish there is a finite number."""
    advance(model, state, unit)
    if state.work_event[unit] == task:
        state.work_event[unit] = -1
    last, other = np.int64(-1), state.work_first[unit]
    while other != task:
        last, other = other, state.work_next[other]
    if last < 0:
        state.work_first[unit] = state.work_next[task]
    else:
        state.work_next[last] = state.work_next[task]
    return requeue(model, state, unit, load)


@kernel
def leave(model, state, task, unit, load):
    """Let a running task leave the unit, whose load becomes ``load``. Returns whether the next finish there is a
    finite number."""
    if state.work_event[unit] == task:
        event_queue.cancel(state, task)
    return finish(model, state, task, unit, load)
