"""One run of the reference engine, and what happens between the events of its loop.

That is: nodes go down and come up, jobs are withdrawn.
"""

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from vinesim.engine.changes import ChangeClock
from vinesim.engine.contract import BrokenContract
from vinesim.engine.outcome import may_end_early, with_killed
from vinesim.engine.reference import arrive, run_events, start
from vinesim.engine.reference_ends import interrupt, withdraw
from vinesim.engine.reference_state import ReferenceState
from vinesim.engine.run import Abandoned, abandoned_when
from vinesim.model.outage import Outage, units_of
from vinesim.model.result import INTERRUPTED, EarlyEnds, Serving
from vinesim.model.scenario import Scenario
from vinesim.model.workload import NO_GANG
from vinesim.policies.contract import OnlinePolicy, Policy
from vinesim.state import layout, queries
from vinesim.state.layout import ATTACHED, DOWN, HELD, OUTAGE, OVERFULL, PENDING, TIMER
from vinesim.state.model import Model
from vinesim.state.scratch import build_scratch, plain_options


class ReferenceRun:
    """One run of the reference engine, with the same methods as the compiled engine's."""

    def __init__(self, scenario: Scenario, model: Model, policy: Policy, online: OnlinePolicy, seed: int):
        """``online`` is what decides; ``policy`` is that, or a batch policy that decides from outside the loop."""
        lists: Any = {name: getattr(model, name).tolist() for name in ("task_group", "group_task_type")}
        fast = model.replaced(**lists)  # as lists they are read three times as fast
        self.state = ReferenceState(fast, seed, may_end_early(scenario, online))
        self._decide = online.decide
        self._options = plain_options(online.values_of_options())
        self.scratch = build_scratch(online.scratch, model)
        self._may_overcommit = policy.may_overcommit
        self._sees_every_event = online.sees_every_event
        self._preempts = online.preempts
        self._pauses = Pauses(self, model, scenario) if scenario.has_changes else None

    def compile(self) -> None:
        """Do nothing: nothing is compiled."""

    @np.errstate(over="ignore")  # as in compiled code: what exceeds the range of numbers is infinite
    def advance(
        self, horizon_us: float, pause_us: float, max_events: int, should_abandon: Callable[[], bool] | None = None
    ) -> int:
        """As the compiled engine does, but on this thread."""
        try:
            with nullcontext() if should_abandon is None else abandoned_when(should_abandon):
                while True:
                    stop_us = math.inf if self._pauses is None else self._pauses.clock.next_us
                    why = self._run_events(horizon_us, min(pause_us, stop_us), max_events)
                    if why != layout.AT_PAUSE or self._pauses is None:
                        return why
                    if self.n_done == len(self.state.task_unit) or (self._pauses.clock.only_fails and self.is_idle):
                        return layout.NO_EVENTS
                    self._pauses.tick()
        except Abandoned:
            return layout.ABANDONED

    def _run_events(self, horizon_us: float, pause_us: float, max_events: int) -> int:
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

    def eligible_us(self) -> np.ndarray:
        return self.state.dependencies.eligible_us

    def granted_us(self) -> np.ndarray:
        return self.state.ahead.column()

    def failures(self) -> tuple[Outage, ...]:
        return () if self._pauses is None else tuple(self._pauses.clock.failures.had)

    def pending(self) -> np.ndarray:
        return np.array(self.state.pending, np.int64)

    @np.errstate(over="ignore")
    def place(self, tasks: np.ndarray, units: np.ndarray, moves: np.ndarray) -> None:
        """Do the same as core/actions.py: all moves, then the check for room, then the starts."""
        model, state = self.state.model, self.state
        moved = [(int(tasks[i]), int(units[i])) for i in np.flatnonzero(moves)]
        for task, unit in moved:
            if unit >= len(model.unit_type):
                raise BrokenContract(layout.UNKNOWN_UNIT, task, unit)
            if model.affinity[model.unit_type[unit], state.task_type_of(task)] <= 0:
                raise BrokenContract(layout.CANNOT_RUN, task, unit)
            if state.is_shared(state.task_unit[task]) or state.is_shared(unit):
                raise BrokenContract(layout.SHARES_SPEED, task, unit)
            self._move(task, unit)
        for task, unit in moved:
            if state.unit_load[unit] > model.unit_capacity[unit] * OVERFULL and not self._may_overcommit:
                raise BrokenContract(layout.NO_ROOM, task, unit)
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
        self.ask(False)

    @property
    def is_idle(self) -> bool:
        state = self.state
        return min(state.next_finish_us(), state.next_arrival_us(), state.timer_us) == math.inf

    def ask(self, after_outage: bool) -> None:
        self.state.to_ask = max(self.state.to_ask, OUTAGE if after_outage else TIMER)
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
        return sum(unit not in (PENDING, ATTACHED, HELD) for unit in self.state.task_unit) - n_running

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

    def serving(self, end_us: float) -> Serving:
        return self.state.engines.columns()

    def peaks_mw(self) -> np.ndarray:
        return np.array(self.state.draws.peaks_mw, np.int64)

    def followers(self) -> np.ndarray:
        return np.array(sorted(task for behind in self.state.followers.values() for task in behind), np.int64)


class Pauses:
    """The pauses of one run, and what is done in them."""

    def __init__(self, run: Any, model: Model, scenario: Scenario):
        self.run, self.clock = run, ChangeClock(scenario)
        self._job_gang, self._task_job = model.job_gang, model.task_job
        self._rack, self._shelf = model.node_rack[model.unit_node], model.node_shelf[model.unit_node]
        self._n_down = np.zeros(len(model.unit_node), np.int32)  # outages and failures of each unit's node
        self._last_us, self._last = -math.inf, np.empty(0, np.int64)  # when tasks were interrupted last, and which

    def tick(self) -> None:
        """Bring nodes up, then take nodes down, then withdraw jobs; then the policy must be called."""
        time_us, step = self.clock.next_us, self.clock.step()
        self.run.set_clock(time_us)
        for outage in step.up:
            self._count(outage, -1)
        why = np.zeros(len(self._n_down), np.int64)
        for outage, reason in step.down:
            self._count(outage, 1)
            if outage.running == "requeue":
                why[units_of(outage, self._rack, self._shelf)] = reason
        for one in step.cut:
            why[one.has(self._rack, self._shelf)] = INTERRUPTED
        is_outage = bool(step.up or step.down or step.cut or step.over)  # where one is over, others may start
        if is_outage:
            self._interrupt(why, time_us)
        if step.withdrawn:
            self.run.withdraw(np.array(step.withdrawn, np.int64))
        self.run.ask(is_outage)

    def _count(self, outage: Outage, change: int) -> None:
        """Note that an outage of a node begins or ends; the node is down while it has any."""
        units = units_of(outage, self._rack, self._shelf)
        self._n_down[units] += change
        if change > 0:
            self.run.close(units)
        else:
            self.run.open(units[self._n_down[units] == 0])

    def _interrupt(self, why: np.ndarray, time_us: float) -> None:
        """Make what runs on the units with a reason pending again."""
        columns = self.run.columns()
        unit = columns["task_unit"]
        tasks = np.flatnonzero((unit >= 0) & (why[np.maximum(unit, 0)] > 0) & (columns["task_finish_us"] > time_us))
        reason = why[unit[tasks]]
        if len(self._job_gang):
            tasks, reason = self._with_gangs(tasks, reason, columns, time_us)
        if self._last_us == time_us:  # a node that is repaired at once: the policy is called for both together
            before = np.setdiff1d(self._last, tasks)
            order = np.argsort(np.concatenate([before, tasks]))
            tasks = np.concatenate([before, tasks])[order]
            reason = np.concatenate([np.zeros(len(before), np.int64), reason])[order]
        self._last_us, self._last = time_us, tasks
        self.run.interrupt(tasks, reason)

    def _with_gangs(
        self, tasks: np.ndarray, why: np.ndarray, columns: dict[str, np.ndarray], time_us: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return interrupted tasks and the running tasks of their gangs, and why."""
        of_job = np.zeros(len(self._job_gang), np.int64)
        np.maximum.at(of_job, self._task_job[tasks], why)
        reason = np.where(self._job_gang != NO_GANG, of_job, 0)[self._task_job]
        reason[(columns["task_unit"] < 0) | ~(columns["task_finish_us"] > time_us)] = 0
        reason[tasks] = np.maximum(reason[tasks], why)
        found = np.flatnonzero(reason)
        return found, reason[found]
