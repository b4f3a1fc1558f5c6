"""One run of the reference engine."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from vinesim.core import rules
from vinesim.engine.contract import BrokenContract
from vinesim.engine.outcome import may_end_early, with_killed
from vinesim.engine.reference import arrive, run_events, start
from vinesim.engine.reference_ends import interrupt, withdraw
from vinesim.engine.reference_outages import OutageClock
from vinesim.engine.reference_state import ReferenceState
from vinesim.engine.threads import Abandoned, abandoned_when
from vinesim.model.outage import Outage
from vinesim.model.result import EarlyEnds, Serving
from vinesim.model.scenario import Scenario
from vinesim.policies.contract import OnlinePolicy, Policy
from vinesim.state import queries
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
        self._outages = OutageClock(self, model, scenario) if scenario.has_changes else None

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
                    stop_us = math.inf if self._outages is None else self._outages.next_us
                    why = self._run_events(horizon_us, min(pause_us, stop_us), max_events)
                    if why != rules.AT_PAUSE or self._outages is None:
                        return why
                    if self.n_done == len(self.state.task_unit) or (self._outages.only_fails and self.is_idle):
                        return rules.NO_EVENTS
                    self._outages.tick()
        except Abandoned:
            return rules.ABANDONED

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
        return () if self._outages is None else tuple(self._outages.failures.had)

    def pending(self) -> np.ndarray:
        return np.array(self.state.pending, np.int64)

    @np.errstate(over="ignore")
    def place(self, tasks: np.ndarray, units: np.ndarray, moves: np.ndarray) -> None:
        """Do the same as core/orders.py: all moves, then the check for room, then the starts."""
        model, state = self.state.model, self.state
        moved = [(int(tasks[i]), int(units[i])) for i in np.flatnonzero(moves)]
        for task, unit in moved:
            if unit >= len(model.unit_type):
                raise BrokenContract(rules.UNKNOWN_UNIT, task, unit)
            if model.affinity[model.unit_type[unit], state.task_type_of(task)] <= 0:
                raise BrokenContract(rules.CANNOT_RUN, task, unit)
            if state.is_shared(state.task_unit[task]) or state.is_shared(unit):
                raise BrokenContract(rules.SHARES_SPEED, task, unit)
            self._move(task, unit)
        for task, unit in moved:
            if state.unit_load[unit] > model.unit_capacity[unit] * OVERFULL and not self._may_overcommit:
                raise BrokenContract(rules.NO_ROOM, task, unit)
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
