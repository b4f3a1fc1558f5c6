"""Bind the event loop to a policy and compile it, or load it from the disk cache.

For long runs, and for many runs in one call, the loop is specialised to the policy: ``decide`` is called by name and
inlined. Other runs share one loop, compiled once for all policies, which asks the policy through a slot
(``engine/slot.py``).
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

import vinesim.state.gangs
import vinesim.state.indexed
import vinesim.state.quotas
import vinesim.state.trial  # noqa: F401
from vinesim.engine import block, loop, slot, steps, turn
from vinesim.engine.beside import Left, beside
from vinesim.engine.contract import BROKEN, GO_ON, LEFT, NEED_ROOM, asked, broken
from vinesim.engine.ends import with_killed
from vinesim.engine.fingerprint import fingerprint
from vinesim.engine.guards import QUERIES, guarded, guarded_module
from vinesim.engine.machine_code import BLOCK, IN_SLOT, LOOP, TURN, digest_of, kernels, loop_for, loop_for_all
from vinesim.model.result import EarlyEnds
from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.declarations import functions_of, may_preempt
from vinesim.state import places, queries
from vinesim.state.by_reference import Arrays
from vinesim.state.held_units import held_units
from vinesim.state.initial import build_state
from vinesim.state.kernel import kept, policy_call, policy_kernel
from vinesim.state.layout import PENDING, Model, State
from vinesim.state.machine_code import is_kept
from vinesim.state.scratch import build_options, build_scratch

SEARCHES = {  # queries that the index of nodes answers, besides those for gangs
    queries.closest_free,
    queries.fastest_free,
    queries.fastest_free_without,
    queries.first_free,
    queries.is_available,
    queries.least_busy,
}
LONG_CODE = 300  # bytes of bytecode; longer helpers of a policy stay calls: inlined, the longest took 3 times as long
INLINED_FROM = 400_000  # tasks of a run for which a policy is inlined: it takes seconds, and saves up to 7 ns each


class Bound(NamedTuple):
    """The result of binding the loop to a policy's ``decide``."""

    loop: Any  # the event loop, compiled when it is first called
    keeps: dict[str, bool]  # what the state must keep for it, as arguments of build_state


def bound(decide: Any, kernel: str = LOOP) -> Bound:
    """Return the event loop for one policy's ``decide``: LOOP, or LOOP_OF_SEVERAL, which are compiled apart.

    The fingerprint is taken at every call, so a helper or a constant that was changed in this session counts too.
    """
    return _inlined(decide, kernel, digest_of(decide))


def bound_in_slot(decide: Any, kernel: str) -> Bound:
    """Return what does the same with the loop for all policies."""
    return _in_slot(decide, kernel, digest_of(decide))


def bound_for(decide: Any, kernel: str, n_tasks: int) -> Bound:
    """Return the loop for one run: with the policy inlined if that is there, or worth it; else with it in the slot."""
    digest = digest_of(decide)
    inlined, in_slot = (kernel, digest), (IN_SLOT[kernel], digest)
    if n_tasks >= INLINED_FROM or _is_compiled(inlined) or (not _is_compiled(in_slot) and is_kept(*inlined)):
        return _inlined(decide, *inlined)
    return _in_slot(decide, *inlined)


def _is_compiled(name: tuple[str, str]) -> bool:
    return name in _loops and len(_loops[name].loop.signatures) > 0


def _inlined(decide: Any, kernel: str, digest: str) -> Bound:
    if (kernel, digest) not in _loops:
        bindings = {"decide": _kernel_of(decide, {}), "PREEMPTS": may_preempt(decide)}
        made = kept(loop.run_events, digest, bindings, kernel)
        _loops[kernel, digest] = Bound(made, _keeps(functions_of(decide)))
    return _loops[kernel, digest]


def _in_slot(decide: Any, kernel: str, digest: str) -> Bound:
    name = IN_SLOT[kernel], digest
    if name not in _loops:
        _loops[name] = Bound(InSlot(decide, kernel, digest), _keeps(functions_of(decide)))
    return _loops[name]


class InSlot:
    """A policy's function, compiled, and the loop for all policies that asks it."""

    def __init__(self, decide: Any, kernel: str, digest: str):
        names = {**slot.answer.__globals__, "decide": _kernel_of(decide, {})}
        answer = policy_call(types.FunctionType(slot.answer.__code__, names, slot.answer.__name__))
        self._kernel = kept(slot.run_in_slot, digest, {"answer": answer}, IN_SLOT[kernel])
        self._of = kernel, may_preempt(decide)

    def __call__(self, model: Arrays, state: Arrays, *others: Any) -> int:
        loop_ = _address_for_all(*self._of, model._numba_type_, state._numba_type_)
        return int(self._kernel(model, state, *others, loop_))

    @property
    def signatures(self) -> Any:
        return self._kernel.signatures


@cache
def _address_for_all(kernel: str, preempts: bool, model: Any, state: Any) -> int:
    """The address of the loop for all policies, or for all that preempt, of a model and a state of these types."""
    title, digest = loop_for_all(kernel, preempts)
    if title not in _loops_for_all:
        bindings = {"decide": slot.ask, "PREEMPTS": preempts}
        _loops_for_all[title] = kept(loop.run_events, digest, bindings, title, no_cpython_wrapper=True)
    kinds = slot.types_of_loop(model, state)
    _loops_for_all[title].compile(kinds)
    made = _loops_for_all[title].overloads[kinds]
    return int(made.library.get_pointer_to_function(made.fndesc.llvm_func_name))


def _keeps(used: set[Any]) -> dict[str, bool]:
    """Return what the state must keep for the queries that a policy uses."""
    counts_kinds = queries.node_tasks_of in used
    scores_nodes = counts_kinds or not {queries.best_node, queries.random_node}.isdisjoint(used)
    return {
        "counts_free": queries.random_free in used,
        "scores_nodes": scores_nodes,
        "counts_kinds": counts_kinds,
        "indexes_nodes": not scores_nodes or not SEARCHES.isdisjoint(used),
        "sets_offers": places.set_offer in used,
    }


def bound_block(decide: Any) -> Any:
    """Return the same for ``run_block``, which does many runs in one call."""
    digest = digest_of(decide)
    if digest not in _blocks:
        _blocks[digest] = kept(block.run_block, digest, {"run_events": bound(decide).loop})
    return _blocks[digest]


def bound_turn(decide: Any, renumbered: Any) -> Bound:
    """Return the same for ``run_turn``, one turn of a live scheduler."""
    digest = digest_of(decide, renumbered)
    if (TURN, digest) not in _loops:
        kernels_: dict[Any, Any] = {}
        bindings = {"decide": _kernel_of(decide, kernels_), "renumbered": _kernel_of(renumbered, kernels_, True)}
        made = kept(turn.run_turn, digest, bindings)
        _loops[TURN, digest] = Bound(made, _keeps(functions_of(decide)))
    return _loops[TURN, digest]


def is_bound(decide: Any, kernel: str) -> bool:
    """Whether one of a policy's kernels, LOOP, LOOP_OF_SEVERAL or BLOCK, was compiled, or loaded, in this process."""
    if not _loops:
        return False
    digest = digest_of(decide)
    if kernel == BLOCK:
        return digest in _blocks and len(_blocks[digest].signatures) > 0
    return _is_compiled((kernel, digest)) or _is_compiled((IN_SLOT[kernel], digest))


_loops: dict[tuple[str, str], Bound] = {}
_loops_for_all: dict[str, Any] = {}
_blocks: dict[str, Any] = {}


def _kernel_of(function: Any, made: dict[Any, Any], is_helper: bool = False) -> Any:
    """Make a policy's function a kernel; the plain functions that it calls become kernels too, long ones as calls.

    Kernels of a policy check array bounds, and the queries that a user's policy calls check the numbers that they are
    given: a wrong index is an error, not a wrong answer.
    """
    if function not in made:
        made[function] = None  # a recursive function keeps its plain name
        used: dict[str, Any] = {}
        is_own = function.__module__.startswith("vinesim.")
        for name in function.__code__.co_names:
            value = function.__globals__.get(name)
            if not is_own and inspect.ismodule(value):
                used[name] = guarded_module(value)
            elif not is_own and inspect.isfunction(value) and value in QUERIES:
                used[name] = guarded(value)
            elif inspect.isfunction(value) and not value.__module__.startswith("vinesim.state"):
                used[name] = _kernel_of(value, made, True) or value
            elif name in function.__globals__:
                used[name] = value
        made[function] = _shared(function, used) if is_helper else policy_kernel(_copied(function, used))
    return made[function]


def _shared(function: Any, used: dict[str, Any]) -> Any:
    """The kernel of a helper: the same for all policies that call it, while all that it is made from is the same."""
    options = (function.__kwdefaults__ or {}).values()
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    made_from = (function.__code__, function.__defaults__, *options, *cells, *used.values())
    try:
        hash(made_from)
    except TypeError:  # it uses something that can change, such as an array
        return _helper(function, used)
    name = (fingerprint(function), *used, *map(id, made_from))
    if name not in _helpers:
        _helpers[name] = made_from, _helper(function, used)  # what is kept keeps its number
    return _helpers[name][1]


_helpers: dict[Any, Any] = {}


def _helper(function: Any, used: dict[str, Any]) -> Any:
    is_long = len(function.__code__.co_code) > LONG_CODE
    return (policy_call if is_long else policy_kernel)(_copied(function, used))


def _copied(function: Any, used: dict[str, Any]) -> Any:
    """A function with other values of the names that it uses."""
    copy = types.FunctionType(
        function.__code__,
        {**function.__globals__, **used},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    return copy


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
        self.state = build_state(model, seed, ends_early=ends_early, capacities_stay=not ends_early, **made.keeps)
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
        self.state.run["had_outage"] = after_outage
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
