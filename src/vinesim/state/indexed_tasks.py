"""Queries about tasks, answered from the indexes: which are pending, what they ask for, how far they are."""

import math

import numpy as np

from vinesim.state import event_queue, queries
from vinesim.state.bits import at_or_after, contains
from vinesim.state.compiled_form import compiled_form_of, with_partitions
from vinesim.state.kernel import inlined, kernel, not_negative
from vinesim.state.layout import PENDING


@compiled_form_of(queries.more_at_once)
def more_at_once(model, state):
    run = state.run[0]
    arrives = run.next_job < model.job_arrival_us.shape[0] and model.job_arrival_us[run.next_job] == run.now_us
    return arrives or event_queue.next_us(state) == run.now_us


@compiled_form_of(queries.all_arrived)
def all_arrived(model, state):
    job = state.run[0].next_job
    return job >= model.job_arrival_us.shape[0] or model.job_arrival_us[job] == np.inf


@inlined
def group_of(model, task):
    return not_negative(model.task_group[task]) if model.task_group.shape[0] > 0 else np.int64(0)


@compiled_form_of(queries.n_arrived)
def n_arrived(model, state):
    return np.int64(state.run[0].n_arrived)


@compiled_form_of(queries.n_pending)
def n_pending(model, state):
    return np.int64(state.run[0].n_pending)


@compiled_form_of(queries.oldest_pending)
def oldest_pending(model, state):
    if state.group_head.shape[0] == 1:
        head = state.group_head[0]
        return first_within_quotas(model, state, head if head < state.run[0].n_arrived else np.int64(-1))
    return first_within_quotas(model, state, np.int64(at_or_after(state.heads, state.heads_1, state.heads_2, 0, 0)))


@compiled_form_of(queries.next_pending)
def next_pending(model, state, task):
    if state.group_head.shape[0] == 1:
        head = state.group_head[0]
        return first_within_quotas(model, state, head if task < head < state.run[0].n_arrived else np.int64(-1))
    following = at_or_after(state.heads, state.heads_1, state.heads_2, 0, task + 1)
    return first_within_quotas(model, state, np.int64(following))


def _itself(model, state, head):
    return head


@with_partitions(without=_itself, inline=False)
def first_within_quotas(model, state, head):
    """Return the first of the oldest tasks of the groups, from ``head`` on, for which its quotas leave room."""
    while head >= 0 and not queries.is_within_quotas(model, state, head):
        if state.group_head.shape[0] == 1:
            return np.int64(-1)
        head = np.int64(at_or_after(state.heads, state.heads_1, state.heads_2, 0, head + 1))
    return np.int64(head)


@compiled_form_of(queries.first_pending)
def first_pending(model, state, group):
    head = state.group_head[group]
    return head if head < state.run[0].n_arrived else np.int64(-1)


@compiled_form_of(queries.group_size)
def group_size(model, state, task):
    return state.group_pending[group_of(model, task)]


@compiled_form_of(queries.task_type)
def task_type(model, state, task):
    return not_negative(model.group_task_type[group_of(model, task)])


@compiled_form_of(queries.preferred_type)
def preferred_type(model, state, task):
    return np.int64(model.group_preferred[group_of(model, task)])


@compiled_form_of(queries.job_of)
def job_of(model, state, task):
    return np.int64(model.task_job[task])


@compiled_form_of(queries.application)
def application(model, state, task):
    return np.int64(model.group_application[group_of(model, task)])


@compiled_form_of(queries.estimate_us)
def estimate_us(model, state, task):
    if model.task_estimate_us.shape[0] > 0:
        return model.task_estimate_us[task]
    kind = queries.task_type(model, state, task)
    total, n = 0.0, 0
    for i in range(model.ranking.shape[1]):
        p = np.int64(model.ranking[kind, i])
        if p < 0:
            break
        total += queries.time_on_type_us(model, state, task, p)
        n += 1
    return total / n


@compiled_form_of(queries.remaining_us)
def remaining_us(model, state, task):
    return max(0.0, queries.estimate_us(model, state, task) * queries.left(model, state, task))


@compiled_form_of(queries.left, inline=False)
def left(model, state, task):
    if not queries.is_running(model, state, task):
        return state.task_left[task]
    return state.task_left[task] * (1.0 - share_done(model, state, task))


@kernel
def share_done(model, state, task):
    """Return which share of the work of its present segment a running task has done, 0 to 1."""
    work = state.task_work_us[task]
    return work_done_us(model, state, task) / work if work > 0.0 else 0.0


@kernel
def work_done_us(model, state, task):
    """Return the us of work that a running task has had in its present segment, at full speed, without its transfer and
    its restart."""
    before, work = state.task_before_us[task], state.task_work_us[task]
    unit, now = np.int64(state.task_unit[task]), state.run[0].now_us
    served = now - state.task_init_us[task]
    if model.unit_parallelism[unit] < model.unit_capacity[unit]:
        load = state.unit_load[unit]
        together = queries.throughput(model, state, task, unit, load)
        speed = 1.0 if load <= model.unit_parallelism[unit] else together / load
        done = state.work_done[unit] + (now - state.work_at_us[unit]) * speed
        served = before + work - max(0.0, state.work_due[task] - done) if work < np.inf else 0.0
    return min(max(served - before, 0.0), work)


@compiled_form_of(queries.attained_us)
def attained_us(model, state, task):
    so_far = state.task_attained_us[task]
    if queries.is_running(model, state, task):
        return so_far + (state.run[0].now_us - state.task_init_us[task])
    return so_far


@compiled_form_of(queries.priority)
def priority(model, state, task):
    return model.job_priority[model.task_job[task]] if model.job_priority.shape[0] > 0 else 0.0


@compiled_form_of(queries.user)
def user(model, state, task):
    return np.int64(model.job_user[model.task_job[task]]) if model.job_user.shape[0] > 0 else np.int64(-1)


@compiled_form_of(queries.unit_of)
def unit_of(model, state, task):
    return np.int64(state.task_unit[task])


@compiled_form_of(queries.is_running)
def is_running(model, state, task):
    return contains(state.running, 0, task)


@compiled_form_of(queries.next_running)
def next_running(model, state, task=-1):
    return np.int64(at_or_after(state.running, state.running_1, state.running_2, 0, task + 1))


@compiled_form_of(queries.meets)
def meets(model, state, task, unit, share=1.0):
    return queries.meets_on_type(model, state, task, not_negative(model.unit_type[unit]), share)


@compiled_form_of(queries.first_interrupted)
def first_interrupted(model, state):
    return state.run[0].interrupted


@compiled_form_of(queries.next_interrupted)
def next_interrupted(model, state, task):
    return np.int64(state.task_interrupted[task])


@compiled_form_of(queries.first_withdrawn, inline=False)
def first_withdrawn(model, state):
    return queries.next_withdrawn(model, state, np.int64(-1))


@compiled_form_of(queries.next_withdrawn, inline=False)
def next_withdrawn(model, state, task):
    jobs, now_us = model.withdrawn_job, state.run[0].now_us
    at, end = np.int64(0), np.int64(jobs.shape[0])
    after = model.task_job[task] if task >= 0 else -1
    while at < end:  # the first job of this instant that is not before the task's
        middle = (at + end) // 2
        job = jobs[middle]
        if model.job_withdraw_us[job] < now_us or (model.job_withdraw_us[job] == now_us and job < after):
            at = middle + 1
        else:
            end = middle
    while at < jobs.shape[0] and model.job_withdraw_us[jobs[at]] == now_us:
        for other in range(max(task + 1, model.job_first[jobs[at]]), model.job_first[jobs[at] + 1]):
            if queries.has_left(model, state, other):
                return np.int64(other)
        at += 1
    return np.int64(-1)


@inlined
def data_node(model, task):
    return np.int64(model.task_data_node[task]) if model.task_data_node.shape[0] > 0 else np.int64(0)


@compiled_form_of(queries.tier)
def tier(model, state, task, unit):
    data = data_node(model, task)
    node = np.int64(model.unit_node[unit])
    if node == data:
        return 0
    return 1 if model.node_rack[node] == model.node_rack[data] else 2


@compiled_form_of(queries.execution_us)
def execution_us(model, state, task, unit):
    return queries.time_on_type_us(model, state, task, not_negative(model.unit_type[unit]))


@compiled_form_of(queries.time_on_type_us)
def time_on_type_us(model, state, task, processor_type):
    t = queries.task_type(model, state, task)
    speed = model.affinity[processor_type, t]
    if speed <= 0.0:
        return math.inf
    if model.task_times_us.shape[0] > 0:
        return model.overhead_us[processor_type, t] + model.task_times_us[task, processor_type]
    return model.overhead_us[processor_type, t] + model.task_operations[task] / speed


@compiled_form_of(queries.operations_started)
def operations_started(model, state, task):
    total = model.task_operations[task]
    other = state.task_follower[task]
    while other >= 0:
        total += model.task_operations[other]
        other = state.task_follower[other]
    return total


@compiled_form_of(queries.following)
def following(model, state, task):
    n_arrived = state.run[0].n_arrived
    task = np.int64(task + 1 if model.task_group.shape[0] == 0 else model.task_next[task])
    while task < n_arrived and state.task_unit[task] != PENDING:
        task = np.int64(task + 1 if model.task_group.shape[0] == 0 else model.task_next[task])
    return task if task < n_arrived else np.int64(-1)


@compiled_form_of(queries.group)
def group(model, state, task):
    return np.int64(group_of(model, task))
