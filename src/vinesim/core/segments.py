"""Segments: a task on its units, from when it gets them until it leaves. They begin and end here, and only here.

A segment begins with the transfer and, for a task that is resumed, its restart; then the work continues where it
stopped. What is left of a task is a share of its work, the overhead included, so it can continue on a unit of another
type. Consolidated tasks have one segment, their leader's, and advance together. Source: VineSim report, sections 4.5,
5.1 and 5.4.3.
"""

import numpy as np

from vinesim.core import calendar, gang_members, laws, ledger, pools, requests, tasks
from vinesim.core.bits import insert, remove
from vinesim.core.features import (
    AHEAD,
    BATCHING,
    CAPS,
    CHANGES,
    CONSOLIDATES,
    COUNTS_CLASSES,
    DISAGGREGATED,
    EARLY,
    FACTORS,
    GANGS,
    LATER,
    LIMITS,
    LISTS_RUNNING,
    LIVE,
    OVERHEAD,
    QUOTAS,
    REQUESTS,
    SEVERAL,
    SHARED,
    SLOTS,
    TRACKS,
    WHOLE,
    called,
)
from vinesim.core.laws import batching
from vinesim.core.tasks import (
    execution_us,
    factor,
    follower_of,
    following,
    group,
    has_limits,
    is_of_gang,
    is_prefilled,
    next_attached,
    next_member,
    restart_us,
    task_type,
    transfer_us,
)
from vinesim.jit.intrinsics import not_negative
from vinesim.model.result import PREFILLED, WITHDRAWN
from vinesim.state import queries
from vinesim.state.layout import ATTACHED, DROPPED, OUT_OF_TIME, PENDING, RESTART, RESUME

# Slots


def new_slot(state, task, unit):
    """A slot for the segment of a task: that of its unit if there is one each, else one that was given back, or a new
    one."""
    slot = not_negative(unit)
    if SLOTS:
        slot = free_slot(state)
        state.slot[slot].unit = unit
    state.slot[slot].task = task
    if TRACKS:
        state.task_slot[task] = slot
    return slot


def free_slot(state):
    run = state.run[0]
    slot = run.spare
    if slot >= 0:
        run.spare = state.slot[not_negative(slot)].next
        return not_negative(slot)
    run.n_slots += 1
    return not_negative(run.n_slots - 1)


def give_back(state, slot):
    if CHANGES:
        state.slot[slot].task = -1
    if SLOTS:
        state.slot[slot].next = state.run[0].spare
        state.run[0].spare = slot


# A segment begins


def start(model, state, task, unit, n_tasks):
    """Start a pending task, with its gang, and the n_tasks - 1 that follow it in its group as one with it; there is
    room. Returns whether the end of each is a finite number, or never comes."""
    if CONSOLIDATES and n_tasks > 1:
        link(model, state, task, n_tasks)
    if GANGS:
        return start_all(model, state, task, unit, n_tasks)
    return begin(model, state, task, unit, n_tasks)


@called
def start_all(model, state, task, unit, n_tasks):
    """Start a task that may be of a gang, with those that are attached to it."""
    if not is_of_gang(model, task):
        return begin_called(model, state, task, unit, n_tasks)
    if REQUESTS and requests.is_request(model, task):
        requests.find_units(model, state, task, unit)
    member, step = np.int64(task), np.int64(-1)
    while member >= 0:
        if not begin_called(model, state, member, gang_members.unit_of(model, state, member), n_tasks):
            return False
        member, step = next_member(model, state, task, step)
    return True


@called
def begin_called(model, state, task, unit, n_tasks):
    return begin(model, state, task, not_negative(unit), n_tasks)


def begin(model, state, task, unit, n_tasks):
    """Begin a segment: of a task, and of the n_tasks - 1 that are linked behind it."""
    if LIVE:
        note_start(model, state, task, unit, n_tasks, state.run[0].now_us, state.run[0].now_us, np.inf)
    elif BATCHING and batching.is_engine(model, unit):
        if not enter_engine(model, state, task, unit):
            return False
    elif not foresee(model, state, task, unit, n_tasks):
        return False
    count_task(model, state, task, unit, 1)
    ledger.take(model, state, task, unit)
    if QUOTAS:
        pools.count(model, state, task, unit, 1)
    if CAPS and ledger.has_caps(model):
        ledger.note_peak(model, state, np.int64(state.unit[unit].node))
    return True


def foresee(model, state, task, unit, n_tasks):
    """Find out when a segment that begins will end, and note it. Returns whether the end of each on its unit is a
    finite number, or never comes."""
    run = state.run[0]
    now, transfer, work = run.now_us, transfer_us(model, state, task, unit), execution_us(model, state, task, unit)
    if EARLY:
        work *= state.task_left[task]
    if CONSOLIDATES and n_tasks > 1:
        transfer, work = consolidate(model, state, task, unit, n_tasks, transfer, work)
    if FACTORS:
        work *= factor(model, task)
    init_us, start_us = now, now + transfer
    slot = new_slot(state, task, unit)
    if AHEAD:
        state.task_granted_us[task] = now
        state.slot[slot].there_us = start_us
        if laws.takes_ahead(model, unit):
            init_us = laws.free_us(state, unit)
            start_us = max(start_us, init_us)
            transfer = start_us - init_us
    service, end_us = work, start_us + work
    if EARLY:
        service, end_us = note_begin(model, state, task, slot, transfer, start_us, work)
    if not (now < end_us and end_us < np.inf) and is_out_of_time(model, state, task, unit, transfer + service, end_us):
        return False
    note_start(model, state, task, unit, n_tasks, init_us, start_us, end_us)
    load = state.unit[unit].load + ledger.demand(model, state, task, unit)
    return laws.join(model, state, slot, unit, load, transfer + service, end_us)


def note_start(model, state, task, unit, n_tasks, init_us, start_us, end_us):
    """Note the unit and the times of a task that begins, and of those that are linked behind it."""
    state.task_unit[task] = unit
    if LATER:
        state.task_init_us[task] = init_us
    state.task_start_us[task] = start_us
    state.task_finish_us[task] = end_us
    if SHARED and laws.is_shared(model, unit):
        state.task_finish_us[task] = np.inf
    if CONSOLIDATES and n_tasks > 1:
        note_followers(model, state, task, unit)


@called
def enter_engine(model, state, task, unit):
    """Begin the segment of a request on a serving engine, which says when it ends. Returns whether the clock can
    represent when its cache comes, if another engine prefilled it."""
    now_us, slot = state.run[0].now_us, new_slot(state, task, unit)
    start_us = now_us
    if DISAGGREGATED and is_prefilled(state, task):
        transfer = transfer_us(model, state, task, unit)
        start_us = now_us + transfer
        is_wrong = not (now_us < start_us and start_us < np.inf)
        if is_wrong and is_out_of_time(model, state, task, unit, transfer, start_us):
            return False
        calendar.push(state, slot, start_us)
    if LIMITS:
        state.slot[slot].killed = 0
    note_start(model, state, task, unit, 1, now_us, start_us, np.inf)
    batching.join(model, state, slot, unit)
    return True


def count_task(model, state, task, unit, change):
    """Count a task that begins, 1, or ends, -1, to run on a unit."""
    if WHOLE:
        state.unit[unit].tasks = 1 if change > 0 else 0
    else:
        state.unit[unit].tasks += change
    if COUNTS_CLASSES:
        state.node_class_tasks[state.unit[unit].node, task_type(model, state, task)] += change


@called
def is_out_of_time(model, state, task, unit, took_us, end_us):
    """Whether the clock cannot represent the time of a task, which is an error; not of one that never ends."""
    if took_us == 0.0:
        return False
    if end_us == np.inf and EARLY:
        member = np.int64(task)
        while member >= 0:
            if model.task_operations[member] == np.inf:
                return False
            member = follower_of(state, member)
    run = state.run[0]
    run.error, run.error_task, run.error_unit, run.error_us = OUT_OF_TIME, task, unit, took_us
    return True


@called
def note_begin(model, state, task, slot, transfer, start_us, work):
    """Note what an early end needs to know. Returns the service, without the transfer, and when the segment ends, done
    or killed, on a unit of its own."""
    run, restart, member = state.run[0], 0.0, np.int64(task)
    while member >= 0:
        if state.task_began[member]:
            restart += restart_us(model, member)
        state.task_began[member] = 1
        member = follower_of(state, member)
    one = state.slot[slot]
    one.event, one.before_us, one.work_us = run.n_events, transfer + restart, work
    if LISTS_RUNNING:
        insert(state.running, state.running_1, state.running_2, 0, task)
    end_us = start_us + (restart + work)
    if LIMITS:
        one.killed = 0
        if has_limits(model):
            limit_us = run.now_us + model.job_limit_us[model.task_job[task]]
            one.killed = limit_us < end_us
            end_us = min(end_us, limit_us)
    return restart + work, end_us


# Tasks that start as one


@called
def link(model, state, task, n_tasks):
    """Chain the n_tasks - 1 pending tasks that follow a task in its group behind it; and those that are attached to
    them behind the ones that are attached to it, in the same place of their jobs."""
    last = np.int64(task)
    for _ in range(n_tasks - 1):
        follower = following(model, state, last)
        state.task_follower[last] = follower
        if GANGS and is_of_gang(model, task):
            member = next_attached(model, state, last)
            while member >= 0:
                state.task_follower[member] = member + follower - last
                member = next_attached(model, state, member)
        last = follower


@called
def consolidate(model, state, task, unit, count, transfer, work):
    """The times of a task and of those that are linked behind it, ``count`` in all, as one. Their data is transferred
    one after another, their operations are added, the overhead is paid once."""
    p = not_negative(np.int64(state.unit[unit].type))
    overhead = model.overhead_us[p, task_type(model, state, task)] if OVERHEAD else 0.0
    follower, shares = follower_of(state, task), state.task_left[task] if EARLY else 1.0
    while follower >= 0:
        transfer += transfer_us(model, state, follower, unit)
        share = state.task_left[follower] if EARLY else 1.0
        work += (execution_us(model, state, follower, unit) - overhead) * share
        shares += share
        follower = follower_of(state, follower)
    return transfer, queries.consolidated_us(model, state, task, p, count, work, shares / count)


@called
def note_followers(model, state, task, unit):
    """Start the tasks that are linked behind a task together with it."""
    follower = follower_of(state, task)
    while follower >= 0:
        if state.task_unit[follower] == PENDING:  # else it is attached to one that was
            tasks.count_pending(state, group(model, state, follower), -1)
        state.task_unit[follower] = unit
        if LATER:
            state.task_init_us[follower] = state.task_init_us[task]
        if AHEAD and not LIVE:
            state.task_granted_us[follower] = state.run[0].now_us
        state.task_start_us[follower] = state.task_start_us[task]
        state.task_finish_us[follower] = state.task_finish_us[task]
        follower = follower_of(state, follower)


# A segment ends


def finish(model, state, slot):
    """COMPUTATION_FINISH: a segment ends as its task is done, or killed. Returns the task; -1 after an error: the end
    of one that stays on the unit exceeds the range of numbers."""
    task = not_negative(np.int64(state.slot[slot].task))
    unit = not_negative(np.int64(state.slot[slot].unit)) if SLOTS else slot
    if DISAGGREGATED and batching.only_prefills(model, task, unit):
        return hand_on(model, state, task, unit, slot)
    return finish_task(model, state, task, unit, slot)


def finish_task(model, state, task, unit, slot):
    """End the segment of a task and of its followers. Returns as ``finish``."""
    if EARLY:
        note_finish(model, state, task, unit, slot)
    if not release(model, state, task, unit, slot, True):
        return np.int64(-1)
    member = np.int64(task)
    while member >= 0:
        if LIVE or member != task:  # the leader's is noted already
            state.task_finish_us[member] = state.run[0].now_us
        tasks.note_over(model, state, member)
        member = follower_of(state, member)
    return task


@called
def hand_on(model, state, task, unit, slot):
    """Make a request leave the engine that has prefilled it, and wait for one that decodes. Returns its task."""
    release(model, state, task, unit, slot, True)
    log(state, task, unit, PREFILLED, False)
    n_tokens = model.task_output[task]
    state.ended[state.run[0].n_ended - 1].left = (n_tokens - 1) / n_tokens
    state.task_prefilled[task] = unit
    state.task_finish_us[task] = np.nan
    wait_again(model, state, task)
    return task


@called
def note_finish(model, state, task, unit, slot):
    """Note that a task, with its followers, leaves its unit as it is done or as its limit ends it."""
    kept, killed = 0.0, LIMITS and state.slot[slot].killed != 0
    if killed:
        kept = 1.0 - share_done(model, state, slot, unit)
    member = np.int64(task)
    while member >= 0:
        state.task_attained_us[member] += state.run[0].now_us - state.task_init_us[member]
        state.task_left[member] *= kept
        if LIMITS:
            state.task_killed[member] = killed
        member = follower_of(state, member)


def release(model, state, task, unit, slot, is_due):
    """Remove a segment from its unit and give back all that it holds. Returns whether what continues there has a finite
    end."""
    count_task(model, state, task, unit, -1)
    load = 0.0
    if not WHOLE and state.unit[unit].holders > 1:
        load = state.unit[unit].load - ledger.demand(model, state, task, unit)
    if LIVE:
        note_left_us(model, state, task, unit)
    elif not laws.leave(model, state, slot, unit, load, is_due):
        return False
    ledger.release(model, state, task, unit)
    if QUOTAS:
        pools.count(model, state, task, unit, -1)
    if TRACKS:
        state.task_slot[task] = -1
    if LISTS_RUNNING:
        remove(state.running, state.running_1, state.running_2, 0, task)
    if not LIVE:
        give_back(state, slot)
    return True


def note_left_us(model, state, task, unit):
    """If a unit takes tasks ahead, note that a task began when the one before it left."""
    if AHEAD and laws.takes_ahead(model, unit):
        state.task_init_us[task] = max(state.task_init_us[task], state.unit_left_us[unit])
        state.unit_left_us[unit] = state.run[0].now_us


@called
def move(model, state, task, unit):
    """Migrate a running task to another unit; its end is unchanged. Neither unit may share its speed."""
    slot, old = not_negative(np.int64(state.task_slot[task])), not_negative(np.int64(state.task_unit[task]))
    count_task(model, state, task, old, -1)
    ledger.release(model, state, task, old)
    state.task_unit[task] = unit
    state.slot[slot].unit = unit
    count_task(model, state, task, unit, 1)
    ledger.take(model, state, task, unit)


# How far a segment has come


@called
def work_done_us(model, state, slot, unit):
    """The us of work, at full speed, that a segment has had, without its transfer and its restart."""
    one = state.slot[slot]
    return min(max(laws.served_us(model, state, slot, unit) - one.before_us, 0.0), one.work_us)


@called
def share_done(model, state, slot, unit):
    """Which share of the work of its segment a running task has done, 0 to 1."""
    work = state.slot[slot].work_us
    return work_done_us(model, state, slot, unit) / work if work > 0.0 else 0.0


@called
def left(model, state, task):
    slot = np.int64(state.task_slot[task])
    if slot < 0:
        return state.task_left[task]
    return state.task_left[task] * (1.0 - share_done(model, state, not_negative(slot), np.int64(state.task_unit[task])))


@called
def share_kept(model, state, task, slot, unit, keeps):
    """Which share of the work that a running task had at the start of its segment is done and kept."""
    if keeps == RESTART:
        return 0.0
    if keeps == RESUME:
        return share_done(model, state, slot, unit)
    if model.task_checkpoint_us.shape[0] == 0:
        return 0.0
    work, every = state.slot[slot].work_us, model.task_checkpoint_us[task]
    if not (work > 0.0 and every < np.inf):
        return 0.0
    return min(np.floor(work_done_us(model, state, slot, unit) / every) * every / work, 1.0)


# A segment ends early


@called
def end(model, state, task, why, keeps):
    """End the segment of a running task, and of its followers, now, and log it. Returns whether what continues on its
    unit has a finite end."""
    run, unit = state.run[0], not_negative(np.int64(state.task_unit[task]))
    slot = not_negative(np.int64(state.task_slot[task]))
    lost = 1.0 - share_kept(model, state, task, slot, unit, keeps)
    if not release(model, state, task, unit, slot, False):
        return False
    if why != WITHDRAWN:
        log_held(model, state, task)
    member = np.int64(task)
    while member >= 0:
        after = follower_of(state, member)
        state.task_left[member] *= lost
        log(state, member, unit, why, member != task)
        state.task_attained_us[member] += run.now_us - state.task_init_us[member]
        state.task_finish_us[member] = np.nan
        if why == WITHDRAWN:
            tasks.note_over(model, state, member)
        else:
            if CONSOLIDATES:
                state.task_follower[member] = -1
            wait_again(model, state, member)
        member = after
    return True


def waits_ahead(state, task):
    """Whether a task waits ahead on its unit, which has not come to it yet."""
    return AHEAD and state.task_init_us[task] > state.run[0].now_us


@called
def take_back(model, state, task):
    """Take a task back from the unit on which it waits ahead, and drop it."""
    slot, unit = not_negative(np.int64(state.task_slot[task])), not_negative(np.int64(state.task_unit[task]))
    release(model, state, task, unit, slot, False)
    state.task_unit[task] = DROPPED
    state.task_init_us[task] = state.task_start_us[task] = state.task_finish_us[task] = np.nan
    tasks.note_over(model, state, task)


def log(state, task, unit, why, is_follower):
    row = state.ended[state.run[0].n_ended]
    row.task, row.unit, row.why, row.is_follower = task, unit, why, is_follower
    row.init_us, row.start_us = state.task_init_us[task], state.task_start_us[task]
    row.end_us, row.left = state.run[0].now_us, state.task_left[task]
    state.run[0].n_ended += 1


def log_held(model, state, task):
    """Note what a task held besides its unit, in the segment that is logged next; the task no longer holds it."""
    if SEVERAL and ledger.has_classes(model):
        run = state.run[0]
        for i in range(model.task_held[task], model.task_held[task + 1]):
            if state.held_unit[i] >= 0:
                state.ended_held[run.n_ended_held, 0] = run.n_ended
                state.ended_held[run.n_ended_held, 1] = state.held_unit[i]
                state.held_unit[i] = -1
                run.n_ended_held += 1


def wait_again(model, state, task):
    """Make a task that left its unit pending again, or attach it to a task of its gang that is pending."""
    state.task_start_us[task] = np.nan
    if LATER:
        state.task_init_us[task] = np.nan
    if GANGS and is_attached_again(model, state, task):
        state.task_unit[task] = ATTACHED
    else:
        state.task_unit[task] = PENDING
        tasks.enter_pending(model, state, task)


@called
def is_attached_again(model, state, task):
    """Whether another task of its gang is pending in its place."""
    if is_of_gang(model, task):
        for other in range(model.job_first[model.task_job[task]], task):
            if state.task_unit[other] == PENDING:
                return True
    return False


@called
def end_all(model, state, task, why, keeps):
    """End the segments of a running task and of those of its gang that run."""
    if not GANGS or not is_of_gang(model, task):
        return end(model, state, task, why, keeps)
    job = model.task_job[task]
    for member in range(model.job_first[job], model.job_first[job + 1]):
        if state.task_slot[member] >= 0 and not end(model, state, member, why, keeps):
            return False
    return True
