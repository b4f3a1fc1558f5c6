"""The reference engine: the same meaning in plain Python, for the reader. No index, no Numba, no speed.

Every question looks at every unit and every pending task. Property tests require the task tables of this engine and of
the compiled one to be equal bit for bit.
Source: VineSim report, section 5.4 (VineProcessor, task queue, time machine).
"""

import heapq
import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from vinesim.engine import contract
from vinesim.engine.beside import Left, left_when
from vinesim.engine.contract import AT_HORIZON, AT_PAUSE, GO_ON, NO_EVENTS, BrokenContract, OutOfTime, asked
from vinesim.engine.ends import with_killed
from vinesim.engine.reference_ends import Progress, interrupt, leave, stop, withdraw
from vinesim.engine.reference_gangs import Place, as_before, attached_to, is_of_gang
from vinesim.engine.reference_quotas import HeldQuotas
from vinesim.engine.reference_trial import Trial, trial
from vinesim.model.errors import PolicyError
from vinesim.model.result import EarlyEnds
from vinesim.policies.contract import OnlinePolicy
from vinesim.state import places, queries
from vinesim.state.initial import first_units
from vinesim.state.layout import (
    ARRIVAL,
    ATTACHED,
    DOWN,
    DROP,
    DROPPED,
    FINISH,
    FULL,
    NOTHING,
    OUTAGE,
    OVERFULL,
    PENDING,
    PREEMPT,
    TIMER,
    Action,
    Model,
    View,
)
from vinesim.state.scratch import build_scratch, plain_options

TWO_64 = 2**64


class Ones(dict[int, float]):
    """What is left of each task where no segment ends early."""

    def __missing__(self, task: int) -> float:
        return 1.0


ONES = Ones()


class ReferenceState:
    """The clock, the task queue and the units."""

    def __init__(self, model: Model, seed: int, ends_early: bool = False):
        n_units, n_tasks = len(model.unit_type), len(model.task_operations)
        self.model = model
        self.now_us = 0.0
        self.timer_us = math.inf
        self.next_job = 0
        self.pending: list[int] = []  # tasks that have arrived and not started, oldest first
        self.time_machine: list[tuple[float, int, int]] = []  # (finish time, sequence, task)
        self.sequence = 0
        self.queued: dict[int, int] = {}  # task -> sequence of its valid event
        self.task_unit = first_units(model).tolist()
        self.task_left: Any = [1.0] * n_tasks if ends_early else ONES
        self.attained_us = [0.0] * n_tasks if ends_early else []
        self.task_init_us = [math.nan] * n_tasks
        self.task_start_us = [math.nan] * n_tasks
        self.task_finish_us = [math.nan] * n_tasks
        self.followers: dict[int, list[int]] = {}  # leader -> the tasks consolidated with it
        self.unit_load = [0.0] * n_units
        self.unit_open = model.unit_capacity.tolist()  # DOWN while the node is down
        self.had_outage = False
        self.interrupted: list[int] = []  # by the last outages
        self.running: list[list[int]] = [[] for _ in range(n_units)]  # by unit, in order of start
        self.held: dict[int, list[int]] = {}  # task -> the units that it holds, or held last, beside its own
        self.held_by: list[list[int]] = [[] for _ in range(n_units)]  # by unit, the tasks that hold it beside their own
        self.quotas = HeldQuotas(self)
        self.work_done = [0.0] * n_units  # shared units: see engine/sharing.py
        self.work_at_us = [0.0] * n_units
        self.work_due: dict[int, float] = {}
        self.n_events = 0
        self.random_state = seed
        self.progress = Progress(self) if ends_early else None  # where segments may end early

    def group_of(self, task: int) -> int:
        return self.model.task_group[task] if len(self.model.task_group) else 0

    def task_type_of(self, task: int) -> int:
        return self.model.group_task_type[self.group_of(task)]

    def preferred_of(self, task: int) -> int:
        return int(self.model.group_preferred[self.group_of(task)])

    def random_below(self, n: int) -> int:
        self.random_state = (self.random_state + 0x9E3779B97F4A7C15) % TWO_64
        z = self.random_state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % TWO_64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % TWO_64
        z ^= z >> 31
        return int(float(z >> 11) * 2.0**-53 * n)

    def queue_finish(self, task: int) -> None:
        self.sequence += 1
        self.queued[task] = self.sequence
        heapq.heappush(self.time_machine, (self.task_finish_us[task], self.sequence, task))

    def next_finish_us(self) -> float:
        while self.time_machine and self.queued.get(self.time_machine[0][2]) != self.time_machine[0][1]:
            heapq.heappop(self.time_machine)  # its event was moved
        return self.time_machine[0][0] if self.time_machine else math.inf

    def next_arrival_us(self) -> float:
        more = self.next_job < len(self.model.job_arrival_us)
        return float(self.model.job_arrival_us[self.next_job]) if more else math.inf

    def left_of_job(self, task: int) -> list[int]:
        """Which tasks of a pending gang are left, numbered from the job's first; [0] of a task that is of none."""
        if not is_of_gang(self, task):
            return [0]
        first = int(self.model.job_first[self.model.task_job[task]])
        return [other - first for other in (task, *attached_to(self, task))]

    def place_of(self, task: int, unit: int) -> list[int] | None:
        """The units of a pending task and of those that are attached to it, None if there is no room for them."""
        if self.task_unit[task] != PENDING or not is_of_gang(self, task):
            return [unit]
        return Place(self, task, unit).find(unit)

    def trial(self) -> AbstractContextManager[Trial]:
        return trial(self)

    def note_place(self, rows: Any, task: int, unit: int) -> None:
        """See state/places.py: held one after another, and then released."""
        units = self.place_of(task, unit)
        assert units is not None
        with as_before(self):
            for member, own in zip([task, *attached_to(self, task)], units, strict=True):
                places.note_rows(self.model, self, rows, member, own)
                self.unit_load[own] += queries.demand(self.model, self, member, own)
                self.hold_rest(member, own)

    # --- tasks that hold several units ---

    def amount_held(self, task: int, unit: int, own: int) -> float:
        """What the task holds of a unit beside its own: a demand, if it is of the lead, or a companion."""
        kinds, model = self.model.unit_type, self.model
        if kinds[unit] == kinds[own]:
            return queries.demand(model, self, task, unit)
        return model.kind_companion[self.task_type_of(task), kinds[unit]]

    def hold_rest(self, task: int, own: int) -> None:
        """Hold the rest of the lead, on the first units with room, then the companions."""
        model, kind = self.model, self.task_type_of(task)
        if len(model.kind_units) == 0:
            return
        node = model.unit_node[own]
        held: list[int] = []
        for unit in range(len(model.unit_type)):
            if model.unit_node[unit] == node and model.unit_type[unit] == model.unit_type[own] and unit != own:
                is_enough = len(held) == model.kind_units[kind] - 1
                if not is_enough and queries.has_room_for(model, self, unit, self.amount_held(task, unit, own)):
                    held.append(unit)
        for p in model.companion_type:
            amount = model.kind_companion[kind, p]
            if amount > 0:
                held.append(queries.companion_unit(model, self, node, p, amount))
        self.held[task] = held
        for unit in held:
            self.unit_load[unit] += self.amount_held(task, unit, own)
            self.held_by[unit].append(task)

    def release_rest(self, task: int) -> None:
        for unit in self.held.get(task, []):
            self.held_by[unit].remove(task)
            load = self.unit_load[unit] - self.amount_held(task, unit, self.task_unit[task])
            self.unit_load[unit] = load if self.running[unit] or self.held_by[unit] else 0.0

    # --- what is left of tasks ---

    def left_now(self, task: int) -> float:
        is_running = self.task_unit[task] >= 0 and task in self.running[self.task_unit[task]]
        done = self.progress.share_done(task) if is_running and self.progress is not None else 0.0
        return float(self.task_left[task] * (1.0 - done))

    # --- units that share their speed ---

    def is_shared(self, unit: int) -> bool:
        return bool(self.model.unit_parallelism[unit] < self.model.unit_capacity[unit])

    def speed(self, task: int, unit: int, load: float) -> float:
        if load <= self.model.unit_parallelism[unit]:
            return 1.0
        return float(queries.throughput(self.model, self, task, unit, load) / load)

    def advance_work(self, unit: int) -> None:
        took_us = self.now_us - self.work_at_us[unit]
        if queries.has_speed_curves(self.model, unit):
            for task in self.running[unit]:
                self.work_due[task] -= took_us * self.speed(task, unit, self.unit_load[unit])
        else:
            self.work_done[unit] += took_us * self.speed(-1, unit, self.unit_load[unit])
        self.work_at_us[unit] = self.now_us

    def first_due(self, unit: int, load: float) -> int:
        """The running task that is done first."""

        def order(task: int) -> tuple[float, float]:
            if not queries.has_speed_curves(self.model, unit):
                return self.work_due[task], 0.0
            return max(0.0, self.work_due[task]) / self.speed(task, unit, load), self.work_due[task]

        return min(self.running[unit], key=order)

    def requeue_first(self, unit: int, load: float) -> None:
        for task in self.running[unit]:
            self.queued.pop(task, None)
            self.task_finish_us[task] = math.inf  # unknown: others may join
        if self.running[unit]:
            first = self.first_due(unit, load)
            left = max(0.0, self.work_due[first] - self.work_done[unit])
            finish_us = self.now_us + left / self.speed(first, unit, load)
            finish_us = max(finish_us, self.task_start_us[first])  # rounding must not put it before
            if self.progress is not None:
                first, finish_us = self.progress.or_killed(unit, first, finish_us)
            if finish_us == math.inf:
                if self.work_due[first] == math.inf:
                    return  # none of them ever ends
                raise OutOfTime(first, unit, left / self.speed(first, unit, load))
            self.task_finish_us[first] = finish_us
            self.queue_finish(first)

    def check_time(self, started: list[int], unit: int, service: float, finish_us: float) -> None:
        """Raise OutOfTime if the time of tasks that start as one does not advance the clock, or ends beyond the range
        of numbers though none of them has operations without end."""
        is_wrong = not self.now_us < finish_us < math.inf and service != 0.0
        ends = finish_us < math.inf or max(self.model.task_operations[task] for task in started) < math.inf
        if is_wrong and ends:
            raise OutOfTime(started[0], unit, service)


def start(state: ReferenceState, action: Action, may_overcommit: bool) -> None:
    """Start the tasks of an action, or drop its task, after checking that the policy may ask for it."""
    task, unit = action.task, action.unit
    check(state, action, may_overcommit)
    if action.kind == DROP:
        for dropped in [task, *attached_to(state, task)]:
            state.task_unit[dropped] = DROPPED
        state.pending.remove(task)
        return
    group = state.group_of(task)
    started = [task]
    if action.n_tasks > 1:
        started = [t for t in state.pending if state.group_of(t) == group][: action.n_tasks]
    units = state.place_of(task, unit) if is_of_gang(state, task) else [unit]
    assert units is not None
    members = [[one, *attached_to(state, one)] if len(units) > 1 else [one] for one in started]
    for as_one, of_member in zip(zip(*members, strict=True), units, strict=True):
        begin(state, list(as_one), of_member)
    for one in started:
        state.pending.remove(one)


def begin(state: ReferenceState, started: list[int], unit: int) -> None:
    """Start tasks on a unit, consolidated if they are several."""
    model, task = state.model, started[0]
    transfer = queries.transfer_us(model, state, task, unit)
    left = state.task_left
    execution = queries.execution_us(model, state, task, unit) * left[task]
    overhead, share = model.overhead_us[model.unit_type[unit], state.task_type_of(task)], left[task]
    for follower in started[1:]:
        transfer += queries.transfer_us(model, state, follower, unit)
        execution += (queries.execution_us(model, state, follower, unit) - overhead) * left[follower]
        share += left[follower]
    if len(started) > 1:
        execution = queries.consolidated_us(
            model, state, task, model.unit_type[unit], len(started), execution, share / len(started)
        )
    if len(model.task_factor):
        execution *= model.task_factor[task]
    finish_us = state.now_us + transfer + execution
    if state.progress is not None:
        execution, finish_us = state.progress.begin(started, transfer, execution)
    state.check_time(started, unit, transfer + execution, finish_us)
    for one in started:
        state.task_unit[one] = unit
        state.task_init_us[one] = state.now_us
        state.task_start_us[one] = state.now_us + transfer
        known = not state.is_shared(unit)
        state.task_finish_us[one] = finish_us if known else math.inf
    state.followers[task] = started[1:]
    load = state.unit_load[unit] + queries.demand(model, state, task, unit)
    if state.is_shared(unit):
        state.advance_work(unit)
        state.work_due[task] = state.work_done[unit] + (transfer + execution)
        state.running[unit].append(task)
        state.requeue_first(unit, load)
    else:
        state.running[unit].append(task)
        if finish_us < math.inf:
            state.queue_finish(task)
    state.unit_load[unit] = load
    state.hold_rest(task, unit)
    state.quotas.count(task, unit, 1)


def check(state: ReferenceState, action: Action, may_overcommit: bool) -> None:
    """Raise BrokenContract with the number of the first rule that the action breaks (engine/contract.py)."""
    model, task, unit = state.model, action.task, action.unit
    n_arrived = int(model.job_first[state.next_job])
    rule = 0
    if task < 0 or task >= n_arrived:
        rule = contract.UNKNOWN_TASK
    elif state.task_unit[task] != PENDING:
        rule = contract.IS_ATTACHED if state.task_unit[task] == ATTACHED else contract.NOT_PENDING
    elif action.kind == DROP:
        rule = 0
    elif not 0 <= unit < len(model.unit_type):
        rule = contract.UNKNOWN_UNIT
    elif model.affinity[model.unit_type[unit], state.task_type_of(task)] <= 0:
        rule = contract.CANNOT_RUN
    elif not queries.is_up(model, state, unit):
        rule = contract.IS_DOWN
    elif not queries.is_in_partition(model, state, task, unit):
        rule = contract.OUTSIDE_PARTITION
    elif not queries.is_within_quotas(model, state, task):
        rule = contract.OVER_QUOTA
    elif not may_overcommit and not queries.fits(model, state, task, unit):
        rule = contract.NO_ROOM
    elif may_overcommit and len(model.kind_units) and not queries.rest_fits(model, state, task, unit):
        rule = contract.NO_ROOM_BESIDE
    elif action.n_tasks != 1:
        is_head = queries.first_pending(model, state, state.group_of(task)) == task
        most = queries.joinable(model, state, task, action.n_tasks)
        if action.n_tasks < 1 or not is_head or most < action.n_tasks:
            rule = contract.NOT_A_HEAD
    if rule:
        raise BrokenContract(rule, task, unit)


def finish(state: ReferenceState) -> tuple[int, int]:
    """COMPUTATION_FINISH: remove the task that finishes earliest from its unit. Returns both."""
    _, _, task = heapq.heappop(state.time_machine)
    del state.queued[task]
    unit = state.task_unit[task]
    if state.progress is not None:
        state.progress.close(task)
    leave(state, task)
    for follower in state.followers[task]:
        state.task_finish_us[follower] = state.now_us
    return task, unit


def arrive(state: ReferenceState) -> int:
    """ARRIVAL: let the next job arrive. Returns the job."""
    job = state.next_job
    tasks = range(int(state.model.job_first[job]), int(state.model.job_first[job + 1]))
    state.pending += [task for task in tasks if state.task_unit[task] == PENDING]
    state.next_job += 1
    return job


def run_events(
    state: ReferenceState,
    decide: Callable[[Any, Any, Any], Action],
    options: Any,
    scratch: Any,
    may_overcommit: bool,
    sees_every_event: bool,
    preempts: bool,
    horizon_us: float,
    pause_us: float,
    max_events: int,
) -> int:
    """Handle events in the order (time, kind, sequence); return why it stopped, like engine/loop.py."""
    model = state.model
    asks_when_full = may_overcommit or sees_every_event or preempts
    for _ in range(max_events):
        finish_us = state.next_finish_us()
        arrival_us = state.next_arrival_us()
        now = min(finish_us, arrival_us, pause_us, state.timer_us)
        if now == math.inf:
            return NO_EVENTS
        if now > horizon_us:
            return AT_HORIZON
        state.now_us = now
        unit = job = task = -1
        if finish_us == now:
            event, (task, unit) = FINISH, finish(state)
        elif arrival_us == now:
            event, job = ARRIVAL, arrive(state)
        elif pause_us == now:
            return AT_PAUSE
        else:
            event, state.timer_us = OUTAGE if state.had_outage else TIMER, math.inf
            state.had_outage = False
        state.n_events += 1
        view = View(now, event, unit, job, task, options, scratch)
        must_ask = sees_every_event
        while must_ask or (
            state.pending and (asks_when_full or has_room(state)) and (preempts or is_any_within_quotas(state))
        ):
            must_ask = False
            action = asked(decide, decide, model, state, view)
            if not isinstance(action, Action):
                raise PolicyError(
                    f"policy {decide.__qualname__}: must return start(...), wait_until(...) or nothing(), "
                    f"returned {action!r}"
                )
            if action.kind == NOTHING:
                state.timer_us = action.until_us
                if not action.until_us > now:
                    raise BrokenContract(contract.WAIT_UNTIL_THE_PAST, -1, -1)
                break
            if action.kind >= PREEMPT:
                stop(state, action)
            if action.kind != PREEMPT:
                start(state, action, may_overcommit)
        if not state.pending:
            state.timer_us = math.inf  # the waiting tasks have started
    return GO_ON


def is_any_within_quotas(state: ReferenceState) -> bool:
    """Whether the quotas leave room for a pending task."""
    return len(state.model.quota_limit) == 0 or queries.oldest_pending(state.model, state) >= 0


def has_room(state: ReferenceState) -> bool:
    """Whether any unit's load is below its capacity."""
    return any(load < capacity * FULL for load, capacity in zip(state.unit_load, state.unit_open, strict=True))


class ReferenceRun:
    """One run of the reference engine, with the same methods as the compiled engine's."""

    def __init__(self, model: Model, policy: OnlinePolicy, seed: int, may_overcommit: bool, ends_early: bool = False):
        lists: Any = {name: getattr(model, name).tolist() for name in ("task_group", "group_task_type")}
        self.state = ReferenceState(
            model._replace(**lists), seed, ends_early
        )  # as lists they are read three times as fast
        self._decide = policy.decide
        self._options = plain_options(policy.values_of_options())
        self.scratch = build_scratch(policy.scratch, model)
        self._may_overcommit = may_overcommit
        self._sees_every_event = policy.sees_every_event
        self._preempts = policy.preempts

    def compile(self) -> None:
        """Do nothing: nothing is compiled."""

    @np.errstate(over="ignore")  # as in compiled code: what exceeds the range of numbers is infinite
    def advance(
        self, horizon_us: float, pause_us: float, max_events: int, gives_up: Callable[[], bool] | None = None
    ) -> int:
        """As the compiled engine does, but on this thread."""
        try:
            with nullcontext() if gives_up is None else left_when(gives_up):
                return run_events(
                    self.state,
                    self._decide,
                    self._options,
                    self.scratch,
                    self._may_overcommit,
                    self._sees_every_event,
                    self._preempts,
                    horizon_us,
                    pause_us,
                    max_events,
                )
        except Left:
            return contract.LEFT

    def pending(self) -> np.ndarray:
        return np.array(self.state.pending, np.int64)

    @np.errstate(over="ignore")
    def place(self, tasks: np.ndarray, units: np.ndarray, moves: np.ndarray) -> None:
        """Do the same as engine/actions.py: all moves, then the check for room, then the starts."""
        model, state = self.state.model, self.state
        moved = [(int(tasks[i]), int(units[i])) for i in np.flatnonzero(moves)]
        for task, unit in moved:
            if unit >= len(model.unit_type):
                raise BrokenContract(contract.UNKNOWN_UNIT, task, unit)
            if model.affinity[model.unit_type[unit], state.task_type_of(task)] <= 0:
                raise BrokenContract(contract.CANNOT_RUN, task, unit)
            if state.is_shared(state.task_unit[task]) or state.is_shared(unit):
                raise BrokenContract(contract.SHARES_SPEED, task, unit)
            self._move(task, unit)
        for task, unit in moved:
            if state.unit_load[unit] > model.unit_capacity[unit] * OVERFULL and not self._may_overcommit:
                raise BrokenContract(contract.NO_ROOM, task, unit)
        for task, unit in zip(tasks.tolist(), units.tolist(), strict=True):
            if unit >= 0 and state.task_unit[task] == PENDING:
                start(state, queries.start(task, unit), self._may_overcommit)

    def _move(self, task: int, unit: int) -> None:
        state = self.state
        old = state.task_unit[task]
        state.running[old].remove(task)
        load = state.unit_load[old] - queries.demand(state.model, state, task, old)
        state.unit_load[old] = load if state.running[old] else 0.0
        state.task_unit[task] = unit
        state.running[unit].append(task)
        state.unit_load[unit] += queries.demand(state.model, state, task, unit)

    def open(self, units: np.ndarray) -> None:
        for unit in units:
            self.state.unit_open[unit] = float(self.state.model.unit_capacity[unit])

    def close(self, units: np.ndarray) -> None:
        for unit in units:
            self.state.unit_open[unit] = DOWN

    def interrupt(self, tasks: np.ndarray, why: np.ndarray) -> None:
        interrupt(self.state, tasks.tolist(), why.tolist())

    def withdraw(self, jobs: np.ndarray) -> None:
        withdraw(self.state, jobs)

    def early_ends(self) -> EarlyEnds:
        progress = self.state.progress
        assert progress is not None
        killed = np.array(sorted(progress.killed), np.int64)
        left = np.array(self.state.task_left)
        return with_killed(EarlyEnds.of(progress.ended), killed, self.columns(), left, self.followers())

    def early_held(self) -> tuple[np.ndarray, np.ndarray]:
        assert self.state.progress is not None
        found = np.array(self.state.progress.ended_held, np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1].astype(np.int32)

    def begin_placed(self, tasks: np.ndarray, units: np.ndarray, n_jobs: int) -> None:
        for _ in range(n_jobs):
            arrive(self.state)
        for task, unit in zip(tasks.tolist(), units.tolist(), strict=True):
            start(self.state, queries.start(task, unit), self._may_overcommit)

    @property
    def is_idle(self) -> bool:
        state = self.state
        return min(state.next_finish_us(), state.next_arrival_us(), state.timer_us) == math.inf

    def ask(self, after_outage: bool) -> None:
        self.state.had_outage = after_outage
        self.state.timer_us = self.state.now_us

    def set_clock(self, now_us: float) -> None:
        self.state.now_us = now_us

    @property
    def now_us(self) -> float:
        return self.state.now_us

    @property
    def n_events(self) -> int:
        return self.state.n_events

    @property
    def n_done(self) -> int:
        n_running = sum(1 + len(self.state.followers[t]) for tasks in self.state.running for t in tasks)
        return sum(unit not in (PENDING, ATTACHED) for unit in self.state.task_unit) - n_running

    @property
    def n_pending(self) -> int:
        return len(self.state.pending)

    @property
    def unit_load(self) -> np.ndarray:
        return np.array(self.state.unit_load)

    def is_due(self, tasks: np.ndarray) -> np.ndarray:
        """For running tasks on units that share their speed: whether they have had all their service, and end at this
        instant, one after another."""
        state = self.state
        units = [state.task_unit[task] for task in tasks]
        due = [
            state.is_shared(u) and state.work_due[t] <= state.work_done[u] for t, u in zip(tasks, units, strict=True)
        ]
        return np.array(due, bool)

    def columns(self) -> dict[str, np.ndarray]:
        state = self.state
        return {
            "task_unit": np.array(state.task_unit, np.int32),
            "task_init_us": np.array(state.task_init_us),
            "task_start_us": np.array(state.task_start_us),
            "task_finish_us": np.array(state.task_finish_us),
        }

    def held(self) -> tuple[np.ndarray, np.ndarray]:
        rows = [(task, unit) for task, units in sorted(self.state.held.items()) for unit in units]
        found = np.array(rows, np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1].astype(np.int32)

    def followers(self) -> np.ndarray:
        return np.array(sorted(task for behind in self.state.followers.values() for task in behind), np.int64)
