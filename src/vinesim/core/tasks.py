"""The tasks: what is known of each, the jobs that arrive, which tasks are pending, and what runs.

Most functions are the compiled bodies of the queries of the same names. Of a column that a scenario does not have, they
return what it stands for: no limit, a factor of 1, the whole unit.

A job that waits for others arrives when the last of these is over, and not before its own time. If it still waits when
it is its turn to arrive, it is passed over. It then has a lower number than the next job, so it comes before that job
when it is ready, as in the order of all pending tasks.

Of the pending tasks, the oldest of each group represents the group; a set of bits holds these heads.
"""

import math

import numpy as np

from vinesim.core import calendar
from vinesim.core.bits import at_or_after, contains, insert, remove
from vinesim.core.calendar import DONE, next_engine_end_us
from vinesim.core.features import (
    AFTER,
    BATCHING,
    CONSOLIDATES,
    DATA,
    DISAGGREGATED,
    EARLY,
    FACTORS,
    GANGS,
    GROUPS,
    OVERHEAD,
    QUOTAS,
    TIMES,
    called,
)
from vinesim.jit.intrinsics import not_negative
from vinesim.model.workload import NO_GANG
from vinesim.state import queries
from vinesim.state.layout import ATTACHED, DROPPED, HELD, PENDING, TOKEN_BYTES
from vinesim.state.places import gang_of

# Columns


def group(model, state, task):
    return not_negative(model.task_group[task]) if GROUPS and model.task_group.shape[0] > 0 else np.int64(0)


def task_type(model, state, task):
    return not_negative(model.group_task_type[group(model, state, task)])


def data_node(model, state, task):
    if DISAGGREGATED and is_prefilled(state, task):
        return np.int64(model.unit_node[state.task_prefilled[task]])
    return np.int64(model.task_data_node[task]) if model.task_data_node.shape[0] > 0 else np.int64(0)


def data_bytes(model, state, task):
    """The data of a task, which is the cache of a request that another engine prefilled."""
    if DISAGGREGATED and is_prefilled(state, task):
        token_bytes = model.type_batching[model.unit_type[state.task_prefilled[task]], TOKEN_BYTES]
        return np.float64(model.task_input[task] * token_bytes)
    return model.task_data_bytes[task] if DATA and model.task_data_bytes.shape[0] > 0 else 0.0


def is_prefilled(state, task):
    """Whether an engine that only prefills has computed the prompt of a request."""
    return state.task_prefilled[task] >= 0


def factor(model, task):
    """The factor on a task's true time."""
    return model.task_factor[task] if FACTORS and model.task_factor.shape[0] > 0 else 1.0


def has_limits(model):
    return model.job_limit_us.shape[0] > 0


def restart_us(model, task):
    """What it takes to resume a task."""
    return model.task_restart_us[task] if model.task_restart_us.shape[0] > 0 else 0.0


# Gangs

called(gang_of)


def is_of_gang(model, task):
    """Whether the tasks of the task's job start together."""
    return model.job_gang.shape[0] > 0 and model.job_gang[model.task_job[task]] != NO_GANG


def next_attached(model, state, task):
    """The next task after ``task`` that is attached to the pending one of its gang; -1 if there is none."""
    end, other = model.job_first[model.task_job[task] + 1], np.int64(task) + 1
    while other < end and state.task_unit[other] != ATTACHED:
        other += 1
    return other if other < end else np.int64(-1)


def at_step(model, task, step):
    """The task of a gang that is placed in a step: the tasks are placed one after another, in ``gang_order``."""
    place = model.job_first[model.task_job[task]] + step
    return np.int64(model.gang_order[place]) if model.gang_order.shape[0] > 0 else np.int64(place)


def next_step(model, state, task, step):
    """The next step, after ``step``, of a task that is attached to the pending one of its gang; -1 if there is none."""
    job = model.task_job[task]
    n, step = np.int64(model.job_first[job + 1] - model.job_first[job]), np.int64(step) + 1
    while step < n and state.task_unit[at_step(model, task, step)] != ATTACHED:
        step += 1
    return step if step < n else np.int64(-1)


def next_member(model, state, task, step):
    """The task of the next step after ``step``, and that step; -1 for both if there is none."""
    step = next_step(model, state, task, step)
    return (at_step(model, task, step), step) if step >= 0 else (np.int64(-1), step)


def is_node_in_partition(model, task, node):
    """Whether a node is of the task's partition; true if it has none."""
    if not QUOTAS or model.job_partition.shape[0] == 0:
        return True
    return model.partition_node[model.job_partition[model.task_job[task]], node]


def is_in_partition(model, state, task, unit):
    return is_node_in_partition(model, task, model.unit_node[unit])


# Times of tasks


def time_on_type_us(model, state, task, processor_type):
    t = task_type(model, state, task)
    speed = model.affinity[processor_type, t]
    if speed <= 0.0:
        return math.inf
    if TIMES and model.task_times_us.shape[0] > 0:
        took_us = model.task_times_us[task, processor_type]
    else:
        took_us = model.task_operations[task] / speed
    return model.overhead_us[processor_type, t] + took_us if OVERHEAD else took_us


def execution_us(model, state, task, unit):
    return time_on_type_us(model, state, task, not_negative(state.unit[unit].type))


def tier(model, state, task, unit):
    data, node = data_node(model, state, task), np.int64(model.unit_node[unit])
    if node == data:
        return 0
    return 1 if model.node_rack[node] == model.node_rack[data] else 2


def transfer_us(model, state, task, unit):
    if not DATA and not DISAGGREGATED:
        return 0.0
    n_bytes = data_bytes(model, state, task)
    if n_bytes == 0.0:
        return 0.0
    t = tier(model, state, task, unit)
    return model.tier_latency_us[t] + n_bytes / model.tier_bandwidth[t]


def follower_of(state, task):
    """The next task that was consolidated with it; -1: none."""
    return np.int64(state.task_follower[task]) if CONSOLIDATES else np.int64(-1)


def operations_started(model, state, task):
    total = model.task_operations[task]
    other = follower_of(state, task)
    while other >= 0:
        total += model.task_operations[other]
        other = follower_of(state, other)
    return total


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
    if GANGS and is_of_gang(model, first):
        end = first + 1
    if has_one_group(state):
        count_pending(state, 0, end - first)
        return job
    for task in range(first, end):
        of_task = group(model, state, task)
        if n_in_group(state, of_task) == 0:
            insert(state.heads, state.heads_1, state.heads_2, 0, task)
        count_pending(state, of_task, 1)
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
            enter_pending(model, state, np.int64(task))


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


def n_pending(model, state):
    return np.int64(state.run[0].n_pending)


def next_pending(model, state, task):
    return within_quotas(model, state, oldest_of_groups(model, state, np.int64(task) + 1))


def within_quotas(model, state, head):
    return first_within_quotas(model, state, head) if QUOTAS else head


@called
def first_within_quotas(model, state, head):
    """The first of the oldest tasks of the groups, from ``head`` on, for which its quotas leave room."""
    while head >= 0 and not queries.is_within_quotas(model, state, head):
        head = np.int64(-1) if has_one_group(state) else oldest_of_groups(model, state, head + 1)
    return np.int64(head)


def oldest_of_groups(model, state, task):
    """The first of the oldest pending tasks of the groups that is ``task`` or younger; -1 if there is none."""
    if has_one_group(state):
        head = not_negative(state.group_head[0])
        return head if task <= head < state.run[0].n_arrived else np.int64(-1)
    return np.int64(at_or_after(state.heads, state.heads_1, state.heads_2, 0, task))


def has_one_group(state):
    return not GROUPS or state.group_head.shape[0] == 1


def first_pending(model, state, group):
    head = state.group_head[group]
    return head if head < state.run[0].n_arrived else np.int64(-1)


def n_in_group(state, group):
    """How many tasks of a group are pending."""
    return state.group_pending[group] if GROUPS else state.run[0].n_pending


def group_size(model, state, task):
    return n_in_group(state, group(model, state, task))


def following_in_group(model, task):
    """The next task of the same group, whether it is pending or not; N or more after the last one."""
    return np.int64(model.task_next[task] if GROUPS and model.task_group.shape[0] > 0 else task + 1)


def following(model, state, task):
    end, task = state.run[0].n_arrived, following_in_group(model, task)
    while task < end and state.task_unit[task] != PENDING:
        task = following_in_group(model, task)
    return task if task < end else np.int64(-1)


@called
def joinable(model, state, task, most):
    n = min(np.int64(most), np.int64(group_size(model, state, task)))
    if not (GANGS and EARLY and is_of_gang(model, task)):
        return n  # no task of a gang that has begun is ever pending again
    found, other = np.int64(0), np.int64(task)
    while found < n and are_left_alike(model, state, task, other):
        found, other = found + 1, following(model, state, other)
    return found


@called
def are_left_alike(model, state, task, other):
    """Whether the same tasks of two gangs, by their place in the job, are yet to start."""
    apart, member, like = other - task, np.int64(task), np.int64(other)
    if task - model.job_first[model.task_job[task]] != other - model.job_first[model.task_job[other]]:
        return False
    while member >= 0 and like == member + apart:
        member, like = next_attached(model, state, member), next_attached(model, state, like)
    return member < 0 and like < 0


def count_pending(state, group, change):
    """Count tasks of a group that become pending, or, below 0, are no longer pending."""
    if GROUPS:
        state.group_pending[group] += change
    state.run[0].n_pending += change


def leave_pending(model, state, task):
    """The task is no longer pending: move the head of its group past all tasks that have started."""
    of_task = group(model, state, task)
    count_pending(state, of_task, -1)
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
def enter_pending(model, state, task):
    """The task is pending again: move the head of its group back to it if it is older."""
    of_task = group(model, state, task)
    head, was_pending = state.group_head[of_task], n_in_group(state, of_task) > 0
    count_pending(state, of_task, 1)
    if task > head and was_pending:
        return
    if not has_one_group(state):
        if was_pending:
            remove(state.heads, state.heads_1, state.heads_2, 0, head)
        insert(state.heads, state.heads_1, state.heads_2, 0, task)
    state.group_head[of_task] = task


@called
def drop_pending(model, state, task):
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
    leave_pending(model, state, task)


# Running tasks


def is_running(model, state, task):
    return state.task_slot[task] >= 0


def next_running(model, state, task=-1):
    return np.int64(at_or_after(state.running, state.running_1, state.running_2, 0, task + 1))


def attained_us(model, state, task):
    so_far = state.task_attained_us[task]
    if is_running(model, state, task):
        return so_far + (state.run[0].now_us - state.task_init_us[task])
    return so_far


def unit_tasks(model, state, unit):
    return np.int64(state.unit[unit].tasks)


def is_allowed(model, state, task, unit):
    a = queries.application(model, state, task)
    if a < 0 or a >= model.application_max_consolidated.shape[0]:
        return True
    return contains(model.application_units, a, unit)
