"""The loops that run policies: made of the kernels, compiled when they are first called, kept in this process and on
the disk.

For long runs, and for many runs that are as long together, the loop is compiled for exactly the features of the run,
and the policy is inlined. Other runs share loops for more features (``features.rounded``), which ask the policy through
a slot. Both are made from the same functions and give the same bits. The name of each is a hash of all that it is made
from (core/code.py), so an edited policy never runs its old code.

A slot is the address of the policy's function, of its options and of its arrays, which the loop is given. A further
policy then costs its own code only. As all that is called, it is given other references to the model and the state than
the loop reads (``jit/reference.py``): if it knew those, the loop would read the address of every array again after each
answer, and a task would take a third longer under ``high``.

Many runs of one model, one after another, are one call of ``run_block``, which is given the address of the loop that
single runs of the policy take. Before each run only what the previous run changed is reset.
"""

from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numba.core import types

from vinesim.core import loop, turn
from vinesim.core.code import ANSWER, BLOCK, LOOP, SHARED_LOOP, Code, Own, digest_of, fingerprint
from vinesim.core.features import CONSOLIDATES, Features
from vinesim.core.special import Special
from vinesim.core.state import layout_of
from vinesim.jit.calls import arrays_at, caller, record_at
from vinesim.jit.intrinsics import copy_bytes
from vinesim.jit.kernels import address_for, cached_kernel
from vinesim.jit.reference import Arrays, ArraysType, Reference, arrays_type, by_reference, record_type, words_of
from vinesim.state.arrays import MODEL, ModelArrays, StateArrays, ndim
from vinesim.state.layout import AT_HORIZON, BROKEN, DROPPED, Action, View

ACTION = types.NamedTuple((types.int64, types.int64, types.int64, types.int64, types.float64), Action)
VIEW = (types.float64, types.int64, types.int64, types.int64, types.int64)  # the numbers of a View
ADDRESSES = (types.int64, types.int64)  # of options and scratch
call_policy = caller(ACTION)


# The loop's side


def both_addresses(decide_at, options_at):
    """In place of the options."""
    return decide_at, options_at


def same_address(scratch_at):
    """In place of the policy's arrays."""
    return scratch_at


def ask(model, state, view):
    """Ask the policy in the slot. The loop calls this for ``decide``."""
    decide_at, options_at = view.options
    numbers = (
        np.float64(view.now_us),
        np.int64(view.event),
        np.int64(view.unit),
        np.int64(view.job),
        np.int64(view.task),
    )
    return call_policy(decide_at, (model, state, *numbers, options_at, view.scratch))


# The policy's side


def decide(model, state, view):
    raise NotImplementedError("the slot is not bound to a policy")


record = arrays = decide  # what is at an address: the policy's options, its arrays


def answer(model, state, now_us, event, unit, job, task, options_at, scratch_at):
    """What is at the address in the slot: the policy, for which ``decide`` stands."""
    options, scratch = record(options_at), arrays(scratch_at)
    action = decide(model, state, View(now_us, event, unit, job, task, options, scratch))
    number, n_tasks, place = np.int64(action.task), np.int64(action.n_tasks), np.int64(action.unit)
    return Action(np.int64(action.kind), number, n_tasks, place, np.float64(action.until_us))


WHOLE_RUN = 1 << 62  # events
call_loop = caller(types.int64)


def run_block(
    model_arrays,
    state_arrays,
    decide_at,
    options_at,
    scratch_at,
    horizon_us,
    arrival,
    arrival_us,
    seeds,
    fresh,
    columns,
    loop,
):
    """Run once for each seed, with the arrivals of its row if there is one; the model reads them from ``arrival``.

    Stops after a run in which the policy broke its contract.
    """
    model, state = by_reference(model_arrays), by_reference(state_arrays)
    n_tasks, is_clean = model.task_operations.shape[0], False
    for k in range(seeds.shape[0]):
        set_back(fresh.changed)
        if not is_clean:
            set_back(fresh.kept)
        is_clean = False
        if arrival_us.shape[0] > 0:
            for job in range(arrival.shape[0]):
                arrival[job] = arrival_us[k, job]
        run = state.run[0]
        run.random = seeds[k]
        limits = (np.float64(horizon_us), np.inf, np.int64(WHOLE_RUN))
        why = call_loop(loop, (model_arrays, state_arrays, decide_at, options_at, scratch_at, *limits))
        columns.run[k] = run
        columns.why[k] = why
        if why == BROKEN:
            return
        is_done = run.n_done == n_tasks
        is_clean = is_done and is_plain(state)
        columns.is_plain[k] = is_clean
        if not is_clean:
            forget(state)
        end_us = np.inf
        if not is_done:
            end_us = horizon_us if why == AT_HORIZON else min(run.now_us, horizon_us)
        keep(state, columns, k, end_us)


def set_back(rows):
    for i in range(rows.shape[0]):
        copy_bytes(rows[i, 0], rows[i, 1], rows[i, 2])


def is_plain(state):
    """Whether every task started on its own."""
    plain = True
    for task in range(state.task_unit.shape[0]):
        plain &= state.task_unit[task] >= 0
        if CONSOLIDATES:
            plain &= state.task_follower[task] < 0
    return plain


def forget(state):
    """Clear the times of tasks that did not start, which come from an earlier run."""
    for task in range(state.task_unit.shape[0]):
        if state.task_unit[task] < 0:
            state.task_init_us[task] = np.nan
            state.task_start_us[task] = np.nan
            if state.task_unit[task] != DROPPED:
                state.task_finish_us[task] = np.nan


def keep(state, columns, k, end_us):
    """Write the run's columns to row k."""
    if columns.task_unit.shape[0] > 0:
        copy_all(columns.task_unit, k, state.task_unit)
    if columns.task_init_us.shape[0] > 0:
        copy_all(columns.task_init_us, k, state.task_init_us)
    if columns.task_start_us.shape[0] > 0:
        copy_until(columns.task_start_us, k, state.task_start_us, end_us)
    if columns.task_finish_us.shape[0] > 0:
        copy_until(columns.task_finish_us, k, state.task_finish_us, end_us)
    if CONSOLIDATES and columns.task_follower.shape[0] > 0:
        copy_all(columns.task_follower, k, state.task_follower)


def copy_all(rows, k, values):
    for i in range(values.shape[0]):
        rows[k, i] = values[i]


def copy_until(rows, k, times, end_us):
    """Copy times, without those after the end of the run."""
    for i in range(times.shape[0]):
        rows[k, i] = times[i] if times[i] <= end_us else np.nan


NUMBERS = (types.int64, types.int64, types.int64, types.float64, types.float64, types.int64)  # that the loop is given
MODEL_TYPE = arrays_type(ModelArrays, [(np.dtype(row.dtype), ndim(row), "C", True) for row in MODEL])


class Loop(NamedTuple):
    """A loop for a policy."""

    features: Features
    fields: frozenset[str]  # the arrays of the model that it or the policy reads
    kernel: Any
    policy: Any  # the policy's code for its slot; None: it is inlined


@cache
def state_type(features: Features) -> ArraysType:
    return arrays_type(StateArrays, layout_of(features))


def loop_for(code: Code, n_tasks: int) -> Loop:
    """The loop for runs of ``n_tasks`` tasks."""
    return inlined(code) if code.is_inlined(n_tasks) else in_slot(code)


def inlined(code: Code) -> Loop:
    """The loop for exactly the features of a run, with the policy inlined."""
    name = code.name(LOOP)
    if name not in _loops:
        own = _readers(code.own)
        names = {"decide": code.decide, "record": own["record"], "scratch_of": own["arrays"]}
        _loops[name] = _new_loop(loop.run_events, name, code.features, names, LOOP)
    return _loops[name]


def in_slot(code: Code) -> Loop:
    """The loop that all policies share, with this one in its slot."""
    name = code.name(ANSWER)
    if name not in _loops:
        shared = _shared(code.rounded, code.name(SHARED_LOOP))
        special = Special(code.rounded, {"decide": code.decide, **_readers(code.own)})
        names = special.bound_names(answer)
        made = cached_kernel(answer, name, names, ANSWER, no_cpython_wrapper=True)
        fields = shared.fields | _read(special, answer)
        _loops[name] = shared._replace(policy=made, fields=fields)
    return _loops[name]


def _shared(features: Features, name: str) -> Loop:
    if name not in _loops:
        names = {"decide": ask, "options_of": both_addresses, "scratch_of": same_address}
        _loops[name] = _new_loop(loop.run_events, name, features, names, SHARED_LOOP)
    return _loops[name]


def block_for(features: Features) -> Any:
    """The kernel that does many runs, with the loop for these features whose address it is given."""
    name = digest_of(features, BLOCK)
    if name not in _blocks:
        _blocks[name] = cached_kernel(run_block, name, Special(features, {}).bound_names(run_block), BLOCK)
    return _blocks[name]


def turn_for(decide: Any, renumbered: Any, features: Features, own: Own) -> Loop:
    """One turn of a live scheduler under a policy."""
    name = digest_of(features, fingerprint(decide), fingerprint(renumbered), own.types())
    if name not in _loops:
        names = {"decide": decide, "renumbered": renumbered, **_readers(own)}
        _loops[name] = _new_loop(turn.run_turn, name, features, names)
    return _loops[name]


def forget_refused() -> None:
    """Forget the loops that are not compiled: equal code in another file, or at other lines, is then named by its own
    lines if the compiler refuses it too."""
    for name, made in list(_loops.items()):
        if not (made.policy or made.kernel).overloads:
            _loops.pop(name, None)


def _new_loop(kernel: Any, name: str, features: Features, names: dict[str, Any], label: str = "") -> Loop:
    """A loop that needs no other code: ``names`` are bound in it."""
    special = Special(features, names)
    made = cached_kernel(kernel, name, special.bound_names(kernel), label)
    return Loop(features, _read(special, kernel), made, None)


def _read(special: Special, kernel: Any) -> frozenset[str]:
    """The arrays of the model that a kernel reads, itself and through what it calls."""
    return special.reach(kernel).fields.intersection(ModelArrays._fields)


def _readers(own: Own) -> dict[str, Any]:
    """What reads the policy's options and arrays at their addresses."""
    scratch = [(array.dtype, 1, "C", False) for array in own.scratch]
    return {
        "record": record_at(record_type(own.options.dtype)),
        "arrays": arrays_at(arrays_type(type(own.scratch), scratch).target),
    }


class Running:
    """A loop with the arrays of one run."""

    def __init__(self, made: Loop, model: Any, state: Any, own: Own):
        self._loop, self._own, self._scratch = made, own, words_of(own.scratch)  # what is kept keeps its address
        self._model = Arrays(model.arrays(made.fields), MODEL_TYPE)
        self.set_state(state)

    @cached_property
    def _places(self) -> tuple[int, int, int]:
        """Where what is the policy's own is; its code is compiled, or loaded, when that is first used."""
        made = self._loop
        decide_at = 0 if made.policy is None else _address_of(made.policy, made.features)
        return decide_at, self._own.options.ctypes.data, self._scratch.ctypes.data

    @property
    def is_ready(self) -> bool:
        """Whether nothing is left to compile or load."""
        made = (self._loop.kernel, self._loop.policy)
        return all(one is None or len(one.overloads) > 0 for one in made)

    @property
    def given(self) -> tuple[Any, ...]:
        """What the loop is given besides its limits."""
        return self._model, self._state, *self._places

    @property
    def address(self) -> int:
        """Where the machine code of the loop is, compiled or loaded if need be."""
        return address_for(self._loop.kernel, (MODEL_TYPE, state_type(self._loop.features), *NUMBERS))

    def set_state(self, state: Any) -> None:
        """Let the run go on with other arrays, such as longer ones."""
        self.state = state
        self._state = Arrays(state, state_type(self._loop.features))

    def __call__(self, horizon_us: float, pause_us: float, max_events: int) -> int:
        return int(self._loop.kernel(*self.given, horizon_us, pause_us, max_events))


@cache  # Numba would look for it again in each run
def _address_of(policy: Any, features: Features) -> int:
    kinds = Reference(MODEL_TYPE.target), Reference(state_type(features).target), *VIEW, *ADDRESSES
    return address_for(policy, kinds)


def is_loaded(name: str) -> bool:
    """Whether the code of that name was compiled, or loaded, in this process."""
    return name in _loops and len((_loops[name].policy or _loops[name].kernel).signatures) > 0


_loops: dict[str, Loop] = {}
_blocks: dict[str, Any] = {}
