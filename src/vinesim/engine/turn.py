"""One turn of a live scheduler: what has happened, in order, and then all that may start.

It is what ``engine/loop.py`` is to a run: here events come from outside, and nothing is predicted, so there is no event
queue. ``decide`` and ``renumbered`` stand for the policy. Its meaning, for the reader, is in ``live/decider.py``.
"""

import numpy as np

from vinesim.engine.actions import broken_rule, drop_attached, is_of_gang, set_open_unit, take_from_group
from vinesim.engine.contract import BROKEN, GO_ON, WAIT_UNTIL_THE_PAST
from vinesim.model.workload import NO_GANG
from vinesim.state import queries
from vinesim.state.bits import insert
from vinesim.state.by_reference import by_reference
from vinesim.state.gang_members import forget_places, next_member, unit_of_member
from vinesim.state.gangs import settle
from vinesim.state.holding import count_task, set_load
from vinesim.state.indexed_room import forget_found
from vinesim.state.joining import link
from vinesim.state.kernel import inlined, kernel, not_negative
from vinesim.state.layout import (
    ARRIVAL,
    ATTACHED,
    DROP,
    DROPPED,
    FINISH,
    NOTHING,
    OF_REQUEST,
    PENDING,
    START,
    TIMER,
    Action,
    View,
)
from vinesim.state.window import ARRIVE, CLOSE, END, FREE, OPEN, RENUMBERED, WITHDRAW


def decide(model, state, view):
    raise NotImplementedError("the turn is not bound to a policy")


def renumbered(model, state, view):
    raise NotImplementedError("the turn is not bound to a policy")


@kernel
def enter(model, state, window, operation):
    """ARRIVAL: a request becomes pending, at the end of the chain of its group. Returns its job."""
    run, a = state.run[0], operation.number
    job, first = run.next_job, run.n_arrived
    group, end = window.application_group[a], first + window.application_size[a]
    window.job_arrival_us[job] = operation.arrived_us
    window.job_arrival_us[job + 1] = np.inf
    times = operation.size if window.application_per_size[a] else 1.0
    window.job_deadline_us[job] = operation.arrived_us + window.application_due_us[a] * times
    window.job_request[job] = window.n_requests[0]
    window.job_application[job] = a
    window.job_gang[job] = OF_REQUEST if end > first + 1 else NO_GANG
    window.n_requests[0] += 1
    for task in range(first, end):
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
        state.task_unit[task] = PENDING if task == first else ATTACHED
    if state.group_pending[group] == 0:
        state.group_head[group] = first
        insert(state.heads, state.heads_1, state.heads_2, 0, first)
    state.group_pending[group] += 1
    run.n_pending += 1
    window.job_first[job + 1] = end
    run.next_job, run.n_arrived = job + 1, end
    return job


@kernel
def _put(model, state, task, unit):
    """Start a task on a unit, with those that are linked behind it; when they end is unknown."""
    now, other = state.run[0].now_us, np.int64(task)
    while other >= 0:
        if other != task and state.task_unit[other] == PENDING:  # else it is attached to one that was
            state.group_pending[not_negative(model.task_group[other])] -= 1
            state.run[0].n_pending -= 1
        state.task_unit[other] = unit
        state.task_init_us[other] = now
        state.task_start_us[other] = now
        state.task_finish_us[other] = np.inf
        other = np.int64(state.task_follower[other])
    set_load(model, state, unit, state.unit_load[unit] + queries.demand(model, state, task, unit))
    count_task(model, state, task, unit, 1)


@kernel
def put(model, state, task, unit, n_tasks):
    """Start a task on a unit, with the n_tasks - 1 that follow it in its group, and those that are attached to them."""
    link(model, state, task, n_tasks)
    member, own = np.int64(task), np.int64(unit)
    settle(model, state, task, unit)
    while member >= 0:
        following = next_member(model, state, member) if is_of_gang(model, state, task) else np.int64(-1)
        _put(model, state, member, own)
        member = following
        own = unit_of_member(model, state, member) if member >= 0 else own
    forget_places(model, state)


@inlined
def give_up(model, state, task):
    """Note that a pending task never starts, nor what is attached to it."""
    state.task_unit[task] = DROPPED
    drop_attached(model, state, task)
    take_from_group(model, state, task)


@kernel
def withdraw(model, state, window, request):
    """Let a request wait no more. Returns its first task; -1 if it does not wait."""
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
    give_up(model, state, first)
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
def note_member(state, window, task, member, answer):
    """Write to an answer where a task of a gang started, the first of them or another one."""
    answer.kind, answer.task, answer.unit, answer.member = START, task, state.task_unit[task], member
    answer.application, answer.n_requests = window.job_application[window.task_job[task]], 0


@kernel
def note(model, state, window, action, answers, n_answers, requests, n_requests):
    """Write an action that was carried out to the answers. Returns how many requests there are now."""
    task, one = np.int64(action.task), answers[n_answers]
    note_member(state, window, task, 0, one)
    one.kind = action.kind
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
    may_grant,
):
    """Do the operations, and ask the policy after each event until it wants nothing more, as a run does; it sees that
    more comes at this instant until the last. Without an event it is asked once. Returns why it stopped, and the number
    of answers.

    If nothing may be granted yet, only a policy that sees every event is asked, and more may still come after the last
    one. ``answers`` and ``requests`` have room for all tasks of the window.
    """
    model, state, scratch = by_reference(model_arrays), by_reference(state_arrays), by_reference(scratch_arrays)
    window = by_reference(window_arrays)
    run = state.run[0]
    asks_when_full = may_overcommit or sees_every_event
    n_answers, n_requests = np.int64(0), np.int64(0)
    event, unit, job, task = np.int64(TIMER), np.int64(-1), np.int64(-1), np.int64(-1)
    n_operations, is_over = operations.shape[0], False
    for i in range(n_operations + 1):
        is_event = i < n_operations
        forget_places(model, state)
        if is_event:
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
                    n_requests = note(model, state, window, action, answers, n_answers, requests, n_requests)
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
            if not (may_grant or sees_every_event):
                continue
            is_over = may_grant and i == n_operations - 1
            window.job_arrival_us[run.next_job] = np.inf if is_over else run.now_us
        elif is_over or not may_grant:
            break
        view = View(run.now_us, event, unit, job, task, options, scratch)
        must_ask = is_event and sees_every_event
        while must_ask or (run.n_pending > 0 and (asks_when_full or run.n_with_room > 0)):
            must_ask = False
            forget_found(model, state)
            action = decide(model, state, view)
            if action.kind == NOTHING:
                run.timer_us = action.until_us
                if not action.until_us > run.now_us:
                    run.error, run.error_task = WAIT_UNTIL_THE_PAST, -1
                    return BROKEN, n_answers
                break
            rule = broken_rule(model, state, action, may_overcommit)
            if rule != 0:
                run.error, run.error_task, run.error_unit = rule, action.task, action.unit
                return BROKEN, n_answers
            chosen = not_negative(action.task)
            if action.kind == DROP:
                give_up(model, state, chosen)
            else:
                put(model, state, chosen, not_negative(action.unit), action.n_tasks)
                take_from_group(model, state, chosen)
            n_requests = note(model, state, window, action, answers, n_answers, requests, n_requests)
            n_answers += 1
            end = window.job_first[window.task_job[chosen] + 1] if action.kind == START else chosen
            for member in range(chosen + 1, end):
                note_member(state, window, member, member - chosen, answers[n_answers])
                n_answers += 1
        window.job_arrival_us[run.next_job] = np.inf
        event, unit, job, task = np.int64(TIMER), np.int64(-1), np.int64(-1), np.int64(-1)
        if run.n_pending == 0:
            run.timer_us = np.inf
    return GO_ON, n_answers
