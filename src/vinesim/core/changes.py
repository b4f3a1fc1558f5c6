"""Apply listed changes: nodes go down and come up, jobs are withdrawn.

Changes happen between events. The policy is called for them at once, before the segments that end at this instant
because of them.
"""

import numpy as np

from vinesim.core import ledger, segments, tasks
from vinesim.core.bits import at_or_after, insert, remove
from vinesim.core.features import SLOTS, called
from vinesim.core.tasks import follower_of
from vinesim.jit.intrinsics import not_negative
from vinesim.model.result import WITHDRAWN
from vinesim.state import queries
from vinesim.state.arrays import GOES_DOWN, MORE, WITHDRAWS
from vinesim.state.layout import ATTACHED, CHECKPOINT, DROPPED, HELD, OUTAGE, PENDING, RESUME, TIMER
from vinesim.state.places import gang_of


def next_us(state):
    """When the next change happens, infinite if none does."""
    i = state.run[0].next_change
    return state.listed[i].at_us if i < state.listed.shape[0] else np.inf


def is_over(state):
    """Whether nodes can only fail from now on, which starts nothing."""
    return state.listed[state.run[0].next_change].is_last


def are_to_be_drawn(state):
    """Whether the list ends here because further failures are not drawn yet."""
    return state.listed[state.run[0].next_change].what == MORE


@called
def happen(model, state):
    """Apply all rows of a step. Returns whether everything that continues has a finite end."""
    run, changes, first = state.run[0], state.listed, state.run[0].next_change
    now, step, is_outage = changes[first].at_us, changes[first].step, False
    run.now_us = now
    end = np.int64(first)
    while end < changes.shape[0] and changes[end].at_us == now and changes[end].step == step:
        one = changes[end]
        if one.what != WITHDRAWS:
            is_outage = True
            set_up(model, state, one.index, one.n_down == 0)
        end += 1
    if is_outage and not interrupt(model, state, first, end):
        return False
    for i in range(first, end):
        if changes[i].what == WITHDRAWS and not withdraw(model, state, changes[i].index):
            return False
    run.next_change = end
    run.to_ask = max(run.to_ask, OUTAGE if is_outage else TIMER)
    run.timer_us = now
    return True


@called
def set_up(model, state, node, is_up):
    """Mark a node as up or down."""
    low, high = np.int64(0), np.int64(state.unit.shape[0])  # all, where the units have their own order
    if model.node_first[-1] > 0:
        low, high = np.int64(model.node_first[node]), np.int64(model.node_first[node + 1])
    for unit in range(low, high):
        if model.unit_node[unit] == node:
            ledger.set_up(model, state, not_negative(unit), is_up)


# Outages end segments


@called
def interrupt(model, state, first, end):
    """End the segments on nodes that went down, and those of their gangs, in the order of their tasks."""
    run = state.run[0]
    if run.interrupted_us != run.now_us:  # else a node was repaired at once: the policy is called for both together
        forget_cut(state)
    run.interrupted_us = run.now_us
    for slot in range(run.n_slots if SLOTS else state.unit.shape[0]):
        if is_in_use(state, slot):
            task = np.int64(state.slot[slot].task)
            if why_cut(model, state, first, end, task) > 0:
                low, high = gang_of(model, task)
                for member in range(low, high):
                    if state.task_slot[member] >= 0:
                        cut(state, np.int64(member))
    task, why, end_of_gang = next_cut(state, np.int64(0)), np.int64(0), np.int64(0)
    while task >= 0:
        if state.task_slot[task] >= 0:
            if task >= end_of_gang:  # the first of its gang, whose segments have not ended yet
                why, end_of_gang = why_any_cut(model, state, first, end, task), gang_of(model, task)[1]
            if not segments.end(model, state, task, why, CHECKPOINT):
                return False
        if state.task_unit[task] == ATTACHED:  # the policy is called for the pending task of its gang
            remove(state.cut, state.cut_1, state.cut_2, 0, task)
        task = next_cut(state, task + 1)
    return True


def is_in_use(state, slot):
    """Whether a slot belongs to a segment."""
    return state.slot[slot].task >= 0 if SLOTS else state.unit[slot].tasks > 0


@called
def why_cut(model, state, first, end, task):
    """Why an outage of these rows ends the segment of a running task; 0: none does."""
    why, node = np.int64(0), model.unit_node[state.task_unit[task]]
    for i in range(first, end):
        one = state.listed[i]
        if one.what == GOES_DOWN and one.index == node and one.why > 0:
            why = np.int64(one.why)
    return why


@called
def why_any_cut(model, state, first, end, task):
    """Why an outage of these rows ends the segment of a running task, or of one of its gang."""
    low, high = gang_of(model, task)
    why = np.int64(0)
    for member in range(low, high):
        if state.task_slot[member] >= 0:
            why = max(why, why_cut(model, state, first, end, np.int64(member)))
    return why


def cut(state, task):
    """Note that the segment of a task ends, and of those that were consolidated with it."""
    while task >= 0:
        insert(state.cut, state.cut_1, state.cut_2, 0, task)
        task = follower_of(state, task)


def next_cut(state, task):
    """The first such task from a number on; -1 if there is none."""
    return np.int64(at_or_after(state.cut, state.cut_1, state.cut_2, 0, task))


@called
def forget_cut(state):
    task = next_cut(state, np.int64(0))
    while task >= 0:
        remove(state.cut, state.cut_1, state.cut_2, 0, task)
        task = next_cut(state, task)


@called
def withdraw(model, state, job):
    """Drop the pending tasks of a job and end the running ones; consolidated tasks continue."""
    for task in range(model.job_first[job], model.job_first[job + 1]):
        unit = state.task_unit[task]
        if unit in (PENDING, ATTACHED, HELD):
            if unit == PENDING:
                tasks.leave_pending(model, state, np.int64(task))
            state.task_unit[task], state.task_finish_us[task] = DROPPED, np.nan
            tasks.note_over(model, state, np.int64(task))
        elif state.task_slot[task] >= 0 and follower_of(state, task) < 0:
            if segments.waits_ahead(state, task):
                segments.take_back(model, state, np.int64(task))
            elif not segments.end(model, state, np.int64(task), WITHDRAWN, RESUME):
                return False
    return True


# What a policy may ask: tasks that left before they were done


def next_interrupted(model, state, task):
    return next_cut(state, np.int64(task) + 1)


@called
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
