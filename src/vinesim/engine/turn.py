"""One turn of a live scheduler: what has happened, in order, and then all that may start.

It is what ``engine/loop.py`` is to a run: here events come from outside, and nothing is predicted, so there is no event
queue. ``decide`` and ``renumbered`` stand for the policy. Its meaning, for the reader, is in ``live/decider.py``.
"""

import numpy as np

from vinesim.engine.actions import broken_rule, next_of_group, set_open_unit, take_from_group
from vinesim.engine.contract import BROKEN, GO_ON, IN_PART, WAIT_UNTIL_THE_PAST
from vinesim.state import queries
from vinesim.state.bits import insert
from vinesim.state.by_reference import by_reference
from vinesim.state.holding import count_task, set_load
from vinesim.state.kernel import inlined, kernel, not_negative
from vinesim.state.layout import ARRIVAL, DROP, DROPPED, FINISH, NOTHING, PENDING, START, TIMER, Action, View
from vinesim.state.window import ARRIVE, CLOSE, END, FREE, OPEN, RENUMBERED, WITHDRAW


def decide(model, state, view):
    raise NotImplementedError("the turn is not bound to a policy")


def renumbered(model, state, view):
    raise NotImplementedError("the turn is not bound to a policy")


@kernel
def enter(model, state, window, operation):
    """ARRIVAL: a request becomes pending, at the end of the chains of its groups. Returns its job."""
    run, a = state.run[0], operation.number
    job, task = run.next_job, run.n_arrived
    window.job_arrival_us[job] = operation.arrived_us
    window.job_arrival_us[job + 1] = np.inf
    times = operation.size if window.application_per_size[a] else 1.0
    window.job_deadline_us[job] = operation.arrived_us + window.application_due_us[a] * times
    window.job_request[job] = window.n_requests[0]
    window.job_application[job] = a
    window.n_requests[0] += 1
    for member in range(window.application_first[a], window.application_first[a + 1]):
        group = window.member_group[member]
        window.task_job[task] = job
        window.task_operations[task] = operation.size
        window.task_demand[task] = window.application_demand[a]
        window.task_group[task] = group
        window.task_next[task] = window.task_job.shape[0]
        for q in range(window.task_request.shape[1]):
            window.task_request[task, q] = window.application_request[a, q]
        if window.group_tail[group] >= 0:
            window.task_next[window.group_tail[group]] = task
        window.group_tail[group] = task
        if state.group_pending[group] == 0:
            state.group_head[group] = task
            insert(state.heads, state.heads_1, state.heads_2, 0, task)
        state.group_pending[group] += 1
        run.n_pending += 1
        task += 1
    window.job_first[job + 1] = task
    run.next_job, run.n_arrived = job + 1, task
    return job


@inlined
def _put(state, task, unit):
    now = state.run[0].now_us
    state.task_unit[task] = unit
    state.task_init_us[task] = now
    state.task_start_us[task] = now
    state.task_finish_us[task] = np.inf


@inlined
def put(model, state, task, unit, n_tasks):
    """Start a task on a unit, with the n_tasks - 1 that follow it in its group; when they end is unknown."""
    last, follower = task, task
    for _ in range(n_tasks - 1):
        follower = next_of_group(model, state, follower)
        state.task_follower[last] = follower
        last = follower
    _put(state, task, unit)
    follower = state.task_follower[task]
    while follower >= 0:
        _put(state, follower, unit)
        state.group_pending[not_negative(model.task_group[follower])] -= 1
        state.run[0].n_pending -= 1
        follower = state.task_follower[follower]
    set_load(model, state, unit, state.unit_load[unit] + queries.demand(model, state, task, unit))
    count_task(model, state, task, unit, 1)


@inlined
def remove(state, task):
    """Note that a pending task never starts."""
    state.task_unit[task] = DROPPED


@kernel
def withdraw(model, state, window, request):
    """Let the tasks of a request wait no more. Returns the first of them; -1 if it does not wait."""
    low, high = np.int64(1), state.run[0].next_job
    while low < high:
        middle = (low + high) >> 1
        if window.job_request[middle] < request:
            low = middle + 1
        else:
            high = middle
    first = window.job_first[low]
    if low == state.run[0].next_job or window.job_request[low] != request or state.task_unit[first] != PENDING:
        return np.int64(-1)
    for task in range(first, window.job_first[low + 1]):
        remove(state, task)
        take_from_group(model, state, task)
    return np.int64(first)


@kernel
def free(model, state, task):
    """Remove a task and its followers from their unit. Returns the unit."""
    unit = not_negative(np.int64(state.task_unit[task]))
    count_task(model, state, task, unit, -1)
    load = state.unit_load[unit] - queries.demand(model, state, task, unit) if state.unit_tasks[unit] > 0 else 0.0
    set_load(model, state, unit, load)
    other = np.int64(task)
    while other >= 0:
        state.task_finish_us[other] = state.run[0].now_us
        other = np.int64(state.task_follower[other])
    return unit


@kernel
def note(model, state, window, action, member, answers, n_answers, requests, n_requests):
    """Write an action that was carried out to the answers. Returns how many requests there are now."""
    task, job = np.int64(action.task), window.task_job[action.task]
    one = answers[n_answers]
    one.kind, one.task, one.unit, one.member = action.kind, task, action.unit, member
    one.application, one.n_requests = window.job_application[job], 0
    if member > 0:
        return n_requests
    while task >= 0:
        requests[n_requests] = window.job_request[window.task_job[task]]
        n_requests += 1
        one.n_requests += 1
        task = np.int64(state.task_follower[task]) if action.kind == START else np.int64(-1)
    return n_requests


def run_turn(
    model_arrays,
    state_arrays,
    window_arrays,
    options,
    scratch_arrays,
    operations,
    answers,
    requests,
    may_overcommit,
    sees_every_event,
    starts_gangs,
    may_grant,
):
    """Do the operations, then ask the policy until it wants nothing more. Returns why it stopped, and the number of
    answers.

    A policy that sees every event is asked after each, and told that more may follow at this instant. The members of a
    gang must start one right after another. ``answers`` and ``requests`` have room for all tasks of the window.
    """
    model, state, scratch = by_reference(model_arrays), by_reference(state_arrays), by_reference(scratch_arrays)
    window = by_reference(window_arrays)
    run = state.run[0]
    asks_when_full = may_overcommit or sees_every_event
    n_answers, n_requests = np.int64(0), np.int64(0)
    first, member, count = np.int64(-1), np.int64(0), np.int64(0)  # of the gang that is being started
    event, unit, job, task = np.int64(TIMER), np.int64(-1), np.int64(-1), np.int64(-1)
    n_operations = operations.shape[0]
    for i in range(n_operations + 1):
        is_told = i < n_operations
        if is_told:
            one = operations[i]
            kind = one.kind
            if kind in (OPEN, CLOSE):
                set_open_unit(model, state, one.number, kind == OPEN)
                continue
            if kind == RENUMBERED:
                renumbered(model, state, View(run.now_us, event, unit, job, task, options, scratch))
                continue
            if kind == FREE:
                free(model, state, one.number)
                continue
            if kind == WITHDRAW:
                withdrawn = withdraw(model, state, window, one.number)
                if withdrawn >= 0:
                    action = Action(NOTHING, withdrawn, 0, -1, np.inf)
                    n_requests = note(model, state, window, action, 0, answers, n_answers, requests, n_requests)
                    n_answers += 1
                continue
            event, unit, job, task = np.int64(TIMER), np.int64(-1), np.int64(-1), np.int64(-1)
            if kind == ARRIVE:
                event, job = np.int64(ARRIVAL), np.int64(enter(model, state, window, one))
            elif kind == END:
                event, task = np.int64(FINISH), np.int64(one.number)
                unit = np.int64(free(model, state, task))
            else:
                event = np.int64(one.number)
            if not sees_every_event:
                continue
            window.job_arrival_us[run.next_job] = run.now_us
        elif not may_grant:
            break
        view = View(run.now_us, event, unit, job, task, options, scratch)
        must_ask = is_told
        while must_ask or first >= 0 or (run.n_pending > 0 and (asks_when_full or run.n_with_room > 0)):
            action = decide(model, state, view)
            if action.kind == NOTHING:
                if first >= 0:
                    run.error, run.error_task = IN_PART, first
                    return BROKEN, n_answers
                run.timer_us = action.until_us
                if not action.until_us > run.now_us:
                    run.error, run.error_task = WAIT_UNTIL_THE_PAST, -1
                    return BROKEN, n_answers
                break
            rule = broken_rule(model, state, action, may_overcommit)
            if rule == 0 and first >= 0 and (action.task != first + member or action.n_tasks != count):
                rule = IN_PART
            if rule != 0:
                run.error, run.error_task, run.error_unit = rule, action.task, action.unit
                return BROKEN, n_answers
            chosen = not_negative(action.task)
            if action.kind == DROP:
                remove(state, chosen)
            else:
                put(model, state, chosen, not_negative(action.unit), action.n_tasks)
            take_from_group(model, state, chosen)
            of_job = window.task_job[chosen]
            is_first = chosen == window.job_first[of_job]
            if action.kind == START or is_first:
                n_requests = note(model, state, window, action, member, answers, n_answers, requests, n_requests)
                n_answers += 1
            if action.kind == START and starts_gangs:
                if first < 0:
                    first, count = np.int64(chosen), np.int64(action.n_tasks)
                member += 1
                if first + member == window.job_first[of_job + 1]:
                    first, member = np.int64(-1), np.int64(0)
        if is_told:
            window.job_arrival_us[run.next_job] = np.inf
            event, unit, job, task = np.int64(TIMER), np.int64(-1), np.int64(-1), np.int64(-1)
        elif run.n_pending == 0:
            run.timer_us = np.inf
    return GO_ON, n_answers
