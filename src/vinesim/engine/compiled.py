"""Bind the event loop to a policy and compile it, or load it from the disk cache.

The loop is specialised to the policy: ``decide`` is called by name and inlined. A typed function slot would compile
the loop once for all policies, but needs one signature for policies whose options and scratch differ in type.
The cache key of the bound loop holds a hash of the sources of the policy, the package's kernels and Numba's version,
so an edited policy never runs its old code.
"""

import hashlib
import inspect
import types
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
import numpy as np

import vinesim.state.indexed  # noqa: F401  registers the compiled queries
from vinesim.engine import actions, loop
from vinesim.engine.contract import BROKEN, BrokenContract, asked
from vinesim.engine.fingerprint import fingerprint
from vinesim.model.errors import InputWarning
from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.declarations import functions_of
from vinesim.state import queries
from vinesim.state.build import build_state
from vinesim.state.by_reference import by_reference
from vinesim.state.kernel import OPTIONS, policy_kernel
from vinesim.state.layout import Model
from vinesim.state.scratch import build_options, build_scratch

PACKAGE = Path(__file__).parent.parent


@lru_cache(maxsize=1)
def _kernels() -> bytes:
    """Hash of everything that the package itself compiles into a loop."""
    digest = hashlib.sha256(f"{numba.__version__} {np.__version__}".encode())
    for folder in ("state", "engine"):
        for path in sorted((PACKAGE / folder).glob("*.py")):
            digest.update(path.read_bytes())
    return digest.digest()


def bound_loop(decide: Any) -> Any:
    """The event loop for one policy's ``decide``, compiled when it is first called.

    The fingerprint is taken at every call, so a helper or a constant that was changed in this session counts too.
    """
    digest = hashlib.sha256(_kernels() + fingerprint(decide)).hexdigest()
    if digest not in _loops:
        _loops[digest] = _compiled(loop.run_events, digest, decide=_kernel_of(decide, {}))
    return _loops[digest]


_loops: dict[str, Any] = {}


def _kernel_of(function: Any, made: dict[Any, Any]) -> Any:
    """A policy's function as a kernel; the plain functions that it calls become kernels too.

    Kernels of a policy check array bounds: a wrong index is an error with its line, not a wrong answer.
    """
    if function not in made:
        made[function] = None  # a function that calls itself keeps its plain name
        globals_ = dict(function.__globals__)
        for name in function.__code__.co_names:
            value = globals_.get(name)
            if inspect.isfunction(value) and not value.__module__.startswith("vinesim.state"):
                globals_[name] = _kernel_of(value, made) or value
        copy = types.FunctionType(
            function.__code__, globals_, function.__name__, function.__defaults__, function.__closure__
        )
        copy.__kwdefaults__ = function.__kwdefaults__
        copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
        made[function] = policy_kernel(copy)
    return made[function]


def _compiled(source: Any, digest: str, **names: Any) -> Any:
    """A kernel with some names bound, cached on disk under a name of its own: Numba's cache looks at the file that a
    function is in, not at those that it calls."""
    bound = types.FunctionType(source.__code__, {**source.__globals__, **names}, f"{source.__name__}_{digest[:16]}")
    bound.__qualname__ = bound.__name__
    bound.__module__ = source.__module__
    try:
        return numba.njit(cache=True, **OPTIONS)(bound)
    except RuntimeError:  # no folder that the cache could be written to
        warnings.warn(
            "compiled policies cannot be kept: neither the package's folder nor the home folder can be written. "
            "Set NUMBA_CACHE_DIR to a folder that can, or every run compiles anew",
            InputWarning,
            stacklevel=2,
        )
        return numba.njit(**OPTIONS)(bound)


class CompiledRun:
    """One run of the compiled engine: the loop bound to a policy, the model, and the state it changes."""

    def __init__(self, model: Model, policy: OnlinePolicy, seed: int, may_overcommit: bool):
        self.model = model
        self.state = build_state(model, seed, counts_free=queries.random_free in functions_of(policy.decide))
        self._decide = policy.decide
        self._loop = bound_loop(policy.decide)
        self._options = build_options(policy.number_of_options())
        self._scratch = build_scratch(policy.scratch, model)
        self._may_overcommit = may_overcommit

    def advance(self, horizon_us: float, batch_us: float, max_events: int) -> int:
        """Handle events; returns why it stopped (engine/loop.py)."""
        why = asked(
            self._decide,
            self._loop,
            self.model,
            self.state,
            self._options,
            self._scratch,
            self._may_overcommit,
            float(horizon_us),
            float(batch_us),
            max_events,
        )
        if why == BROKEN:
            run = self.state.run[0]
            raise BrokenContract(int(run["error"]), int(run["error_task"]), int(run["error_unit"]))
        return why

    def pending(self) -> np.ndarray:
        """The pending tasks, oldest first."""
        n_arrived = int(self.state.run[0]["n_arrived"])
        return np.flatnonzero(self.state.task_unit[:n_arrived] < 0)

    def start(self, task: int, unit: int) -> None:
        """Start one task, as an action of the policy would."""
        if not bound_step(start_task)(self.model, self.state, task, unit, self._may_overcommit):
            run = self.state.run[0]
            raise BrokenContract(int(run["error"]), int(run["error_task"]), int(run["error_unit"]))

    def move(self, task: int, unit: int) -> None:
        """Move one running task."""
        bound_step(move_task)(self.model, self.state, task, unit)

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

    def columns(self) -> dict[str, np.ndarray]:
        """The task columns that the run filled."""
        names = ("task_unit", "task_init_us", "task_start_us", "task_finish_us")
        return {name: getattr(self.state, name) for name in names}

    def followers(self) -> np.ndarray:
        """The tasks that were started together with another one, which leads them."""
        following = self.state.task_in_batch
        return np.sort(following[following >= 0]).astype(np.int64)


@lru_cache(maxsize=2)
def bound_step(step: Any) -> Any:
    """``start_task`` or ``move_task``, compiled when it is first called."""
    return _compiled(step, _kernels().hex())


def start_task(model_arrays, state_arrays, task, unit, may_overcommit):
    model, state = by_reference(model_arrays), by_reference(state_arrays)
    return actions.perform(model, state, queries.start(task, unit), may_overcommit)


def move_task(model_arrays, state_arrays, task, unit):
    actions.move(by_reference(model_arrays), by_reference(state_arrays), task, unit)
