"""ACT: how an action and a finish change the state. Source: VineSim report, sections 4.5, 5.1 and 5.4.3."""

import numpy as np

from vinesim.engine import progress, sharing
from vinesim.engine.contract import (
    CANNOT_RUN,
    IS_ATTACHED,
    IS_DOWN,
    NO_ROOM,
    NO_ROOM_BESIDE,
    NOT_A_HEAD,
    NOT_PENDING,
    OUTSIDE_PARTITION,
    OVER_QUOTA,
    SHARES_SPEED,
    UNKNOWN_TASK,
    UNKNOWN_UNIT,
)
from vinesim.model.workload import NO_GANG
from vinesim.state import event_queue, queries
from vinesim.state.bits import insert, remove
from vinesim.state.compiled_form import with_gangs
from vinesim.state.gang_members import at_step, forget_places, next_member, next_step, unit_of_member
from vinesim.state.gangs import settle
from vinesim.state.holding import (
    count_task,
    hold_rest,
    index_room,
    is_in_use,
    note_change,
    release_rest,
    renew_node,
    set_load,
)
from vinesim.state.indexed_room import still_fits
from vinesim.state.indexed_tasks import group_of
from vinesim.state.joining import link
from vinesim.state.kernel import inlined, kernel, not_negative
from vinesim.state.layout import ATTACHED, DOWN, DROP, DROPPED, OVERFULL, PENDING
from vinesim.state.quotas import count_held


def _all_of_job(model, state, job):
    return model.job_first[job + 1]


@with_gangs(without=_all_of_job)
def end_of_pending(model, state, job):
    """Return the task after those of a job that become pending as it arrives: of a gang only the first does."""
    return model.job_first[job] + 1 if model.job_gang[job] != NO_GANG else model.job_first[job + 1]


@inlined
def arrive(model, state):
    """ARRIVAL: the next job arrives and its tasks become pending. Returns the job."""
    run = state.run[0]
    job = run.next_job
    first, end = model.job_first[job], model.job_first[job + 1]
    run.next_job = job + 1
    run.n_arrived = end
    end = end_of_pending(model, state, job)
    run.n_pending += end - first
    if model.task_group.shape[0] == 0:
        state.group_pending[0] += end - first
        return job
    for task in range(first, end):
        group = model.task_group[task]
        if state.group_pending[group] == 0:
            insert(state.heads, state.heads_1, state.heads_2, 0, task)
        state.group_pending[group] += 1
    return job


@inlined
def take_from_group(model, state, task):
    """Make the task no longer pending: move the head of its group past all tasks that have started."""
    group = group_of(model, task)
    state.group_pending[group] -= 1
    state.run[0].n_pending -= 1
    head = state.group_head[group]
    if task != head:
        return
    n_arrived, n_tasks = state.run[0].n_arrived, model.task_operations.shape[0]
    if model.task_group.shape[0] == 0:
        head += 1
        while head < n_tasks and state.task_unit[head] != PENDING:
            head += 1
        state.group_head[group] = head
        return
    remove(state.heads, state.heads_1, state.heads_2, 0, head)
    head = model.task_next[head]
    while head < n_tasks and state.task_unit[head] != PENDING:
        head = model.task_next[head]
    state.group_head[group] = head
    if head < n_arrived:
        insert(state.heads, state.heads_1, state.heads_2, 0, head)


def _never(model, state, task):
    return False


@with_gangs(without=_never)
def is_of_gang(model, state, task):
    """Whether the tasks of the task's job start together."""
    return model.job_gang[model.task_job[task]] != NO_GANG


def _drops_one(model, state, task):
    pass


@with_gangs(without=_drops_one)
def drop_attached(model, state, task):
    """Drop the tasks that are attached to a task."""
    forget_places(model, state)
    member = next_member(model, state, task)
    while member >= 0:
        state.task_unit[member] = DROPPED
        state.run[0].n_done += 1
        member = next_member(model, state, member)


@inlined
def broken_rule(model, state, action, may_overcommit):
    """Return the first rule that the action breaks, 0 if none."""
    task, unit = action.task, action.unit
    if task < 0 or task >= state.run[0].n_arrived:
        return UNKNOWN_TASK
    if state.task_unit[task] != PENDING:
        return IS_ATTACHED if state.task_unit[task] == ATTACHED else NOT_PENDING
    if action.kind == DROP:
        return 0
    if unit < 0 or unit >= model.unit_type.shape[0]:
        return UNKNOWN_UNIT
    if model.affinity[not_negative(model.unit_type[unit]), queries.task_type(model, state, task)] <= 0.0:
        return CANNOT_RUN
    if not queries.is_up(model, state, unit):
        return IS_DOWN
    if not queries.is_in_partition(model, state, task, unit):
        return OUTSIDE_PARTITION
    if not queries.is_within_quotas(model, state, task):
        return OVER_QUOTA
    if not may_overcommit and not still_fits(model, state, task, unit):
        return NO_ROOM
    if may_overcommit and not queries.rest_fits(model, state, task, unit):
        return NO_ROOM_BESIDE
    if action.n_tasks != 1:
        if action.n_tasks < 1 or state.group_head[group_of(model, task)] != task:
            return NOT_A_HEAD
        if queries.joinable(model, state, task, action.n_tasks) < action.n_tasks:
            return NOT_A_HEAD
    return 0


@inlined
def perform(model, state, action, may_overcommit):
    """Start or drop what the action says, or record which rule it breaks. Returns whether it was legal."""
    run = state.run[0]
    rule = broken_rule(model, state, action, may_overcommit)
    if rule != 0:
        run.error, run.error_task, run.error_unit = rule, action.task, action.unit
        return False
    task, unit = not_negative(action.task), action.unit
    if action.kind == DROP:
        state.task_unit[task] = DROPPED
        run.n_done += 1
        drop_attached(model, state, task)
        take_from_group(model, state, task)
        return True
    if action.n_tasks > 1:
        link(model, state, task, action.n_tasks)
    if not begin(model, state, task, not_negative(unit), action.n_tasks):
        return False
    take_from_group(model, state, task)
    return True


def begin_one(model, state, task, unit, n_tasks):
    """Start a task on a unit, with the n_tasks - 1 that are linked behind it. Returns whether its end is a finite
    number."""
    run, kind = state.run[0], queries.task_type(model, state, task)
    transfer = queries.transfer_us(model, state, task, unit)
    execution = queries.execution_us(model, state, task, unit)
    execution *= progress.share_left(model, state, task)
    if n_tasks > 1:
        transfer, execution = _join(model, state, task, unit, n_tasks, transfer, execution)
    elif model.task_factor.shape[0] > 0:
        execution *= model.task_factor[task]
    now = run.now_us
    start_us = now + transfer
    execution, finish_us = progress.begin(model, state, task, transfer, execution)
    is_wrong = not (now < finish_us and finish_us < np.inf) and transfer + execution != 0.0
    if is_wrong and (finish_us < np.inf or not progress.never_ends(model, state, task)):
        sharing.note_out_of_time(state, task, unit, transfer + execution)
        return False
    load = state.unit_load[unit] + queries.demand(model, state, task, unit)
    state.task_unit[task] = unit
    state.task_init_us[task] = now
    state.task_start_us[task] = start_us
    state.task_finish_us[task] = finish_us
    if sharing.is_shared(model, state, unit):
        if not sharing.start(model, state, task, unit, load, transfer + execution):
            return False
    elif finish_us < np.inf:
        event_queue.push(state, task)
    set_load(model, state, unit, load)
    count_task(model, state, task, unit, 1)
    hold_rest(model, state, task, kind, unit)
    count_held(model, state, task, unit, 1)
    return True


_begin_member = kernel(begin_one)


@with_gangs(without=begin_one)
def begin(model, state, task, unit, n_tasks):
    """Start a task on a unit, and those that are attached to it on theirs, each with those that are linked behind it:
    the check of the action has found that they have room."""
    if not is_of_gang(model, state, task):
        forget_places(model, state)
        return _begin_member(model, state, task, unit, n_tasks)
    settle(model, state, task, unit)
    if not _begin_member(model, state, task, unit_of_member(model, state, task), n_tasks):
        return False
    step = next_step(model, state, task, -1)
    while step >= 0:
        member = at_step(model, task, step)
        if not _begin_member(model, state, member, unit_of_member(model, state, member), n_tasks):
            return False
        step = next_step(model, state, task, step)
    forget_places(model, state)
    return True


@inlined
def _join(model, state, task, unit, count, transfer, execution):
    """Consolidate ``task`` and those that are linked behind it, ``count`` in all, on its unit. Their data is
    transferred one after another, their operations are added, the overhead is paid once; the factor of ``task`` applies
    to all. Returns the times of all as one."""
    overhead = model.overhead_us[model.unit_type[unit], queries.task_type(model, state, task)]
    is_shared = sharing.is_shared(model, state, unit)
    follower, shares = state.task_follower[task], progress.share_left(model, state, task)
    while follower >= 0:
        transfer += queries.transfer_us(model, state, follower, unit)
        share = progress.share_left(model, state, follower)
        execution += (queries.execution_us(model, state, follower, unit) - overhead) * share
        shares += share
        follower = state.task_follower[follower]
    unit_type = not_negative(model.unit_type[unit])
    execution = queries.consolidated_us(model, state, task, unit_type, count, execution, shares / count)
    if model.task_factor.shape[0] > 0:
        execution *= model.task_factor[task]
    follower = state.task_follower[task]
    while follower >= 0:
        now = state.run[0].now_us
        if state.task_unit[follower] == PENDING:  # else it is attached to one that was
            state.group_pending[group_of(model, follower)] -= 1
            state.run[0].n_pending -= 1
        state.task_unit[follower] = unit
        state.task_init_us[follower] = now
        state.task_start_us[follower] = now + transfer
        state.task_finish_us[follower] = np.inf if is_shared else now + transfer + execution
        follower = state.task_follower[follower]
    return transfer, execution


@inlined
def finish(model, state, task):
    """COMPUTATION_FINISH: remove the task, and its followers, from their unit. Returns the unit; -1 after an error: the
    finish of a task that stays there exceeds the range of numbers."""
    run = state.run[0]
    unit = not_negative(state.task_unit[task])
    count_task(model, state, task, unit, -1)
    load = state.unit_load[unit] - queries.demand(model, state, task, unit) if is_in_use(model, state, unit) else 0.0
    is_shared = sharing.is_shared(model, state, unit)
    if is_shared and not sharing.finish(model, state, task, unit, load):
        return np.int64(-1)
    progress.close(model, state, task)
    follower = state.task_follower[task]
    while follower >= 0:
        state.task_finish_us[follower] = run.now_us
        run.n_done += 1
        follower = state.task_follower[follower]
    set_load(model, state, unit, load)
    release_rest(model, state, task, unit)
    count_held(model, state, task, unit, -1)
    run.n_done += 1
    return unit


@kernel
def move(model, state, task, unit):
    """Migrate a running task to another unit; its finish time is unchanged. Neither unit may share its speed."""
    old = np.int64(state.task_unit[task])
    count_task(model, state, task, old, -1)
    demand = queries.demand(model, state, task, old)
    set_load(model, state, old, state.unit_load[old] - demand if state.unit_tasks[old] > 0 else 0.0)
    state.task_unit[task] = unit
    count_task(model, state, task, unit, 1)
    set_load(model, state, unit, state.unit_load[unit] + queries.demand(model, state, task, unit))


@kernel
def _broken_rule_of_move(model, state, task, unit):
    """Return the first rule that moving a running task breaks, 0 if none; room is checked after all moves."""
    if unit >= model.unit_type.shape[0]:
        return UNKNOWN_UNIT
    if model.affinity[model.unit_type[unit], queries.task_type(model, state, task)] <= 0.0:
        return CANNOT_RUN
    old = state.task_unit[task]
    is_shared = sharing.is_shared(model, state, unit)
    if is_shared or sharing.is_shared(model, state, old):
        return SHARES_SPEED
    return 0


@kernel
def place(model, state, tasks, units, moves, may_overcommit):
    """Carry out a batch policy's answer: move the running tasks for which ``moves`` is true, all before the first
    start, so that only the loads after that must be legal. Then start pending tasks; unit -1 leaves them. Returns
    whether all was legal."""
    run = state.run[0]
    for i in range(tasks.shape[0]):
        if moves[i]:
            rule = _broken_rule_of_move(model, state, tasks[i], units[i])
            if rule != 0:
                run.error, run.error_task, run.error_unit = rule, tasks[i], units[i]
                return False
            move(model, state, tasks[i], units[i])
    for i in range(tasks.shape[0]):
        if moves[i] and not may_overcommit:
            unit = units[i]
            if state.unit_load[unit] > model.unit_capacity[unit] * OVERFULL:
                run.error, run.error_task, run.error_unit = NO_ROOM, tasks[i], unit
                return False
    for i in range(tasks.shape[0]):
        if units[i] < 0 or state.task_unit[tasks[i]] != PENDING:
            continue
        if not perform(model, state, queries.start(tasks[i], units[i]), may_overcommit):
            return False
    return True


@kernel
def set_open_unit(model, state, unit, is_open):
    """Mark a unit as up or down."""
    had_room = queries.has_room(model, state, unit)
    state.unit_open[unit] = model.unit_capacity[unit] if is_open else DOWN
    index_room(model, state, unit, had_room)
    note_change(model, state, unit)
    renew_node(model, state, unit)


@kernel
def set_open(model, state, units, is_open):
    """Mark the units' node as up or down; tasks running there are not changed."""
    for i in range(units.shape[0]):
        set_open_unit(model, state, units[i], is_open)


@inlined
def _return_to_group(model, state, task):
    """Make the task pending again: move the head of its group back to it if it is older."""
    group = group_of(model, task)
    head, was_pending = state.group_head[group], state.group_pending[group] > 0
    state.group_pending[group] += 1
    state.run[0].n_pending += 1
    if task > head and was_pending:
        return
    if model.task_group.shape[0] > 0:
        if was_pending:
            remove(state.heads, state.heads_1, state.heads_2, 0, head)
        insert(state.heads, state.heads_1, state.heads_2, 0, task)
    state.group_head[group] = task
