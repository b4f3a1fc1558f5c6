"""One run of the reference engine, and what happens between the events of its loop: nodes go down and come up, jobs are
withdrawn."""

import math
from collections.abc import Callable
from contextlib import nullcontext

import numpy as np

from vinesim.engine.changes import ChangeClock
from vinesim.engine.contract import BrokenContract, strict_numbers
from vinesim.engine.outcome import with_killed
from vinesim.engine.reference import arrive, run_events, start
from vinesim.engine.reference_ends import end, withdraw
from vinesim.engine.reference_state import ReferenceState
from vinesim.engine.run import Abandoned, abandoned_when
from vinesim.model.outage import Outage, units_of
from vinesim.model.result import INTERRUPTED, EarlyEnds, Serving
from vinesim.model.scenario import Scenario
from vinesim.policies.contract import OnlinePolicy, Policy
from vinesim.state import layout, queries
from vinesim.state.layout import ATTACHED, CHECKPOINT, DOWN, HELD, OUTAGE, OVERFULL, PENDING, TIMER
from vinesim.state.model import Model
from vinesim.state.places import gang_of
from vinesim.state.scratch import build_scratch, plain_options


class ReferenceRun:
    """One run of the reference engine, with the same methods as the compiled engine's."""

    def __init__(self, scenario: Scenario, model: Model, policy: Policy, online: OnlinePolicy, seed: int):
        """``online`` is what decides; ``policy`` is that, or a batch policy that decides from outside the loop."""
        self.state = ReferenceState(model, seed)
        self.decide = online.decide
        self.options = plain_options(online.values_of_options())
        self.scratch = build_scratch(online.scratch, model)
        self.may_overcommit = policy.may_overcommit
        self.sees_every_event = online.sees_every_event
        self.preempts = online.preempts
        self._is_compiled = online.compiled
        self._pauses = Pauses(self.state, scenario)

    def compile(self) -> None:
        """Do nothing: nothing is compiled."""

    @np.errstate(over="ignore")  # as in compiled code: what exceeds the range of numbers is infinite
    def advance(
        self, horizon_us: float, pause_us: float, max_events: int, should_abandon: Callable[[], bool] | None = None
    ) -> int:
        """As the compiled engine does, but on this thread."""
        try:
            abandoning = nullcontext() if should_abandon is None else abandoned_when(should_abandon)
            with strict_numbers(self._is_compiled), abandoning:
                while True:
                    stop_us = self._pauses.clock.next_us
                    why = run_events(self, horizon_us, min(pause_us, stop_us), max_events)
                    if why != layout.AT_PAUSE or stop_us == math.inf:
                        return why
                    if self.n_done == len(self.state.task_unit) or (self._pauses.clock.only_fails and self.is_idle):
                        return layout.NO_EVENTS
                    self._pauses.tick()
        except Abandoned:
            return layout.ABANDONED

    def eligible_us(self) -> np.ndarray:
        return self.state.dependencies.eligible_us

    def granted_us(self) -> np.ndarray:
        return self.state.ahead.column()

    def failures(self) -> tuple[Outage, ...]:
        return tuple(self._pauses.clock.failures.had)

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
            if state.unit_load[unit] > model.unit_capacity[unit] * OVERFULL and not self.may_overcommit:
                raise BrokenContract(layout.NO_ROOM, task, unit)
        for task, unit in zip(tasks.tolist(), units.tolist(), strict=True):
            if unit >= 0 and state.task_unit[task] == PENDING:
                start(state, queries.start(task, unit), self.may_overcommit)

    def _move(self, task: int, unit: int) -> None:
        state = self.state
        state.running[state.task_unit[task]].remove(task)
        state.let_go(task)
        state.task_unit[task] = unit
        state.running[unit].append(task)
        state.hold_all(task, unit)

    def early_ends(self) -> EarlyEnds:
        state, progress = self.state, self.state.progress
        killed = np.array(sorted(progress.killed), np.int64)
        left = np.array([state.task_left.get(task, 1.0) for task in range(len(state.task_unit))])
        return with_killed(EarlyEnds.of(progress.ended), killed, self.columns(), left, self.followers())

    def early_held(self) -> tuple[np.ndarray, np.ndarray]:
        found = np.array(self.state.progress.ended_held, np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1].astype(np.int32)

    def begin_placed(self, tasks: np.ndarray, units: np.ndarray, n_jobs: int) -> None:
        for _ in range(n_jobs):
            arrive(self.state)
        for task, unit in zip(tasks.tolist(), units.tolist(), strict=True):
            start(self.state, queries.start(task, unit), self.may_overcommit)
        self.state.to_ask, self.state.timer_us = TIMER, self.state.now_us

    @property
    def is_idle(self) -> bool:
        state = self.state
        return min(state.next_finish_us(), state.next_arrival_us(), state.timer_us) == math.inf

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
        n_left = sum(unit not in (PENDING, ATTACHED, HELD) for unit in self.state.task_unit)
        return n_left - len(self.state.running_tasks())

    @property
    def n_pending(self) -> int:
        return len(self.state.pending)

    @property
    def unit_load(self) -> np.ndarray:
        return np.array(self.state.unit_load)

    def is_due(self, tasks: np.ndarray) -> np.ndarray:
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
        rows = [(task, unit) for task, held in sorted(self.state.held.items()) for unit, _ in held[1:]]
        found = np.array(rows, np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1].astype(np.int32)

    def serving(self, end_us: float) -> Serving:
        return self.state.engines.columns()

    def peaks_mw(self) -> np.ndarray:
        return np.array(self.state.draws.peaks_mw, np.int64)

    def followers(self) -> np.ndarray:
        return np.array(sorted(task for behind in self.state.followers.values() for task in behind), np.int64)


class Pauses:
    """What happens between the events of one run."""

    def __init__(self, state: ReferenceState, scenario: Scenario):
        self.state, self.clock = state, ChangeClock(scenario)
        model = state.model
        self._rack, self._shelf = model.node_rack[model.unit_node], model.node_shelf[model.unit_node]
        self._n_down = [0] * len(model.unit_node)  # outages and failures of each unit's node
        self._last_us, self._last = -math.inf, set[int]()  # when tasks were interrupted last, and which

    def tick(self) -> None:
        """Bring nodes up, then take nodes down, then withdraw jobs; then the policy must be called."""
        state, now_us, step = self.state, self.clock.next_us, self.clock.step()
        state.now_us = now_us
        why: dict[int, int] = {}  # unit -> why what it runs ends
        for outage in step.up:
            self._count(outage, -1)
        for outage, reason in step.down:
            self._count(outage, 1)
            if outage.running == "requeue":
                why.update(dict.fromkeys(self._units_of(outage), reason))
        for one in step.cut:
            why.update(dict.fromkeys(np.flatnonzero(one.has(self._rack, self._shelf)).tolist(), INTERRUPTED))
        is_outage = bool(step.up or step.down or step.cut or step.over)  # where one is over, others may start
        if is_outage:
            self._interrupt(why)
        withdraw(state, step.withdrawn)
        state.to_ask = max(state.to_ask, OUTAGE if is_outage else TIMER)
        state.timer_us = now_us

    def _units_of(self, outage: Outage) -> list[int]:
        units: list[int] = units_of(outage, self._rack, self._shelf).tolist()
        return units

    def _count(self, outage: Outage, change: int) -> None:
        """Note that an outage of a node begins or ends; the node is down while it has any."""
        for unit in self._units_of(outage):
            self._n_down[unit] += change
            is_up = self._n_down[unit] == 0
            self.state.unit_open[unit] = float(self.state.model.unit_capacity[unit]) if is_up else DOWN

    def _interrupt(self, why: dict[int, int]) -> None:
        """Make what runs on the units with a reason pending again, and the rest of its gangs."""
        state, found = self.state, dict[int, int]()
        unit_of = {one: state.task_unit[one] for one in state.running_tasks()}
        for task in sorted(unit_of):
            gang = [one for one in range(*gang_of(state.model, task)) if one in unit_of]
            reason = max(why.get(unit_of[one], 0) for one in gang)
            if reason > 0:
                found[task] = reason
        for task, reason in found.items():
            if queries.is_running(state.model, state, task):  # else its segment has ended with that of its leader
                end(state, task, reason, CHECKPOINT)
        if self._last_us < state.now_us:  # else a node was repaired at once: the policy is called for both together
            self._last = set()
        self._last_us, self._last = state.now_us, self._last | found.keys()
        state.interrupted = [task for task in sorted(self._last) if state.task_unit[task] != ATTACHED]
