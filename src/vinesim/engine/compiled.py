"""One run of the compiled engine; ``engine/run.py`` says what its methods return."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from vinesim.core.code import Code
from vinesim.core.loops import Running, loop_for
from vinesim.core.state import build_state
from vinesim.engine.changes import Changes
from vinesim.engine.contract import broken, call_policy
from vinesim.engine.outcome import with_killed
from vinesim.engine.run import Abandoned, run_interruptibly
from vinesim.model.outage import Outage
from vinesim.model.result import EarlyEnds, Serving
from vinesim.model.scenario import Scenario
from vinesim.model.step_times import step_us
from vinesim.policies.contract import OnlinePolicy, Policy
from vinesim.state.arrays import ARRIVES, MOVES, ORDER, STARTS
from vinesim.state.layout import ABANDONED, BROKEN, GO_ON, NEED_CHANGES, NEED_ROOM, PENDING, STEP, TIMER

COLUMNS = ("task_unit", "task_init_us", "task_start_us", "task_finish_us")
OF_REQUESTS = ("task_scheduled_us", "task_first_us", "task_preempted")


class CompiledRun:
    """One run of the compiled engine: the loop for a policy, the model, and the state that it changes."""

    def __init__(self, scenario: Scenario, model: Any, policy: Policy, online: OnlinePolicy, code: Code, seed: int):
        """``online`` is what decides; ``policy`` is that, or a batch policy that decides from outside the loop."""
        self.model, self._decide = model, online.decide
        made = loop_for(code, scenario.workload.n_tasks)
        self.features, self.scratch = made.features, code.own.scratch
        self.state = build_state(model, made.features, seed, online.sees_every_event, policy.may_overcommit)
        self._changes = Changes(scenario, model) if "CHANGES" in code.features else None
        if self._changes is not None:
            self.state = self.state._replace(listed=self._changes.listed())
        self._running = Running(made, model, self.state, code.own)

    def compile(self) -> None:
        """Compile the loop, or load it from the disk."""
        if not self._running.is_ready:
            self._call(math.inf, math.inf, 0)

    def advance(
        self, horizon_us: float, pause_us: float, max_events: int, should_abandon: Callable[[], bool] | None = None
    ) -> int:
        """Handle events. Returns why the run stopped (state/layout.py), or ABANDONED if ``should_abandon``, which is
        called at intervals, said so: then this run stays as it is, and a thread continues with it. Without
        ``should_abandon`` it cannot be abandoned."""
        try:
            if should_abandon is None:
                why = self._call(horizon_us, pause_us, max_events)
            else:
                (why,) = run_interruptibly([lambda: self._call(horizon_us, pause_us, max_events)], should_abandon)
        except Abandoned:
            changing = (*COLUMNS, *OF_REQUESTS, "run", "ended", "ended_held", "engine")
            kept = {name: getattr(self.state, name).copy() for name in changing}
            self.state = self.state._replace(**kept)
            return ABANDONED
        if why == BROKEN:
            raise broken(self.state.run[0])
        if why == NEED_ROOM:
            run, state = self.state.run[0], self.state
            n_running = int(run["n_arrived"] - run["n_done"] - run["n_pending"])
            ended = longer(state.ended, int(run["n_ended"]), n_running)
            held = longer(state.ended_held, int(run["n_ended_held"]), len(state.held_unit))
            self._set(ended=ended, ended_held=held)
            return GO_ON
        if why == NEED_CHANGES:
            assert self._changes is not None
            self._set(listed=self._changes.listed())
            return GO_ON
        return why

    def _call(self, horizon_us: float, pause_us: float, max_events: int) -> int:
        return int(call_policy(self._decide, self._running, float(horizon_us), float(pause_us), max_events))

    def _set(self, **arrays: np.ndarray) -> None:
        """Continue with other arrays in place of some."""
        self.state = self.state._replace(**arrays)
        self._running.set_state(self.state)

    def _carry_out(self, orders: list[np.ndarray]) -> None:
        """Carry out orders from outside the loop."""
        self._set(orders=np.concatenate(orders))
        try:
            if self._call(math.inf, math.inf, 0) == BROKEN:
                raise broken(self.state.run[0])
        finally:
            self._set(orders=np.empty(0, ORDER))

    def begin_placed(self, tasks: np.ndarray, units: np.ndarray, n_jobs: int) -> None:
        self._carry_out([_orders(ARRIVES, np.zeros(n_jobs), np.zeros(n_jobs)), _orders(STARTS, tasks, units)])
        self.state.run["to_ask"], self.state.run["timer_us"] = TIMER, self.state.run["now_us"]

    def place(self, tasks: np.ndarray, units: np.ndarray, moves: np.ndarray) -> None:
        starts = (units >= 0) & (self.state.task_unit[tasks] == PENDING)
        self._carry_out([_orders(MOVES, tasks[moves], units[moves]), _orders(STARTS, tasks[starts], units[starts])])

    def pending(self) -> np.ndarray:
        n_arrived = int(self.state.run[0]["n_arrived"])
        return np.flatnonzero(self.state.task_unit[:n_arrived] == PENDING)

    def eligible_us(self) -> np.ndarray:
        return self.state.job_eligible_us

    def granted_us(self) -> np.ndarray:
        return self.state.task_granted_us

    def failures(self) -> tuple[Outage, ...]:
        return () if self._changes is None else self._changes.failures_before(int(self.state.run[0]["next_change"]))

    def early_ends(self) -> EarlyEnds:
        state = self.state
        log = state.ended[: int(state.run[0]["n_ended"])]
        ends = EarlyEnds.of_columns(log[name] for name in EarlyEnds._fields)
        killed = np.empty(0, np.int64)
        if len(state.task_killed):
            is_killed = state.task_killed > 0
            running = np.flatnonzero(state.task_slot >= 0)
            is_killed[running] = state.slot["killed"][state.task_slot[running]] > 0
            killed = np.flatnonzero(is_killed)
        return with_killed(ends, killed, self.columns(), state.task_left, self.followers())

    def early_held(self) -> tuple[np.ndarray, np.ndarray]:
        found = self.state.ended_held[: int(self.state.run[0]["n_ended_held"])]
        return found[:, 0], found[:, 1].astype(np.int32)

    def set_clock(self, now_us: float) -> None:
        self.state.run["now_us"] = now_us

    @property
    def now_us(self) -> float:
        return float(self.state.run[0]["now_us"])

    @property
    def n_events(self) -> int:
        return int(self.state.run[0]["n_events"])

    @property
    def n_done(self) -> int:
        return int(self.state.run[0]["n_done"])

    @property
    def n_pending(self) -> int:
        return int(self.state.run[0]["n_pending"])

    @property
    def unit_load(self) -> np.ndarray:
        return self.state.unit["load"]

    def is_due(self, tasks: np.ndarray) -> np.ndarray:
        model, state, due = self.model, self.state, np.zeros(len(tasks), bool)
        unit = state.task_unit[tasks]
        shared = model.unit_parallelism[unit] < model.unit_capacity[unit]
        if shared.any():  # else segments have no service that is due
            due[shared] = state.slot["due"][state.task_slot[tasks[shared]]] <= state.work_done[unit[shared]]
        return due

    def columns(self) -> dict[str, np.ndarray]:
        return {name: getattr(self.state, name) for name in COLUMNS}

    def held(self) -> tuple[np.ndarray, np.ndarray]:
        of_task = np.diff(self.model.task_held)
        task, unit = np.repeat(np.arange(len(of_task)), of_task), self.state.held_unit
        return task[unit >= 0], unit[unit >= 0]

    def serving(self, end_us: float) -> Serving:
        return serving_columns(self.model, self.state, end_us)

    def peaks_mw(self) -> np.ndarray:
        return self.state.peak_mw

    def followers(self) -> np.ndarray:
        following = self.state.task_follower
        if not len(following):
            return np.empty(0, np.int64)
        return np.sort(following[following >= 0]).astype(np.int64)


def _orders(what: int, tasks: np.ndarray, units: np.ndarray) -> np.ndarray:
    rows = np.empty(len(tasks), ORDER)
    rows["what"], rows["task"], rows["unit"] = what, tasks, units
    return rows


def longer(log: np.ndarray, n: int, n_more: int) -> np.ndarray:
    """Return a log with room for more, of which n rows are used; if it must grow, it becomes at least twice as long."""
    if n + n_more <= len(log):
        return log
    found = np.zeros((max(n + n_more, 2 * len(log)), *log.shape[1:]), log.dtype)
    found[:n] = log[:n]
    return found


def serving_columns(model: Any, state: Any, end_us: float) -> Serving:
    """Return the columns. Of the stretch of steps that an engine runs at the end, the steps that ended count."""
    peak, memory_us = np.full((2, len(model.unit_type)), np.nan)
    for engine, unit in zip(state.engine, model.engine_unit, strict=True):
        peak[unit], memory_us[unit] = engine["peak"], engine["memory_us"]
        kind = model.type_batching[model.unit_type[unit], STEP]
        n_running, n_tokens, at_us = int(engine["n_running"]), int(engine["memory"]), float(engine["at_us"])
        n_tokens += int(engine["grows"]) * int(engine["n_ended"])
        twice = int(engine["twice"])
        if engine["n_ended"] > 0:  # else it has what was admitted to a step that runs
            peak[unit] = max(peak[unit], n_tokens - twice)
        for _ in range(int(engine["n_ended"]) + 1, int(engine["n_steps"])):
            n_tokens += n_running
            took_us = float(step_us(model, kind, 0, 0, 0, n_running, n_tokens))
            at_us += took_us
            if at_us > end_us:
                break
            peak[unit] = max(peak[unit], n_tokens - twice)
            memory_us[unit] += (n_tokens - twice) * took_us
    return Serving(
        state.task_scheduled_us, state.task_first_us, state.task_preempted, state.task_found, peak, memory_us
    )
