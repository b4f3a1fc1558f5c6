"""How far running tasks have come, in runs whose segments may end early: noted as they start and as they end.

A segment is the time of a task on a unit. It begins with the transfer and, for a task that is resumed, its restart;
then the work goes on where it was left. What is left of a task is a share of its work, the overhead included, so that
it can go on on a unit of another type. Tasks that were consolidated advance together.
"""

import numpy as np

from vinesim.state import indexed_tasks
from vinesim.state.bits import insert, remove
from vinesim.state.compiled_form import with_early_ends
from vinesim.state.kernel import kernel


def _all(model, state, task):
    return 1.0


@with_early_ends(without=_all)
def share_left(model, state, task):
    """Return the share of its work that was left when the task was last given to a unit."""
    return state.task_left[task]


def _ends(model, state, task):
    return False


@with_early_ends(without=_ends, inline=False)
def never_ends(model, state, task):
    """Whether the task, or a follower of it, has operations without end."""
    member = np.int64(task)
    while member >= 0:
        if model.task_operations[member] == np.inf:
            return True
        member = np.int64(state.task_follower[member])
    return False


def _at_once(model, state, task, transfer, work):
    return work, state.run[0].now_us + transfer + work


@with_early_ends(without=_at_once, inline=False)
def begin(model, state, task, transfer, work):
    """Note that a task, with its followers, begins a segment with so much work. Returns its service, us, without the
    transfer, and when it ends on a unit of its own: done or killed."""
    run, restart, member = state.run[0], 0.0, np.int64(task)
    while member >= 0:
        if state.task_event[member] >= 0 and model.task_restart_us.shape[0] > 0:
            restart += model.task_restart_us[member]
        state.task_event[member] = run.n_events
        member = np.int64(state.task_follower[member])
    state.task_before_us[task] = transfer + restart
    state.task_work_us[task] = work
    insert(state.running, state.running_1, state.running_2, 0, task)
    finish_us = run.now_us + transfer + (restart + work)
    if state.task_killed.shape[0] > 0:
        limit_us = run.now_us + model.job_limit_us[model.task_job[task]]
        state.task_killed[task] = limit_us < finish_us
        finish_us = min(finish_us, limit_us)
    member = np.int64(state.task_follower[task])
    while member >= 0:
        if state.task_finish_us[member] < np.inf:  # else it shares the speed of the unit
            state.task_finish_us[member] = finish_us
        member = np.int64(state.task_follower[member])
    return restart + work, finish_us


def _nothing_noted(model, state, task):
    pass


@with_early_ends(without=_nothing_noted, inline=False)
def close(model, state, task):
    """Note that a task, with its followers, leaves its unit as it is done or as its limit ends it."""
    run = state.run[0]
    is_killed = state.task_killed.shape[0] > 0 and state.task_killed[task] != 0
    kept = 1.0 - indexed_tasks.share_done(model, state, task) if is_killed else 0.0
    remove(state.running, state.running_1, state.running_2, 0, task)
    member = np.int64(task)
    while member >= 0:
        state.task_attained_us[member] += run.now_us - state.task_init_us[member]
        state.task_left[member] *= kept
        if is_killed:
            state.task_killed[member] = 1
        member = np.int64(state.task_follower[member])


@kernel
def first_killed(model, state, unit):
    """Return which task of a unit that shares its speed reaches its limit first; -1 if none can."""
    first, first_us = np.int64(-1), np.inf
    task = np.int64(state.work_first[unit])
    while task >= 0:
        limit_us = state.task_init_us[task] + model.job_limit_us[model.task_job[task]]
        if limit_us < first_us:
            first, first_us = task, limit_us
        task = np.int64(state.work_next[task])
    return first, first_us
