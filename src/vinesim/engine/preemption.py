"""How segments end before their tasks are done: at the request of a policy, by an outage, or as a job is withdrawn."""

import numpy as np

from vinesim.engine import sharing
from vinesim.engine.actions import _return_to_group, arrive, is_of_gang, perform, take_from_group
from vinesim.engine.contract import IS_CONSOLIDATED, IS_GANG, JUST_STARTED, NOT_RUNNING
from vinesim.model.result import MOVED, PREEMPTED, WITHDRAWN
from vinesim.state import event_queue, indexed_tasks, queries
from vinesim.state.bits import contains, remove
from vinesim.state.compiled_form import with_gangs, with_several_units
from vinesim.state.gang_members import forget_places
from vinesim.state.holding import count_task, is_in_use, release_rest, set_load
from vinesim.state.kernel import kernel, not_negative
from vinesim.state.layout import ATTACHED, CHECKPOINT, DROPPED, MOVE, PENDING, RESTART, RESUME
from vinesim.state.quotas import count_held


@kernel
def share_kept(model, state, task, keeps):
    """Return which share of the work that a running task had at the start of its segment is done and kept."""
    if keeps == RESTART:
        return 0.0
    if keeps == RESUME:
        return indexed_tasks.share_done(model, state, task)
    if model.task_checkpoint_us.shape[0] == 0:
        return 0.0
    work, every = state.task_work_us[task], model.task_checkpoint_us[task]
    if not (work > 0.0 and every < np.inf):
        return 0.0
    return min(np.floor(indexed_tasks.work_done_us(model, state, task) / every) * every / work, 1.0)


@kernel
def _log(state, task, left, why, is_follower):
    row = state.ended[state.run[0].n_ended]
    row.task, row.unit = task, state.task_unit[task]
    row.init_us, row.start_us = state.task_init_us[task], state.task_start_us[task]
    row.end_us, row.left = state.run[0].now_us, left
    row.why, row.is_follower = why, is_follower
    state.run[0].n_ended += 1


def _holds_one(model, state, task):
    pass


@with_several_units(without=_holds_one, inline=False)
def _log_held(model, state, task):
    """Note what a task held beside its unit in the segment that is logged next; it holds that no more."""
    run = state.run[0]
    for i in range(model.task_held[task], model.task_held[task + 1]):
        if state.held_unit[i] >= 0:
            row = run.n_ended_held
            state.ended_held[row, 0], state.ended_held[row, 1] = run.n_ended, state.held_unit[i]
            state.held_unit[i] = -1
            run.n_ended_held = row + 1


def _never(model, state, task):
    return False


@with_gangs(without=_never, inline=False)
def is_attached_again(model, state, task):
    """Whether the task is not pending by itself when it leaves its unit: another one of its gang is."""
    forget_places(model, state)
    job = model.task_job[task]
    if is_of_gang(model, state, task):
        for other in range(model.job_first[job], task):
            if state.task_unit[other] == PENDING:
                return True
    return False


@kernel
def end(model, state, task, why, keeps):
    """End the segment of a running task, and of its followers, now. Returns whether what goes on on its unit has a
    finite end."""
    run = state.run[0]
    unit = not_negative(state.task_unit[task])
    lost = 1.0 - share_kept(model, state, task, keeps)
    count_task(model, state, task, unit, -1)
    load = state.unit_load[unit] - queries.demand(model, state, task, unit) if is_in_use(model, state, unit) else 0.0
    if sharing.is_shared(model, state, unit):
        if not sharing.leave(model, state, task, unit, load):
            return False
    elif state.task_finish_us[task] < np.inf:
        event_queue.cancel(state, task)
    set_load(model, state, unit, load)
    release_rest(model, state, task, unit)
    count_held(model, state, task, unit, -1)
    if why != WITHDRAWN:
        _log_held(model, state, task)
    remove(state.running, state.running_1, state.running_2, 0, task)
    if state.task_killed.shape[0] > 0:
        state.task_killed[task] = 0
    member = np.int64(task)
    while member >= 0:
        state.task_left[member] *= lost
        _log(state, member, state.task_left[member], why, member != task)
        state.task_attained_us[member] += run.now_us - state.task_init_us[member]
        state.task_finish_us[member] = np.nan
        following = np.int64(state.task_follower[member])
        if why == WITHDRAWN:
            run.n_done += 1
        else:
            state.task_follower[member] = -1
            state.task_init_us[member] = np.nan
            state.task_start_us[member] = np.nan
            if is_attached_again(model, state, member):
                state.task_unit[member] = ATTACHED
            else:
                state.task_unit[member] = PENDING
                _return_to_group(model, state, member)
        member = following
    return True


@kernel
def _broken_rule(model, state, action):
    """Return the first rule that preempting or moving a task breaks, 0 if none."""
    task = action.task
    if task < 0 or task >= state.run[0].n_arrived or not contains(state.running, 0, task):
        return NOT_RUNNING
    if state.task_event[task] == state.run[0].n_events:
        return JUST_STARTED
    if action.kind == MOVE and state.task_follower[task] >= 0:
        return IS_CONSOLIDATED
    if action.kind == MOVE and is_of_gang(model, state, task):
        return IS_GANG
    return 0


@kernel
def stop(model, state, action):
    """End the segment of the task that a policy preempts or moves. Returns whether that was legal."""
    run = state.run[0]
    rule = _broken_rule(model, state, action)
    if rule != 0:
        run.error, run.error_task, run.error_unit = rule, action.task, action.unit
        return False
    why = MOVED if action.kind == MOVE else PREEMPTED
    return end_all(model, state, not_negative(action.task), why, model.preemption[0])


@with_gangs(without=end, inline=False)
def end_all(model, state, task, why, keeps):
    """End the segments of a running task and of those of its gang that run."""
    if not is_of_gang(model, state, task):
        return end(model, state, task, why, keeps)
    job = model.task_job[task]
    for member in range(model.job_first[job], model.job_first[job + 1]):
        if contains(state.running, 0, member) and not end(model, state, member, why, keeps):
            return False
    return True


def _is_alone(model, state, task, before):
    return False


@with_gangs(without=_is_alone, inline=False)
def _is_with(model, state, task, before):
    """Whether the task is of the gang of the one before it, so that it is not pending by itself."""
    return is_of_gang(model, state, task) and model.task_job[task] == model.task_job[before]


@kernel
def interrupt(model, state, tasks, why):
    """End the segments of running tasks, in increasing order, and of their followers among these, by an outage. Of a
    gang all that run are among them."""
    run = state.run[0]
    run.interrupted = tasks[0] if tasks.shape[0] > 0 else -1
    for i in range(tasks.shape[0]):
        task, j = tasks[i], i + 1
        while j < tasks.shape[0] and _is_with(model, state, tasks[j], tasks[j - 1]):
            j += 1
        state.task_interrupted[task] = tasks[j] if j < tasks.shape[0] else -1
        if contains(state.running, 0, task) and not end(model, state, task, why[i], CHECKPOINT):
            return False
    return True


@kernel
def withdraw(model, state, jobs):
    """Drop the pending tasks of some jobs, and end those that run; consolidated ones go on."""
    run = state.run[0]
    for i in range(jobs.shape[0]):
        for task in range(model.job_first[jobs[i]], model.job_first[jobs[i] + 1]):
            if state.task_unit[task] == PENDING:
                take_from_group(model, state, task)
                state.task_unit[task] = DROPPED
                run.n_done += 1
                continue
            if state.task_unit[task] == ATTACHED:
                state.task_unit[task] = DROPPED
                run.n_done += 1
                continue
            is_alone = contains(state.running, 0, task) and state.task_follower[task] < 0
            if is_alone and not end(model, state, task, WITHDRAWN, RESUME):
                return False
    return True


@kernel
def begin_placed(model, state, tasks, units, n_jobs, may_overcommit):
    """Let the first jobs arrive, and start the tasks that run from the beginning."""
    for _ in range(n_jobs):
        arrive(model, state)
    is_legal = True
    for i in range(tasks.shape[0]):
        is_legal = is_legal and perform(model, state, queries.start(tasks[i], units[i]), may_overcommit)
    return is_legal
