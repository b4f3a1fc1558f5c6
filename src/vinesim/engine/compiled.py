"""One run of the compiled engine."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from vinesim.engine import steps
from vinesim.engine.beside import Left, beside
from vinesim.engine.binding import Bound, bound
from vinesim.engine.contract import BROKEN, GO_ON, LEFT, NEED_ROOM, asked, broken
from vinesim.engine.ends import with_killed
from vinesim.engine.machine_code import kernels, loop_for
from vinesim.model.result import EarlyEnds
from vinesim.policies.contract import OnlinePolicy
from vinesim.state.by_reference import Arrays
from vinesim.state.held_units import held_units
from vinesim.state.initial import build_state
from vinesim.state.kernel import kept
from vinesim.state.layout import OUTAGE, PENDING, TIMER, Model, State
from vinesim.state.scratch import build_options, build_scratch


class CompiledRun:
    """One run of the compiled engine: the loop bound to a policy, the model, and the state it changes."""

    def __init__(
        self,
        model: Model,
        policy: OnlinePolicy,
        seed: int,
        may_overcommit: bool,
        ends_early: bool = False,
        bind: Callable[[Any, str], Bound] = bound,
    ):
        """``bind`` returns the loop for a policy's function; without it, the policy is inlined."""
        self.model = model
        made = bind(policy.decide, loop_for(len(model.kind_units) > 0))
        self.state = build_state(model, seed, ends_early=ends_early, **made.keeps)
        self._decide = policy.decide
        self._loop = made.loop
        self._options = build_options(policy.values_of_options())
        self.scratch = build_scratch(policy.scratch, model)
        self._may_overcommit = may_overcommit
        self._sees_every_event = policy.sees_every_event

    def compile(self) -> None:
        """Compile the loop, or load it from the disk."""
        self._call(math.inf, math.inf, 0)

    def advance(
        self, horizon_us: float, pause_us: float, max_events: int, gives_up: Callable[[], bool] | None = None
    ) -> int:
        """Handle events; return why it stopped (engine/loop.py), or LEFT if ``gives_up``, which is asked at intervals,
        said so: then this run stays as it is, and a thread continues with it. Without ``gives_up`` it cannot be left.
        """
        try:
            if gives_up is None:
                why = self._call(horizon_us, pause_us, max_events)
            else:
                (why,) = beside([lambda: self._call(horizon_us, pause_us, max_events)], gives_up)
        except Left:
            self.state = State(*(array.copy() for array in self.state))
            return LEFT
        if why == BROKEN:
            raise broken(self.state.run[0])
        if why == NEED_ROOM:
            run = self.state.run[0]
            self._make_room(int(run["n_arrived"] - run["n_done"] - run["n_pending"]))
            return GO_ON
        return why

    def _make_room(self, n_more: int) -> None:
        """Make the log of early ends long enough for more rows, and for all the units that tasks may then hold."""
        run, state = self.state.run[0], self.state
        ended = longer(state.ended, int(run["n_ended"]), n_more)
        held = longer(state.ended_held, int(run["n_ended_held"]), len(state.held_unit))
        self.state = state._replace(ended=ended, ended_held=held)

    def _call(self, horizon_us: float, pause_us: float, max_events: int) -> int:
        return asked(
            self._decide,
            self._loop,
            *self._arrays(),
            self._options,
            Arrays(self.scratch),
            self._may_overcommit,
            self._sees_every_event,
            float(horizon_us),
            float(pause_us),
            max_events,
        )

    def _arrays(self) -> tuple[Arrays, Arrays]:
        return Arrays(self.model), Arrays(self.state)

    def pending(self) -> np.ndarray:
        """Return the pending tasks, oldest first."""
        n_arrived = int(self.state.run[0]["n_arrived"])
        return np.flatnonzero(self.state.task_unit[:n_arrived] == PENDING)

    def place(self, tasks: np.ndarray, units: np.ndarray, moves: np.ndarray) -> None:
        """Carry out a batch policy's answer: move running tasks, then start pending ones; unit -1 leaves a task."""
        if not _step(steps.place_all)(*self._arrays(), tasks, units, moves, self._may_overcommit):
            raise broken(self.state.run[0])

    def open(self, units: np.ndarray) -> None:
        """Mark the units' node as up."""
        _step(steps.set_open_all)(*self._arrays(), units, True)

    def close(self, units: np.ndarray) -> None:
        """Mark the units' node as down; they take no more tasks."""
        _step(steps.set_open_all)(*self._arrays(), units, False)

    def interrupt(self, tasks: np.ndarray, why: np.ndarray) -> None:
        """Make the running tasks, in increasing order, pending again: all those on their units."""
        self._make_room(len(tasks))
        if not _step(steps.interrupt_all)(*self._arrays(), tasks, why):
            raise broken(self.state.run[0])

    def withdraw(self, jobs: np.ndarray) -> None:
        """Drop the pending tasks of jobs that have arrived, and end those that run."""
        self._make_room(int(np.diff(self.model.job_first)[jobs].sum()))
        if not _step(steps.withdraw_all)(*self._arrays(), jobs):
            raise broken(self.state.run[0])

    def begin_placed(self, tasks: np.ndarray, units: np.ndarray, n_jobs: int) -> None:
        """Let the first jobs arrive at 0 without asking the policy, and start some of their tasks."""
        if not _step(steps.begin_all)(*self._arrays(), tasks, units, n_jobs, self._may_overcommit):
            raise broken(self.state.run[0])

    @property
    def is_idle(self) -> bool:
        """Whether nothing will finish or arrive, and the policy waits for no time."""
        run = self.state.run[0]
        is_quiet = run["queue_levels"] == 0 and run["queue_now"] < 0 and run["timer_us"] == math.inf
        return bool(is_quiet and run["next_job"] == len(self.model.job_arrival_us))

    def early_ends(self) -> EarlyEnds:
        """Return the segments that ended before their tasks were done, in the order of time."""
        state = self.state
        log = state.ended[: int(state.run[0]["n_ended"])]
        killed = np.flatnonzero(state.task_killed) if len(state.task_killed) else np.empty(0, np.int64)
        return with_killed(EarlyEnds.of(log.tolist()), killed, self.columns(), state.task_left, self.followers())

    def early_held(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the units that tasks held beside their own in segments that ended early."""
        found = self.state.ended_held[: int(self.state.run[0]["n_ended_held"])]
        return found[:, 0], found[:, 1].astype(np.int32)

    def ask(self, after_outage: bool) -> None:
        """Ask the policy next, at this instant."""
        self.state.run["to_ask"] = max(self.state.run[0]["to_ask"], OUTAGE if after_outage else TIMER)
        self.state.run["timer_us"] = self.state.run["now_us"]

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
        return self.state.unit_load

    def is_due(self, tasks: np.ndarray) -> np.ndarray:
        """For running tasks on units that share their speed: whether they have had all their service, and end at this
        instant, one after another."""
        model, state, due = self.model, self.state, np.zeros(len(tasks), bool)
        unit = state.task_unit[tasks]
        shared = model.unit_parallelism[unit] < model.unit_capacity[unit]
        due[shared] = state.work_due[tasks[shared]] <= state.work_done[unit[shared]]
        return due

    def columns(self) -> dict[str, np.ndarray]:
        """Return the task columns that the run filled."""
        names = ("task_unit", "task_init_us", "task_start_us", "task_finish_us")
        return {name: getattr(self.state, name) for name in names}

    def held(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the units that tasks hold, or held last, beside their own: task and unit of each, by task."""
        of_task = np.diff(self.model.task_held)
        task, unit = np.repeat(np.arange(len(of_task)), of_task), held_units(self.model, self.state)
        return task[unit >= 0], unit[unit >= 0]

    def followers(self) -> np.ndarray:
        """Return the tasks that were consolidated with another task, their leader."""
        following = self.state.task_follower
        return np.sort(following[following >= 0]).astype(np.int64)


def longer(log: np.ndarray, n: int, n_more: int) -> np.ndarray:
    """Return a log of which n rows are used with room for more; if it must grow, it is at least twice as long."""
    if n + n_more <= len(log):
        return log
    found = np.zeros((max(n + n_more, 2 * len(log)), *log.shape[1:]), log.dtype)
    found[:n] = log[:n]
    return found


@cache
def _step(source: Any) -> Any:
    """A kernel that is the same for all policies."""
    return kept(source, kernels().hex(), {})
