"""The event loop. There is only one; every policy and every system of the papers runs in it.

``decide`` below stands for the policy: ``engine/binding.py`` binds the loop to one. The loop is ``run_events``; the
functions around it are its steps. Its meaning, for the reader, is in ``engine/reference.py``.
"""

import numpy as np

from vinesim.engine import preemption
from vinesim.engine.actions import arrive, finish, perform
from vinesim.engine.contract import AT_HORIZON, AT_PAUSE, BROKEN, GO_ON, NEED_ROOM, NO_EVENTS, WAIT_UNTIL_THE_PAST
from vinesim.state import event_queue
from vinesim.state.by_reference import by_reference
from vinesim.state.indexed_room import forget_found
from vinesim.state.kernel import inlined
from vinesim.state.layout import ARRIVAL, FINISH, NOTHING, PREEMPT, TIMER, View
from vinesim.state.quotas import has_task_within_quotas

PREEMPTS = False  # whether the policy preempts or moves tasks; bound with it, so that the loop of others has none of it


def decide(model, state, view):
    raise NotImplementedError("the loop is not bound to a policy")


@inlined
def next_arrival_us(model, state):
    job = state.run[0].next_job
    return model.job_arrival_us[job] if job < model.job_arrival_us.shape[0] else np.inf


@inlined
def has_log_room(state):
    """Whether the log of early ends has room for the segments of all running tasks, and all that they hold."""
    run = state.run[0]
    n_running = run.n_arrived - run.n_done - run.n_pending
    n_held = state.held_unit.shape[0]
    return run.n_ended + n_running <= state.ended.shape[0] and run.n_ended_held + n_held <= state.ended_held.shape[0]


def run_events(
    model_arrays,
    state_arrays,
    options,
    scratch_arrays,
    may_overcommit,
    sees_every_event,
    horizon_us,
    pause_us,
    max_events,
):
    """Handle events until there are none, the horizon or a pause is next, or ``max_events`` were handled.

    It pauses for what is done in Python: a period of a batch policy, or an outage. The clock stays at the last event
    then: nothing may come of the pause if all tasks are over.
    Equal times are handled in the order FINISH, ARRIVAL, PERIOD, TIMER; but of what was done between events the policy
    hears at once, before tasks that end at this instant because of it. After each event the policy is asked until it
    wants nothing more; it is not asked while nothing is pending, while no unit has room unless it may over-commit, or
    while quotas leave no room for any pending task. A policy that sees every event is asked at least once after each,
    whatever is pending, and even if no unit has room; one that preempts is asked even if neither has room. It stops
    before an event that could end more segments than the log has room for.
    """
    model, state, scratch = by_reference(model_arrays), by_reference(state_arrays), by_reference(scratch_arrays)
    run = state.run[0]
    asks_when_full = may_overcommit or sees_every_event or PREEMPTS
    for _ in range(max_events):
        if PREEMPTS and not has_log_room(state):
            return NEED_ROOM
        finish_us, arrival_us = event_queue.next_us(state), next_arrival_us(model, state)
        now = min(min(finish_us, arrival_us), min(pause_us, run.timer_us))
        if now == np.inf:
            return NO_EVENTS
        if now > horizon_us:
            return AT_HORIZON
        if pause_us == now and finish_us > now and arrival_us > now:
            return AT_PAUSE
        run.now_us = now
        unit, job, task = np.int64(-1), np.int64(-1), np.int64(-1)
        if run.to_ask:
            event = run.to_ask
            run.timer_us = np.inf
            run.to_ask = 0
        elif finish_us == now:
            event = FINISH
            task = np.int64(event_queue.pop(model, state))
            unit = finish(model, state, task)
            if unit < 0:
                return BROKEN
        elif arrival_us == now:
            event = ARRIVAL
            job = arrive(model, state)
        else:
            event = TIMER
            run.timer_us = np.inf
        run.n_events += 1
        view = View(now, event, unit, job, task, options, scratch)
        must_ask = sees_every_event
        while must_ask or (
            run.n_pending > 0
            and (asks_when_full or run.n_with_room > 0)
            and (PREEMPTS or has_task_within_quotas(model, state))
        ):
            must_ask = False
            forget_found(model, state)
            action = decide(model, state, view)
            if action.kind == NOTHING:
                run.timer_us = action.until_us
                if not action.until_us > now:
                    run.error, run.error_task = WAIT_UNTIL_THE_PAST, -1
                    return BROKEN
                break
            if PREEMPTS and action.kind >= PREEMPT:
                if not preemption.stop(model, state, action):
                    return BROKEN
                if action.kind == PREEMPT:
                    continue
            if not perform(model, state, action, may_overcommit):
                return BROKEN
        if run.n_pending == 0:
            run.timer_us = np.inf  # the waiting tasks have started
    return GO_ON
