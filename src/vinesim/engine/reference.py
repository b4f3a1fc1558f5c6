"""The reference engine: the same meaning in plain Python, for the reader. No index, no Numba, no speed.

Every question looks at every unit and every pending task. Property tests require the task tables of this engine and of
the compiled one to be equal bit for bit. The loop is ``run_events``; the functions before it are its steps. What they
change is in ``engine/reference_state.py``.
"""

import math
from typing import Any

from vinesim.engine.contract import BrokenContract, decision, place_of
from vinesim.engine.reference_ends import hand_on, release, stop
from vinesim.engine.reference_state import ReferenceState
from vinesim.engine.reference_trial import attached_to
from vinesim.state import layout, queries
from vinesim.state.layout import Action, View
from vinesim.state.power import is_held_back


def start(state: ReferenceState, action: Action, may_overcommit: bool) -> None:
    """Start the tasks of an action, or drop its task, after checking that the policy may ask for it."""
    task, unit = action.task, action.unit
    check(state, action, may_overcommit)
    if action.kind == layout.DROP:
        for dropped in [task, *attached_to(state, task)]:
            state.task_unit[dropped], state.task_finish_us[dropped] = layout.DROPPED, state.now_us
        state.pending.remove(task)
        return
    group = state.group_of(task)
    started = [task]
    if action.n_tasks > 1:
        started = [t for t in state.pending if state.group_of(t) == group][: action.n_tasks]
    place = state.place_of(task, unit)
    assert place is not None
    for member, own in place.items():
        begin(state, [one + member - task for one in started], own)
    for one in started:
        state.pending.remove(one)


def begin(state: ReferenceState, started: list[int], unit: int) -> None:
    """Start tasks on a unit, consolidated if they are several."""
    model, task = state.model, started[0]
    if unit in state.engines.of_unit:
        transfer = queries.transfer_us(model, state, task, unit)
        state.task_unit[task], state.followers[task] = unit, []
        state.task_init_us[task], state.task_start_us[task] = state.now_us, state.now_us + transfer
        state.task_finish_us[task] = math.inf
        if task in state.engines.prefilled:
            state.check_time([task], unit, transfer, state.task_start_us[task])
            state.queue(task, state.task_start_us[task])
        state.engines.start(task, unit)
        state.running[unit].append(task)
        state.hold_all(task, unit)
        return
    transfer = execution = share = 0.0
    for one in started:
        left = state.task_left.get(one, 1.0)
        overhead = model.overhead_us[model.unit_type[unit], state.task_type_of(task)] if one != task else 0.0
        transfer += queries.transfer_us(model, state, one, unit)
        execution += (queries.execution_us(model, state, one, unit) - overhead) * left
        share += left
    if len(started) > 1:
        execution = queries.consolidated_us(
            model, state, task, model.unit_type[unit], len(started), execution, share / len(started)
        )
    if len(model.task_factor):
        execution *= model.task_factor[task]
    init_us, start_us = state.ahead.times(started, unit, transfer)
    if state.ahead.is_possible(unit):
        transfer = start_us - init_us
    execution, finish_us = state.progress.begin(started, transfer, start_us, execution)
    state.check_time(started, unit, transfer + execution, finish_us)
    for one in started:
        state.task_unit[one], state.task_init_us[one], state.task_start_us[one] = unit, init_us, start_us
        state.task_finish_us[one] = math.inf if state.is_shared(unit) else finish_us
    state.followers[task] = started[1:]
    if state.is_shared(unit):
        state.advance_work(unit)
        state.work_due[task] = state.work_done[unit] + (transfer + execution)
    elif finish_us < math.inf:
        state.queue(task, finish_us)
    state.running[unit].append(task)
    state.hold_all(task, unit)
    if state.is_shared(unit):
        state.requeue_first(unit)
    state.ahead.offer(unit)
    state.quotas.count(task, unit, 1)
    state.draws.note_peaks()


def check(state: ReferenceState, action: Action, may_overcommit: bool) -> None:
    """Raise BrokenContract with the number of the first rule that the action breaks (state/layout.py)."""
    model, task, unit = state.model, action.task, action.unit
    n_arrived = int(model.job_first[state.next_job])
    rule = 0
    if task < 0 or task >= n_arrived:
        rule = layout.UNKNOWN_TASK
    elif state.task_unit[task] != layout.PENDING:
        rule = layout.IS_ATTACHED if state.task_unit[task] == layout.ATTACHED else layout.NOT_PENDING
    elif action.kind == layout.DROP:
        rule = 0
    elif not 0 <= unit < len(model.unit_type):
        rule = layout.UNKNOWN_UNIT
    elif model.affinity[model.unit_type[unit], state.task_type_of(task)] <= 0:
        rule = layout.CANNOT_RUN
    elif not queries.is_up(model, state, unit):
        rule = layout.IS_DOWN
    elif not queries.is_in_partition(model, state, task, unit):
        rule = layout.OUTSIDE_PARTITION
    elif not queries.is_within_quotas(model, state, task):
        rule = layout.OVER_QUOTA
    elif not queries.reservations_allow(model, state, task, unit):
        rule = layout.IS_RESERVED
    elif not queries.has_role(model, state, task, unit):
        rule = layout.OTHER_ROLE
    elif not may_overcommit and not queries.fits(model, state, task, unit):
        is_over = is_held_back(model, state, task, unit)
        rule = layout.OVER_CAP if is_over else layout.NO_ROOM
    elif may_overcommit and len(model.class_units) and not queries.rest_fits(model, state, task, unit):
        rule = layout.NO_ROOM_FOR_THE_REST
    elif action.n_tasks != 1 and unit in state.engines.of_unit:
        rule = layout.ON_ENGINE
    elif action.n_tasks != 1:
        is_head = queries.first_pending(model, state, state.group_of(task)) == task
        most = queries.joinable(model, state, task, action.n_tasks)
        if action.n_tasks < 1 or not is_head or most < action.n_tasks:
            rule = layout.NOT_A_HEAD
    if rule:
        raise BrokenContract(rule, task, unit)


def finish(state: ReferenceState) -> tuple[int, int, int]:
    """COMPUTATION_FINISH: remove the task that finishes earliest from its unit. Returns the event and both.

    Or let a cache come to a serving engine, which is a TIMER.
    """
    if state.next_queued_us() == state.now_us:
        task = min(state.time_machine, key=lambda one: state.time_machine[one])
        del state.time_machine[task]
        if state.task_unit[task] in state.engines.of_unit:
            state.engines.receive(task)
            return layout.TIMER, -1, -1
    else:
        task = state.engines.finish()
        state.task_finish_us[task] = state.now_us
    unit = state.task_unit[task]
    if state.engines.is_only_prefilled(task):
        hand_on(state, task)
        return layout.FINISH, task, unit
    state.progress.note_finish(task)
    release(state, task)
    for follower in state.followers[task]:
        state.task_finish_us[follower] = state.now_us
    return layout.FINISH, task, unit


def arrive(state: ReferenceState) -> int:
    """ARRIVAL: let the next job arrive. Returns the job."""
    job = state.dependencies.next_job()
    tasks = range(int(state.model.job_first[job]), int(state.model.job_first[job + 1]))
    state.dependencies.arrive(job, tasks)
    state.pending += [task for task in tasks if state.task_unit[task] == layout.PENDING]
    state.pending.sort()  # a job that waited for others comes before younger ones
    return job


def run_events(run: Any, horizon_us: float, pause_us: float, max_events: int) -> int:
    """Handle events of a run in the order (time, kind, sequence); return why it stopped, like core/loop.py."""
    state, model = run.state, run.state.model
    asks_when_full = run.may_overcommit or run.sees_every_event or run.preempts
    has_clock = run.preempts and run.sees_every_event  # its timer is for running tasks too
    for _ in range(max_events):
        arrival_us = state.next_arrival_us()
        now = state.engines.run_until(min(state.next_queued_us(), arrival_us, pause_us, state.timer_us), horizon_us)
        finish_us = state.next_finish_us()
        if now == math.inf:
            return layout.NO_EVENTS
        if now > horizon_us:
            return layout.AT_HORIZON
        if pause_us == now and finish_us > now and arrival_us > now:
            return layout.AT_PAUSE
        state.now_us = now
        unit = job = task = -1
        if state.to_ask:
            event, state.to_ask, state.timer_us = state.to_ask, 0, math.inf
        elif finish_us == now:
            event, task, unit = finish(state)
        elif arrival_us == now:
            event, job = layout.ARRIVAL, arrive(state)
        else:
            event, state.timer_us = layout.TIMER, math.inf
        state.n_events += 1
        view = View(now, event, unit, job, task, run.options, run.scratch)
        must_ask = run.sees_every_event
        while must_ask or (
            state.pending and (asks_when_full or has_room(state)) and (run.preempts or is_any_within_quotas(state))
        ):
            must_ask = has_clock
            action = decision(run.decide, model, state, view)
            try:
                if action.kind == layout.NOTHING:
                    state.timer_us = action.until_us
                    if not action.until_us > now:
                        raise BrokenContract(layout.WAIT_NOT_LATER, -1, -1)
                    break
                if action.kind >= layout.PREEMPT:
                    stop(state, action)
                if action.kind != layout.PREEMPT:
                    start(state, action, run.may_overcommit)
            except BrokenContract as broken:
                broken.place = place_of(run.decide, model, state, view, action)
                raise
        if not state.pending and not has_clock:
            state.timer_us = math.inf  # the waiting tasks have started
    return layout.GO_ON


def is_any_within_quotas(state: ReferenceState) -> bool:
    """Whether the quotas leave room for a pending task."""
    return len(state.model.quota_limit) == 0 or queries.oldest_pending(state.model, state) >= 0


def has_room(state: ReferenceState) -> bool:
    """Whether any unit's load is below its capacity."""
    return any(load < capacity * layout.FULL for load, capacity in zip(state.unit_load, state.unit_open, strict=True))
