"""The event loop: the next event happens, then the policy is called until it wants nothing more.

``decide`` stands for the policy, to which ``core/special.py`` binds the loop; so do the two functions that find its
options and its own arrays. The meaning, for the reader, is in engine/reference.py.
"""

import numpy as np

from vinesim.core import actions, calendar, changes, segments, tasks
from vinesim.core.actions import act, note_answer, stop
from vinesim.core.calendar import DONE, next_engine_end_us
from vinesim.core.features import (
    BATCH,
    BATCHING,
    CHAINS,
    CHANGES,
    DISAGGREGATED,
    LIVE,
    OVERCOMMITS,
    PLACED,
    PREEMPTS,
    QUOTAS,
    SEES_ALL,
)
from vinesim.core.laws import batching
from vinesim.core.rooms import forget_found
from vinesim.jit.intrinsics import not_negative
from vinesim.jit.reference import by_reference
from vinesim.state import queries
from vinesim.state.layout import (
    ARRIVAL,
    AT_HORIZON,
    AT_PAUSE,
    BROKEN,
    FINISH,
    GO_ON,
    NEED_CHANGES,
    NEED_ROOM,
    NO_EVENTS,
    NOTHING,
    PREEMPT,
    TIMER,
    WAIT_NOT_LATER,
    View,
)


def decide(model, state, view):
    raise NotImplementedError("the loop is not bound to a policy")


record = scratch_of = decide  # what is at an address: the policy's options, its arrays


def options_of(decide_at, options_at):
    return record(options_at)


def run_events(model_arrays, state_arrays, decide_at, options_at, scratch_at, horizon_us, pause_us, max_events):
    """Handle events until there are none, the horizon or a pause is next, or ``max_events`` were handled.

    The addresses are those of what is the policy's own. It pauses for the periods of a batch policy; the clock
    stays at the last event then. It stops before an event that could end more segments than the log has room for.

    Equal times are handled in the order FINISH, ARRIVAL, changes and pauses, TIMER; but about changes the policy is
    called at once, before segments that end at this instant because of them. After each event the policy is called
    until it wants nothing more; it is not called while nothing is pending, while no unit has room unless it may
    over-commit, or while quotas leave no room for any pending task. A policy that sees every event is called at least
    once after each, whatever is pending, and even if no unit has room; one that preempts is called even if neither has
    room. One that does both is called until it wants nothing more, whatever is pending, and its timer holds.
    """
    model, state = by_reference(model_arrays), by_reference(state_arrays)
    run, options, scratch = state.run[0], options_of(decide_at, options_at), scratch_of(scratch_at)
    if (BATCH or PLACED) and not actions.carry_out(model, state):
        return BROKEN
    for _ in range(max_events):
        if (PREEMPTS or CHANGES or DISAGGREGATED) and not has_log_room(state):
            return NEED_ROOM
        finish_us, arrival_us = calendar.next_us(state), tasks.next_arrival_us(model, state)
        change_us = changes.next_us(state) if CHANGES else np.inf
        now = min(min(finish_us, arrival_us), min(min(pause_us, change_us), run.timer_us))
        if BATCHING:
            queued_us, now = finish_us, batching.run_until(model, state, now, horizon_us)
            finish_us = min(finish_us, next_engine_end_us(state, DONE))
            if now < 0.0:
                return BROKEN
        if now == np.inf:
            return NO_EVENTS
        if now > horizon_us:
            return AT_HORIZON
        if pause_us == now and finish_us > now and arrival_us > now:
            return AT_PAUSE
        if CHANGES and change_us == now and finish_us > now and arrival_us > now:
            if run.n_done == model.task_operations.shape[0]:
                return NO_EVENTS
            if changes.is_over(state) and min(finish_us, arrival_us) == np.inf and run.timer_us == np.inf:
                return NO_EVENTS
            if changes.are_to_be_drawn(state):
                return NEED_CHANGES
            if not changes.happen(model, state):
                return BROKEN
            continue
        run.now_us = now
        unit, job, task = np.int64(-1), np.int64(-1), np.int64(-1)
        if (CHANGES or PLACED) and run.to_ask != 0:
            event = np.int64(run.to_ask)
            run.to_ask, run.timer_us = 0, np.inf
        elif finish_us == now:
            event = np.int64(FINISH)
            is_done = BATCHING and queued_us > now
            slot = batching.pop_done(model, state) if BATCHING and is_done else calendar.pop(model, state)
            if DISAGGREGATED and not is_done and batching.is_engine(model, state.slot[slot].unit):
                event = np.int64(TIMER)
                batching.receive(model, state, slot)
            else:
                task = segments.finish(model, state, slot)
                if task < 0:
                    return BROKEN
                if CHAINS and run.n_pending == 0 and not sees_all(state):  # then no policy is called in between
                    task = drain(model, state, task)
                unit = np.int64(state.task_unit[task])
                if DISAGGREGATED and unit < 0:  # it is pending again
                    unit = np.int64(state.task_prefilled[task])
        elif arrival_us == now:
            event, job = np.int64(ARRIVAL), np.int64(tasks.arrive(model, state))
        else:
            event = np.int64(TIMER)
            run.timer_us = np.inf
        run.n_events += 1
        if not ask(model, state, View(now, event, unit, job, task, options, scratch), sees_all(state)):
            return BROKEN
    return GO_ON


def sees_all(state):
    """Whether the policy is called after every event."""
    return SEES_ALL and state.run[0].sees_all != 0


def ask(model, state, view, must_ask):
    """Ask the policy until it wants nothing more, at least once if that ``must_ask``. Returns whether all that it
    wanted was legal."""
    run = state.run[0]
    has_clock = PREEMPTS and sees_all(state)  # its timer is for running tasks too
    asks_when_full = PREEMPTS or sees_all(state) or (OVERCOMMITS and run.overcommits != 0)
    while must_ask or (
        run.n_pending > 0
        and (asks_when_full or run.n_with_room > 0)
        and (PREEMPTS or not QUOTAS or queries.oldest_pending(model, state) >= 0)
    ):
        must_ask = has_clock
        forget_found(state)
        action = decide(model, state, view)
        if action.kind == NOTHING:
            run.timer_us = action.until_us
            if not action.until_us > run.now_us:
                run.error, run.error_task = WAIT_NOT_LATER, -1
                return False
            break
        if PREEMPTS and action.kind >= PREEMPT:
            if not stop(model, state, action):
                return False
            if action.kind == PREEMPT:
                continue
        if not act(model, state, action):
            return False
        if LIVE:
            note_answer(state, action.kind, action.task)
    if run.n_pending == 0 and not has_clock:
        run.timer_us = np.inf  # the waiting tasks have started
    return True


def drain(model, state, task):
    """End all segments that are chained to the last one taken. Returns the last task."""
    run, n_events = state.run[0], np.int64(0)
    slot = run.chained
    while slot >= 0:
        slot = not_negative(slot)
        following = np.int64(state.slot[slot].chain)
        task = segments.finish(model, state, slot)
        n_events += 1
        slot = following
    run.chained = -1
    run.n_events += n_events
    return task


def has_log_room(state):
    """Whether the log of early ends has room for the segments of all running tasks, and all that they hold."""
    run = state.run[0]
    n_running = run.n_arrived - run.n_done - run.n_pending
    n_held = state.held_unit.shape[0]
    return run.n_ended + n_running <= state.ended.shape[0] and run.n_ended_held + n_held <= state.ended_held.shape[0]
