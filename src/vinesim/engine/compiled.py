"""Bind the event loop to a policy and compile it, or load it from the disk cache.

The loop is specialised to the policy: ``decide`` is called by name and inlined. A typed function slot would compile
the loop once for all policies, but needs one signature for policies whose options and scratch differ in type.
The loop is kept on the disk under a hash of the policy, the package's kernels and Numba's version
(``engine/machine_code.py``), so an edited policy never runs its old code.
"""

import inspect
import math
import types
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import vinesim.state.indexed  # noqa: F401  registers the compiled queries
from vinesim.engine import block, loop, steps
from vinesim.engine.beside import Left, beside
from vinesim.engine.contract import BROKEN, LEFT, asked, broken
from vinesim.engine.guards import QUERIES, guarded, guarded_module
from vinesim.engine.machine_code import BLOCK, digest_of, kernels
from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.declarations import functions_of
from vinesim.state import queries
from vinesim.state.build import build_state
from vinesim.state.kernel import kept, policy_call, policy_kernel
from vinesim.state.layout import PENDING, Model, State
from vinesim.state.scratch import build_options, build_scratch

LONG_CODE = 300  # bytes of bytecode; longer helpers of a policy stay calls: inlined, the longest took 3 times as long


class Bound(NamedTuple):
    """The result of binding the loop to a policy's ``decide``."""

    loop: Any  # the event loop, compiled when it is first called
    counts_free: bool  # whether the state must count the units with room for it


def bound(decide: Any) -> Bound:
    """Return the event loop for one policy's ``decide``.

    The fingerprint is taken at every call, so a helper or a constant that was changed in this session counts too.
    """
    digest = digest_of(decide)
    if digest not in _loops:
        made = kept(loop.run_events, digest, {"decide": _kernel_of(decide, {})})
        _loops[digest] = Bound(made, queries.random_free in functions_of(decide))
    return _loops[digest]


def bound_block(decide: Any) -> Any:
    """Return the same for ``run_block``, which does many runs in one call."""
    digest = digest_of(decide)
    if digest not in _blocks:
        _blocks[digest] = kept(block.run_block, digest, {"run_events": bound(decide).loop})
    return _blocks[digest]


def is_bound(decide: Any, kernel: str) -> bool:
    """Whether one of a policy's kernels, LOOP or BLOCK, was compiled, or loaded, in this process."""
    if not _loops:
        return False
    digest = digest_of(decide)
    made = _blocks.get(digest) if kernel == BLOCK else _loops[digest].loop if digest in _loops else None
    return made is not None and len(made.signatures) > 0


_loops: dict[str, Bound] = {}
_blocks: dict[str, Any] = {}


def _kernel_of(function: Any, made: dict[Any, Any], is_helper: bool = False) -> Any:
    """Make a policy's function a kernel; the plain functions that it calls become kernels too, long ones as calls.

    Kernels of a policy check array bounds, and the queries that a user's policy calls check the numbers that they are
    given: a wrong index is an error, not a wrong answer.
    """
    if function not in made:
        made[function] = None  # a recursive function keeps its plain name
        globals_ = dict(function.__globals__)
        is_own = function.__module__.startswith("vinesim.")
        for name in function.__code__.co_names:
            value = globals_.get(name)
            if not is_own and inspect.ismodule(value):
                globals_[name] = guarded_module(value)
            elif not is_own and inspect.isfunction(value) and value in QUERIES:
                globals_[name] = guarded(value)
            elif inspect.isfunction(value) and not value.__module__.startswith("vinesim.state"):
                globals_[name] = _kernel_of(value, made, True) or value
        copy = types.FunctionType(
            function.__code__, globals_, function.__name__, function.__defaults__, function.__closure__
        )
        copy.__kwdefaults__ = function.__kwdefaults__
        copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
        is_long = is_helper and len(function.__code__.co_code) > LONG_CODE
        made[function] = (policy_call if is_long else policy_kernel)(copy)
    return made[function]


class CompiledRun:
    """One run of the compiled engine: the loop bound to a policy, the model, and the state it changes."""

    def __init__(self, model: Model, policy: OnlinePolicy, seed: int, may_overcommit: bool, has_outages: bool = False):
        self.model = model
        made = bound(policy.decide)
        self.state = build_state(model, seed, made.counts_free, has_outages)
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
        return why

    def _call(self, horizon_us: float, pause_us: float, max_events: int) -> int:
        return asked(
            self._decide,
            self._loop,
            self.model,
            self.state,
            self._options,
            self.scratch,
            self._may_overcommit,
            self._sees_every_event,
            float(horizon_us),
            float(pause_us),
            max_events,
        )

    def pending(self) -> np.ndarray:
        """Return the pending tasks, oldest first."""
        n_arrived = int(self.state.run[0]["n_arrived"])
        return np.flatnonzero(self.state.task_unit[:n_arrived] == PENDING)

    def place(self, tasks: np.ndarray, units: np.ndarray, moves: np.ndarray) -> None:
        """Carry out a batch policy's answer: move running tasks, then start pending ones; unit -1 leaves a task."""
        if not _step(steps.place_all)(self.model, self.state, tasks, units, moves, self._may_overcommit):
            raise broken(self.state.run[0])

    def open(self, units: np.ndarray) -> None:
        """Mark the units' node as up."""
        _step(steps.set_open_all)(self.model, self.state, units, True)

    def close(self, units: np.ndarray) -> None:
        """Mark the units' node as down; they take no more tasks."""
        _step(steps.set_open_all)(self.model, self.state, units, False)

    def interrupt(self, tasks: np.ndarray, is_follower: np.ndarray) -> None:
        """Make the running tasks, in increasing order, pending again: all those on their units."""
        _step(steps.interrupt_all)(self.model, self.state, tasks, is_follower)

    def ask_after_outage(self) -> None:
        """Ask the policy next, at this instant."""
        self.state.run["had_outage"] = 1
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
        task, unit = np.repeat(np.arange(len(of_task)), of_task), self.state.held_unit
        return task[unit >= 0], unit[unit >= 0]

    def followers(self) -> np.ndarray:
        """Return the tasks that were consolidated with another task, their leader."""
        following = self.state.task_follower
        return np.sort(following[following >= 0]).astype(np.int64)


@cache
def _step(source: Any) -> Any:
    """A kernel that is the same for all policies."""
    return kept(source, kernels().hex(), {})
