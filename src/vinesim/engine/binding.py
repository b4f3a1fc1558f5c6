"""Bind the event loop to a policy and compile it, or load it from the disk cache.

For long runs, and for many runs that are as long together, the loop is specialised to the policy: ``decide`` is called
by name and inlined. Other runs share one loop, compiled once for all policies, which asks the policy through a slot
(``engine/slot.py``).
The loop is kept on the disk under a hash of the policy, the package's kernels and Numba's version
(``engine/machine_code.py``), so an edited policy never runs its old code.
"""

import types
from functools import cache
from typing import Any, NamedTuple

import vinesim.state.gangs
import vinesim.state.indexed
import vinesim.state.quotas
import vinesim.state.trial  # noqa: F401
from vinesim.engine import block, loop, slot, turn
from vinesim.engine.machine_code import BLOCK, IN_SLOT, LOOP, TURN, digest_of, loop_for_all
from vinesim.engine.policy_kernels import kernel_of
from vinesim.policies.declarations import functions_of, may_preempt
from vinesim.state import places, queries
from vinesim.state.by_reference import Arrays
from vinesim.state.kernel import address_for, is_kept_for, is_loaded, kept, policy_call, types_of
from vinesim.state.machine_code import is_kept

SEARCHES = {  # queries that the index of nodes answers, besides those for gangs
    queries.closest_free,
    queries.fastest_free,
    queries.fastest_free_without,
    queries.first_free,
    queries.is_available,
    queries.least_busy,
}
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
    """Return the loop for runs of so many tasks: with the policy inlined if that is worth it, or there; else with it in
    the slot."""
    digest = digest_of(decide)
    if n_tasks >= INLINED_FROM:
        return _inlined(decide, kernel, digest)
    in_slot = _in_slot(decide, kernel, digest)
    is_in_slot = _is_compiled((IN_SLOT[kernel], digest))  # then the disk is not looked at: that takes as long as a run
    if not _is_compiled((kernel, digest)) and (is_in_slot or not is_kept(kernel, digest)):
        return in_slot
    return Bound(OfShortRun(_inlined(decide, kernel, digest).loop, in_slot.loop), in_slot.keeps)


def _is_compiled(name: tuple[str, str]) -> bool:
    return name in _loops and len(_loops[name].loop.signatures) > 0


def _inlined(decide: Any, kernel: str, digest: str) -> Bound:
    if (kernel, digest) not in _loops:
        bindings = {"decide": kernel_of(decide, {}), "PREEMPTS": may_preempt(decide)}
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
        names = {**slot.answer.__globals__, "decide": kernel_of(decide, {})}
        answer = policy_call(types.FunctionType(slot.answer.__code__, names, slot.answer.__name__))
        self._kernel = kept(slot.run_in_slot, digest, {"answer": answer}, IN_SLOT[kernel])
        self._of = kernel, may_preempt(decide)

    def __call__(self, model: Arrays, state: Arrays, *others: Any) -> int:
        return int(self._kernel(model, slot.Seen(state.arrays), *others, self._loop(model, state)))

    def addresses(self, model: Arrays, state: Arrays, *others: Any) -> tuple[int, ...]:
        """Where its code for such arguments is, and the loop for all policies."""
        loop_ = self._loop(model, state)
        return *addresses(self._kernel, model, slot.Seen(state.arrays), *others, loop_), loop_

    def _loop(self, model: Arrays, state: Arrays) -> int:
        return _address_for_all(*self._of, model._numba_type_, state._numba_type_)

    def is_loaded(self, model: Arrays, state: Arrays, *others: Any) -> bool:
        """Whether this process has the policy's code for such arguments, and the loop."""
        made = _loops_for_all.get(loop_for_all(*self._of)[0])
        kinds = slot.types_of_loop(model._numba_type_, state._numba_type_)
        is_there = made is not None and kinds in made.overloads
        return is_there and is_loaded(self._kernel, model, slot.Seen(state.arrays), *others, 0)

    @property
    def signatures(self) -> Any:
        return self._kernel.signatures


class OfShortRun:
    """The loop of one short run of a policy that was inlined before: inlined again if that is there for such arrays,
    which are of other types where tasks hold several units, for example."""

    def __init__(self, inlined: Any, in_slot: InSlot):
        self._inlined, self._in_slot = inlined, in_slot
        self.chosen: Any = None  # when it is first called

    def __call__(self, *arguments: Any) -> int:
        return int(self._choose(*arguments)(*arguments))

    def addresses(self, *arguments: Any) -> tuple[int, ...]:
        """Where the code of the chosen one is."""
        return addresses(self._choose(*arguments), *arguments)

    def _choose(self, *arguments: Any) -> Any:
        if self.chosen is None:
            in_slot = not is_loaded(self._inlined, *arguments) and (
                self._in_slot.is_loaded(*arguments) or not is_kept_for(self._inlined, *arguments)
            )
            self.chosen = self._in_slot if in_slot else self._inlined
        return self.chosen


def addresses(loop: Any, *arguments: Any) -> tuple[int, ...]:
    """Where the machine code of a loop for such arguments is, compiled or loaded if need be, and what else that code is
    given at the end, as ``slot.call_loop`` calls it."""
    if isinstance(loop, InSlot | OfShortRun):
        return loop.addresses(*arguments)
    return (address_for(loop, types_of(*arguments)),)


@cache
def _address_for_all(kernel: str, preempts: bool, model: Any, state: Any) -> int:
    """The address of the loop for all policies, or for all that preempt, of a model and a state of these types."""
    title, digest = loop_for_all(kernel, preempts)
    if title not in _loops_for_all:
        bindings = {"decide": slot.ask, "PREEMPTS": preempts}
        _loops_for_all[title] = kept(loop.run_events, digest, bindings, title, no_cpython_wrapper=True)
    return address_for(_loops_for_all[title], slot.types_of_loop(model, state))


def _keeps(used: set[Any]) -> dict[str, bool]:
    """Return what the state must keep for the queries that a policy uses."""
    counts_kinds = queries.node_tasks_of in used
    scores_nodes = counts_kinds or not {queries.best_node, queries.random_node}.isdisjoint(used)
    return {
        "counts_free": queries.random_free in used,
        "scores_nodes": scores_nodes,
        "counts_kinds": counts_kinds,
        "counts_tasks": queries.least_busy in used,
        "indexes_nodes": not scores_nodes or not SEARCHES.isdisjoint(used),
        "sets_offers": places.set_offer in used,
    }


def bound_block(decide: Any) -> Any:
    """Return the kernel ``run_block``, which does many runs in one call with the loop that it is given."""
    digest = digest_of(decide)
    if digest not in _blocks:
        _blocks[digest] = kept(block.run_block, digest, {})
    return _blocks[digest]


def bound_turn(decide: Any, renumbered: Any) -> Bound:
    """Return the same for ``run_turn``, one turn of a live scheduler."""
    digest = digest_of(decide, renumbered)
    if (TURN, digest) not in _loops:
        kernels_: dict[Any, Any] = {}
        bindings = {"decide": kernel_of(decide, kernels_), "renumbered": kernel_of(renumbered, kernels_, True)}
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
