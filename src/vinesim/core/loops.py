"""The loops that run policies: made of the kernels, compiled when they are first called, kept in this process and on
the disk.

For long runs, and for many runs that are as long together, the loop is compiled for exactly the features of the run,
and the policy is inlined. Other runs share loops for more features (``features.rounded``), which ask the policy through
a slot (core/slot.py). Both are made from the same functions and give the same bits. The name of each is a hash of all
that it is made from (core/code.py), so an edited policy never runs its old code.
"""

from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numba.core import types

from vinesim.core import block, loop, slot, turn
from vinesim.core.code import ANSWER, BLOCK, LOOP, SHARED_LOOP, Code, Own, digest_of, fingerprint
from vinesim.core.features import Features
from vinesim.core.special import Special
from vinesim.core.state import layout_of
from vinesim.jit.calls import arrays_at, record_at
from vinesim.jit.kernels import address_for, cached_kernel
from vinesim.jit.reference import Arrays, ArraysType, Reference, arrays_type, record_type, words_of
from vinesim.state.arrays import MODEL, ModelArrays, StateArrays, ndim

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
        special = Special(code.features, names)
        made = cached_kernel(loop.run_events, name, special.bound_names(loop.run_events), LOOP)
        _loops[name] = Loop(code.features, _read(special, loop.run_events), made, None)
    return _loops[name]


def in_slot(code: Code) -> Loop:
    """The loop that all policies share, with this one in its slot."""
    name = code.name(ANSWER)
    if name not in _loops:
        shared = _shared(code.rounded, code.name(SHARED_LOOP))
        special = Special(code.rounded, {"decide": code.decide, **_readers(code.own)})
        names = special.bound_names(slot.answer)
        answer = cached_kernel(slot.answer, name, names, ANSWER, no_cpython_wrapper=True)
        fields = shared.fields | _read(special, slot.answer)
        _loops[name] = shared._replace(policy=answer, fields=fields)
    return _loops[name]


def _shared(features: Features, name: str) -> Loop:
    if name not in _loops:
        names = {"decide": slot.ask, "options_of": slot.both_addresses, "scratch_of": slot.same_address}
        special = Special(features, names)
        made = cached_kernel(loop.run_events, name, special.bound_names(loop.run_events), SHARED_LOOP)
        _loops[name] = Loop(features, _read(special, loop.run_events), made, None)
    return _loops[name]


def block_for(features: Features) -> Any:
    """The kernel that does many runs, with the loop for these features whose address it is given."""
    name = digest_of(features, BLOCK)
    if name not in _blocks:
        _blocks[name] = cached_kernel(block.run_block, name, Special(features, {}).bound_names(block.run_block), BLOCK)
    return _blocks[name]


def turn_for(decide: Any, renumbered: Any, features: Features, own: Own) -> Loop:
    """One turn of a live scheduler under a policy."""
    name = digest_of(features, fingerprint(decide), fingerprint(renumbered), own.types())
    if name not in _loops:
        special = Special(features, {"decide": decide, "renumbered": renumbered, **_readers(own)})
        made = cached_kernel(turn.run_turn, name, special.bound_names(turn.run_turn))
        _loops[name] = Loop(features, _read(special, turn.run_turn), made, None)
    return _loops[name]


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
    kinds = Reference(MODEL_TYPE.target), Reference(state_type(features).target), *slot.VIEW, *slot.ADDRESSES
    return address_for(policy, kinds)


def is_loaded(name: str) -> bool:
    """Whether the code of that name was compiled, or loaded, in this process."""
    return name in _loops and len((_loops[name].policy or _loops[name].kernel).signatures) > 0


_loops: dict[str, Loop] = {}
_blocks: dict[str, Any] = {}
