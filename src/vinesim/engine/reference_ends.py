"""How segments end early in the reference engine: the twin of core/segments.py and core/laws."""

import math
from typing import Any

from vinesim.engine.contract import BrokenContract
from vinesim.engine.reference_trial import is_of_gang
from vinesim.model.result import MOVED, PREEMPTED, PREFILLED, WITHDRAWN
from vinesim.state import layout, queries
from vinesim.state.expected import limit_us as limit_on_unit_us
from vinesim.state.layout import ATTACHED, DROPPED, HELD, MOVE, PENDING, RESTART, RESUME, Action
from vinesim.state.places import gang_of


class Progress:
    """How far running tasks have come, and the log of early ends."""

    def __init__(self, state: Any):
        self.state = state
        self.before: dict[int, float] = {}  # running leader -> us of transfer and restart before its work
        self.work: dict[int, float] = {}  # running leader -> us of work
        self.event: dict[int, int] = {}  # task -> number of the event at which it was given to a unit
        self.killed: set[int] = set()  # its limit ends it, not its finish
        self.ended: list[tuple[Any, ...]] = []  # rows of EarlyEnds
        self.ended_held: list[tuple[int, int]] = []  # (row there, unit that it held besides its own)

    def begin(self, started: list[int], transfer: float, start_us: float, work: float) -> tuple[float, float]:
        """As in core/segments.py; the leader is the first."""
        state, task, restart = self.state, started[0], 0.0
        for member in started:
            if member in self.event and len(state.model.task_restart_us):
                restart += state.model.task_restart_us[member]
            self.event[member] = state.n_events
        self.before[task], self.work[task] = transfer + restart, work
        finish_us = start_us + (restart + work)
        limit_us = state.now_us + limit_on_unit_us(state.model, task)
        if limit_us < finish_us:
            self.killed.add(task)
        return restart + work, min(finish_us, limit_us)

    def work_done_us(self, task: int) -> float:
        """As in core/segments.py."""
        state, before, work = self.state, self.before[task], self.work[task]
        unit = state.task_unit[task]
        served = state.now_us - state.task_init_us[task]
        if state.is_shared(unit):
            speed = state.speed(task, unit, state.unit_load[unit])
            done = state.work_done[unit] + (state.now_us - state.work_at_us[unit]) * speed
            served = before + work - max(0.0, state.work_due[task] - done) if work < math.inf else 0.0
        return min(max(served - before, 0.0), work)

    def share_done(self, task: int) -> float:
        """As in core/segments.py."""
        return self.work_done_us(task) / self.work[task] if self.work[task] > 0 else 0.0

    def share_kept(self, task: int, keeps: int) -> float:
        """As in core/segments.py."""
        model = self.state.model
        if keeps == RESTART:
            return 0.0
        if keeps == RESUME:
            return self.share_done(task)
        every = model.task_checkpoint_us[task] if len(model.task_checkpoint_us) else math.inf
        if not (self.work[task] > 0 and every < math.inf):
            return 0.0
        return min(math.floor(self.work_done_us(task) / every) * every / self.work[task], 1.0)

    def note_finish(self, task: int) -> None:
        """As in core/segments.py."""
        state, is_killed = self.state, task in self.killed
        kept = 1.0 - self.share_done(task) if is_killed else 0.0
        for member in [task, *state.followers[task]]:
            self.leave(member, kept)
            if is_killed:
                self.killed.add(member)

    def leave(self, task: int, kept: float) -> None:
        """Note that a task leaves its unit with a share of its work left, of what was left when it began."""
        state = self.state
        state.attained_us[task] += state.now_us - state.task_init_us[task]
        state.task_left[task] = state.task_left.get(task, 1.0) * kept

    def note_end(self, task: int, left: float, why: int, is_follower: bool = False) -> None:
        """Add the segment of a task, which ends early now, to the log."""
        state = self.state
        times = (state.task_init_us[task], state.task_start_us[task], state.now_us)
        self.ended.append((task, state.task_unit[task], *times, left, why, is_follower))

    def or_killed(self, unit: int, first: int, finish_us: float) -> tuple[int, float]:
        """As first_to_leave in core/laws/shared.py."""
        state = self.state
        running = state.running[unit]
        self.killed.difference_update(running)
        limits = [state.task_init_us[task] + limit_on_unit_us(state.model, task) for task in running]
        limit_us = min(limits)
        if not limit_us < finish_us:
            return first, finish_us
        killed = running[limits.index(limit_us)]
        self.killed.add(killed)
        return killed, max(limit_us, state.now_us)


def release(state: Any, task: int) -> None:
    """Remove a task from its unit, and from the others that it holds."""
    unit = state.task_unit[task]
    state.time_machine.pop(task, None)
    if state.is_shared(unit):
        state.advance_work(unit)
    state.running[unit].remove(task)
    state.let_go(task)
    if state.is_shared(unit):
        state.requeue_first(unit)
    state.ahead.offer(unit)
    state.quotas.count(task, unit, -1)


def release_early(state: Any, task: int) -> None:
    """Remove a task in the same way before it is done."""
    unit = state.task_unit[task]
    behind = state.running[unit][state.running[unit].index(task) + 1 :] if state.ahead.is_possible(unit) else []
    release(state, task)
    if behind:
        state.ahead.close_up(unit, behind)


def take_back(state: Any, task: int) -> None:
    """Drop a task that waits on its unit for earlier ones."""
    release_early(state, task)
    state.task_unit[task] = DROPPED
    state.task_init_us[task] = state.task_start_us[task] = state.task_finish_us[task] = math.nan


def end(state: Any, task: int, why: int, keeps: int) -> None:
    """End the segment of a running task, and of its followers, now."""
    progress = state.progress
    lost = 1.0 - progress.share_kept(task, keeps)
    release_early(state, task)
    progress.killed.discard(task)
    if why != WITHDRAWN:
        progress.ended_held += [(len(progress.ended), held) for held, _ in state.held.pop(task)[1:]]
    members = [task, *state.followers[task]]
    for member in members:
        progress.leave(member, lost)
        progress.note_end(member, state.task_left[member], why, member != task)
        state.task_finish_us[member] = math.nan
    if why != WITHDRAWN:
        state.followers[task] = []
        wait_again(state, members)


def hand_on(state: Any, task: int) -> None:
    """Make a request leave the engine that has prefilled it, and wait for one that decodes."""
    n_tokens = int(state.model.task_output[task])
    release(state, task)
    del state.held[task]
    state.progress.note_end(task, (n_tokens - 1) / n_tokens, PREFILLED)
    state.engines.prefilled[task] = state.task_unit[task]
    wait_again(state, [task])


def wait_again(state: Any, tasks: list[int]) -> None:
    """Make tasks that have left their unit pending or, where another one of their gang is, attached to that."""
    for task in tasks:
        first = int(state.model.job_first[state.model.task_job[task]])
        is_attached = is_of_gang(state, task) and PENDING in state.task_unit[first:task]
        state.task_unit[task] = ATTACHED if is_attached else PENDING
        state.task_init_us[task] = state.task_start_us[task] = state.task_finish_us[task] = math.nan
    state.pending = sorted(state.pending + [task for task in tasks if state.task_unit[task] == PENDING])


def stop(state: Any, action: Action) -> None:
    """End the segment of the task that a policy preempts or moves."""
    task, rule = action.task, 0
    if not 0 <= task < int(state.model.job_first[state.next_job]) or not queries.is_running(state.model, state, task):
        rule = layout.NOT_RUNNING
    elif state.progress.event[task] == state.n_events:
        rule = layout.JUST_STARTED
    elif action.kind == MOVE and state.followers[task]:
        rule = layout.IS_CONSOLIDATED
    elif action.kind == MOVE and is_of_gang(state, task):
        rule = layout.IS_GANG
    if rule:
        raise BrokenContract(rule, task, action.unit)
    keeps = int(state.model.preemption[0])
    for member in range(*gang_of(state.model, task)):
        if queries.is_running(state.model, state, member):
            end(state, member, MOVED if action.kind == MOVE else PREEMPTED, keeps)


def withdraw(state: Any, jobs: Any) -> None:
    """Drop the pending tasks of some jobs and end the running ones; consolidated tasks continue."""
    first = state.model.job_first
    for task in (task for job in jobs for task in range(int(first[job]), int(first[job + 1]))):
        if state.task_unit[task] in (PENDING, ATTACHED, HELD):
            if state.task_unit[task] == PENDING:
                state.pending.remove(task)
            state.task_unit[task], state.task_finish_us[task] = DROPPED, math.nan
        elif queries.is_running(state.model, state, task) and not state.followers[task]:
            if state.ahead.waits(task):
                take_back(state, task)
            else:
                end(state, task, WITHDRAWN, RESUME)
