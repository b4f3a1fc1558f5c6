"""Bind the event loop to a policy and compile it, or load it from the disk cache.

The loop is specialised to the policy: ``decide`` is called by name and inlined. A typed function slot would compile
the loop once for all policies, but needs one signature for policies whose options and scratch differ in type.
The cache key of the bound loop holds a hash of the sources of the policy, the package's kernels and Numba's version,
so an edited policy never runs its old code.
"""

import hashlib
import inspect
import math
import types
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np

import vinesim.state.indexed  # noqa: F401  registers the compiled queries
from vinesim.engine import actions, block, loop
from vinesim.engine.beside import Left, beside
from vinesim.engine.contract import BROKEN, LEFT, asked, broken
from vinesim.engine.fingerprint import fingerprint
from vinesim.model.errors import InputWarning
from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.declarations import functions_of
from vinesim.state import queries
from vinesim.state.build import build_state
from vinesim.state.by_reference import by_reference
from vinesim.state.kernel import OPTIONS, policy_call, policy_kernel
from vinesim.state.layout import PENDING, Model, State
from vinesim.state.scratch import build_options, build_scratch

PACKAGE = Path(__file__).parent.parent
LONG_CODE = 300  # bytes of bytecode; longer helpers of a policy stay calls: inlined, the longest took 3 times as long


@lru_cache(maxsize=1)
def _kernels() -> bytes:
    """Return a hash of everything in the package that is compiled into a loop."""
    digest = hashlib.sha256(f"{numba.__version__} {np.__version__}".encode())
    for folder in ("state", "engine"):
        for path in sorted((PACKAGE / folder).glob("*.py")):
            digest.update(path.read_bytes())
    return digest.digest()


class Bound(NamedTuple):
    """The result of binding the loop to a policy's ``decide``."""

    loop: Any  # the event loop, compiled when it is first called
    counts_free: bool  # whether the state must count the units with room for it


def bound(decide: Any) -> Bound:
    """Return the event loop for one policy's ``decide``.

    The fingerprint is taken at every call, so a helper or a constant that was changed in this session counts too.
    """
    digest = _digest(decide)
    if digest not in _loops:
        made = _compiled(loop.run_events, digest, decide=_kernel_of(decide, {}))
        _loops[digest] = Bound(made, queries.random_free in functions_of(decide))
    return _loops[digest]


def bound_block(decide: Any) -> Any:
    """Return the same for ``run_block``, which does many runs in one call."""
    digest = _digest(decide)
    if digest not in _blocks:
        _blocks[digest] = _compiled(block.run_block, digest, run_events=bound(decide).loop)
    return _blocks[digest]


def _digest(decide: Any) -> str:
    return hashlib.sha256(_kernels() + fingerprint(decide)).hexdigest()


_loops: dict[str, Bound] = {}
_blocks: dict[str, Any] = {}


def _kernel_of(function: Any, made: dict[Any, Any], is_helper: bool = False) -> Any:
    """Make a policy's function a kernel; the plain functions that it calls become kernels too, long ones as calls.

    Kernels of a policy check array bounds: a wrong index is an error with its line, not a wrong answer.
    """
    if function not in made:
        made[function] = None  # a recursive function keeps its plain name
        globals_ = dict(function.__globals__)
        for name in function.__code__.co_names:
            value = globals_.get(name)
            if inspect.isfunction(value) and not value.__module__.startswith("vinesim.state"):
                globals_[name] = _kernel_of(value, made, True) or value
        copy = types.FunctionType(
            function.__code__, globals_, function.__name__, function.__defaults__, function.__closure__
        )
        copy.__kwdefaults__ = function.__kwdefaults__
        copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
        is_long = is_helper and len(function.__code__.co_code) > LONG_CODE
        made[function] = (policy_call if is_long else policy_kernel)(copy)
    return made[function]


def _compiled(source: Any, digest: str, **names: Any) -> Any:
    """Return a kernel with some names bound, cached on disk under a name of its own, because Numba's own cache checks
    only the file that a function is in, not those that it calls."""
    bound = types.FunctionType(source.__code__, {**source.__globals__, **names}, f"{source.__name__}_{digest[:16]}")
    bound.__qualname__ = bound.__name__
    bound.__module__ = source.__module__
    try:
        return numba.njit(cache=True, **OPTIONS)(bound)
    except RuntimeError:  # no writable folder for the cache
        warnings.warn(
            "compiled policies cannot be cached: neither the package's folder nor the home folder is writable. "
            "Set NUMBA_CACHE_DIR to a writable folder, or every run compiles again",
            InputWarning,
            stacklevel=2,
        )
        return numba.njit(**OPTIONS)(bound)


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
        if not bound_placement()(self.model, self.state, tasks, units, moves, self._may_overcommit):
            raise broken(self.state.run[0])

    def open(self, units: np.ndarray) -> None:
        """Mark the units' node as up."""
        bound_outage()(self.model, self.state, units, True)

    def close(self, units: np.ndarray) -> None:
        """Mark the units' node as down; they take no more tasks."""
        bound_outage()(self.model, self.state, units, False)

    def interrupt(self, tasks: np.ndarray, is_follower: np.ndarray) -> None:
        """Make the running tasks, in increasing order, pending again: all those on their units."""
        bound_interruption()(self.model, self.state, tasks, is_follower)

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

    def followers(self) -> np.ndarray:
        """Return the tasks that were consolidated with another task, their leader."""
        following = self.state.task_follower
        return np.sort(following[following >= 0]).astype(np.int64)


@lru_cache(maxsize=1)
def bound_placement() -> Any:
    """Return ``place_all``, compiled when it is first called."""
    return _compiled(place_all, _kernels().hex())


def place_all(model_arrays, state_arrays, tasks, units, moves, may_overcommit):
    model, state = by_reference(model_arrays), by_reference(state_arrays)
    return actions.place(model, state, tasks, units, moves, may_overcommit)


@lru_cache(maxsize=1)
def bound_outage() -> Any:
    """Return ``open_all``, compiled when it is first called."""
    return _compiled(open_all, _kernels().hex())


def open_all(model_arrays, state_arrays, units, is_open):
    actions.set_open(by_reference(model_arrays), by_reference(state_arrays), units, is_open)


@lru_cache(maxsize=1)
def bound_interruption() -> Any:
    """Return ``interrupt_all``, compiled when it is first called."""
    return _compiled(interrupt_all, _kernels().hex())


def interrupt_all(model_arrays, state_arrays, tasks, is_follower):
    actions.interrupt(by_reference(model_arrays), by_reference(state_arrays), tasks, is_follower)
