"""The jobs that arrive, and the pending tasks. The oldest task of each group represents the group; a set of bits holds
these heads.

A job that waits for others arrives when the last of these is over, and not before its own time. If it still waits when
it is its turn to arrive, it is passed over. It then has a lower number than the next job, so it comes before that job
when it is ready, as in the order of all pending tasks.
"""

import numpy as np

from vinesim.core import calendar, pools
from vinesim.core.bits import at_or_after, insert, remove
from vinesim.core.calendar import DONE, next_engine_end_us
from vinesim.core.features import AFTER, BATCHING, GANGS, GROUPS, QUOTAS, called
from vinesim.core.tasks import (
    following_in_group,
    group,
    has_one_group,
    is_of_gang,
    n_in_group,
    next_attached,
    oldest_of_groups,
)
from vinesim.jit.intrinsics import not_negative
from vinesim.model.workload import NO_GANG
from vinesim.state.layout import ATTACHED, DROPPED, HELD, PENDING

# Jobs that arrive


def next_job(model, state):
    """The next job to arrive, unless another one becomes ready; the number of jobs if there is none."""
    if AFTER:
        job = first_ready(state)
        return job if job >= 0 else state.run[0].next_job
    return state.run[0].next_job


def next_arrival_us(model, state):
    """When that is."""
    run, job = state.run[0], not_negative(next_job(model, state))
    if job >= model.job_arrival_us.shape[0]:
        return np.inf
    return max(model.job_arrival_us[job], run.now_us) if AFTER else model.job_arrival_us[job]


def first_ready(state):
    return np.int64(at_or_after(state.ready, state.ready_1, state.ready_2, 0, np.int64(0)))


def more_at_once(model, state):
    now_us = state.run[0].now_us
    if BATCHING and next_engine_end_us(state, DONE) == now_us:
        return True
    return next_arrival_us(model, state) == now_us or calendar.next_us(state) == now_us


def all_arrived(model, state):
    return next_arrival_us(model, state) == np.inf


def n_arrived(model, state):
    return np.int64(state.run[0].n_entered if AFTER else state.run[0].n_arrived)


def arrived_task(model, state, position):
    return np.int64(state.arrived[position] if AFTER else position)


def arrive(model, state):
    """ARRIVAL: the tasks of the next job, or the first one of a gang, become pending. Returns the job."""
    run = state.run[0]
    job = not_negative(next_job(model, state))
    first, end = model.job_first[job], model.job_first[job + 1]
    if AFTER:
        note_arrival(model, state, job)
        run.n_arrived = model.job_first[run.next_job]
        if state.task_unit[first] == HELD:
            enter_late(model, state, first, end)
            return job
    else:
        run.next_job = job + 1
        run.n_arrived = end
    if GANGS and model.job_gang.shape[0] > 0 and model.job_gang[job] != NO_GANG:
        end = first + 1
    run.n_pending += end - first
    if GROUPS:
        if has_one_group(state):
            state.group_pending[0] += end - first
        else:
            for task in range(first, end):
                of_task = group(model, state, task)
                if state.group_pending[of_task] == 0:
                    insert(state.heads, state.heads_1, state.heads_2, 0, task)
                state.group_pending[of_task] += 1
    return job


@called
def enter_late(model, state, first, end):
    """Make the tasks of a job that waited for others pending. Younger tasks may already be pending, or may have
    started."""
    for task in range(first, end):
        if GANGS and task > first and is_of_gang(model, task):
            state.task_unit[task] = ATTACHED
        else:
            state.task_unit[task] = PENDING
            enter_again(model, state, np.int64(task))


@called
def note_arrival(model, state, job):
    """Note that a job arrives, and pass over those after it that wait."""
    run = state.run[0]
    state.job_eligible_us[job] = run.now_us
    for task in range(model.job_first[job], model.job_first[job + 1]):
        state.arrived[run.n_entered] = task
        run.n_entered += 1
    if job < run.next_job:
        remove(state.ready, state.ready_1, state.ready_2, 0, job)
        return
    run.next_job = job + 1
    while run.next_job < state.job_waits.shape[0] and state.job_waits[run.next_job] > 0:
        run.next_job += 1


def note_over(model, state, task):
    """Note that a task is over."""
    state.run[0].n_done += 1
    if AFTER:
        let_go(model, state, model.task_job[task])


@called
def let_go(model, state, job):
    """If the task that is over was the last of its job, its successors wait for one job less."""
    state.job_left[job] -= 1
    if state.job_left[job] > 0 or model.successor_first.shape[0] == 0:
        return
    remove(state.ready, state.ready_1, state.ready_2, 0, job)  # it was withdrawn
    for i in range(model.successor_first[job], model.successor_first[job + 1]):
        other = np.int64(model.successor[i])
        state.job_waits[other] -= 1
        if state.job_waits[other] == 0 and state.job_left[other] > 0 and other < state.run[0].next_job:
            insert(state.ready, state.ready_1, state.ready_2, 0, other)


# Pending tasks


def oldest_pending(model, state):
    return within_quotas(model, state, oldest_of_groups(model, state, np.int64(0)))


def next_pending(model, state, task):
    return within_quotas(model, state, oldest_of_groups(model, state, np.int64(task) + 1))


def within_quotas(model, state, head):
    return first_within_quotas(model, state, head) if QUOTAS else head


@called
def first_within_quotas(model, state, head):
    """The first of the oldest tasks of the groups, from ``head`` on, for which its quotas leave room."""
    while head >= 0 and not pools.allow_least(model, state, head):
        head = np.int64(-1) if has_one_group(state) else oldest_of_groups(model, state, head + 1)
    return np.int64(head)


def count(state, group, change):
    """Count a task that becomes pending (1) or is no longer pending (-1)."""
    if GROUPS:
        state.group_pending[group] += change
    state.run[0].n_pending += change


def leave(model, state, task):
    """The task is no longer pending: move the head of its group past all tasks that have started."""
    of_task = group(model, state, task)
    count(state, of_task, -1)
    head = state.group_head[of_task]
    if task != head:
        return
    is_only = has_one_group(state)
    if not is_only:
        remove(state.heads, state.heads_1, state.heads_2, 0, head)
    end, head = model.task_operations.shape[0], following_in_group(model, head)
    while head < end and state.task_unit[head] != PENDING:
        head = following_in_group(model, head)
    state.group_head[of_task] = head
    if not is_only and head < state.run[0].n_arrived:
        insert(state.heads, state.heads_1, state.heads_2, 0, head)


@called
def enter_again(model, state, task):
    """The task is pending again: move the head of its group back to it if it is older."""
    of_task = group(model, state, task)
    head, was_pending = state.group_head[of_task], n_in_group(state, of_task) > 0
    count(state, of_task, 1)
    if task > head and was_pending:
        return
    if not has_one_group(state):
        if was_pending:
            remove(state.heads, state.heads_1, state.heads_2, 0, head)
        insert(state.heads, state.heads_1, state.heads_2, 0, task)
    state.group_head[of_task] = task


@called
def drop(model, state, task):
    """Drop a pending task, with its gang."""
    if GANGS and is_of_gang(model, task):
        member = next_attached(model, state, task)
        while member >= 0:
            following = next_attached(model, state, member)
            state.task_unit[member], state.task_finish_us[member] = DROPPED, state.run[0].now_us
            note_over(model, state, member)
            member = following
    state.task_unit[task], state.task_finish_us[task] = DROPPED, state.run[0].now_us
    note_over(model, state, task)
    leave(model, state, task)
