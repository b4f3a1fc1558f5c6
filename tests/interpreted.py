"""The compiled engine without its compiler: the same kernels, bound to the same features, run as plain Python.

A loop takes half a minute to compile, and many features together have thousands of loops. Interpreted, any of them
begins at once. What differs from machine code: an index beyond an array raises IndexError, and a number that was
promised to be 0 or more is checked.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from ctypes import memmove
from functools import cache
from typing import Any
from unittest.mock import patch
from zlib import crc32

import numpy as np

import vinesim as vs
from vinesim.core import code, loop, loops
from vinesim.core.features import Features
from vinesim.core.loops import Loop
from vinesim.core.special import Special
from vinesim.engine import blocks, compiled
from vinesim.jit import intrinsics, reference
from vinesim.jit.kernels import bound_copy
from vinesim.state.arrays import ModelArrays


def not_negative(number: Any) -> Any:
    assert number >= 0, f"{number} is below 0"
    return number


def keep_largest(numbers: np.ndarray, row: int, below: int, column: int) -> bool:
    largest = numbers[below : below + 4, column : column + 8].max(axis=0)
    has_changed = bool((numbers[row, column : column + 8] != largest).any())
    numbers[row, column : column + 8] = largest
    return has_changed


def number_of(function: Any) -> np.int64:
    return np.int64(crc32(f"{function.__module__}.{function.__qualname__}".encode()))


MEANINGS = {  # of names without a meaning in Python
    intrinsics.not_negative: not_negative,
    intrinsics.trailing_zeros: lambda word: np.uint64((int(word) & -int(word)).bit_length() - 1),
    intrinsics.leading_zeros: lambda word: np.uint64(64 - int(word).bit_length()),
    intrinsics.count_ones: lambda word: np.uint64(int(word).bit_count()),
    intrinsics.bits_of: lambda value: np.float64(value).view(np.uint64),
    intrinsics.prefetch: lambda array, i: None,
    intrinsics.keep_largest: keep_largest,
    intrinsics.number_of: number_of,
    intrinsics.copy_bytes: lambda to, source, n_bytes: memmove(int(to), int(source), int(n_bytes)),
    loops.call_loop: lambda kernel, arguments: kernel(*arguments),
    reference.by_reference: lambda arrays: arrays,
}


class Plain(Special):
    """The kernels of one loop as plain functions."""

    def part(self, function: Any) -> Any:
        if function not in self._made:
            key = self._key(function)
            if key is not None and key in _plain:
                self._made[function] = _plain[key]
                return _plain[key]
            cells = [self._bound_value(cell.cell_contents, function) for cell in function.__closure__ or ()]
            made = self._made[function] = bound_copy(function, {}, cells=cells)
            made.__globals__.update(self.bound_names(function))
            if key is not None:
                _plain[key] = made
        return self._made[function]

    def _bound_value(self, value: Any, user: Any) -> Any:
        meaning = MEANINGS.get(value) if getattr(value, "__hash__", None) else None
        return meaning or super()._bound_value(value, user)


_plain: dict[Any, Any] = {}


@cache
def bound_to(features: Features, decide: Any) -> Loop:
    """The loop for these features and a policy's function."""
    special = Plain(
        features, {"decide": decide, "record": lambda own: own.record, "scratch_of": lambda own: own.arrays}
    )
    fields = special.reach(loop.run_events).fields.intersection(ModelArrays._fields)
    return Loop(features, fields, special.part(loop.run_events), None)


def plain_loop(of_run: code.Code, n_tasks: int) -> Loop:
    """The loop for the features of a run, or for those of the loop that it would share with others."""
    is_inlined = n_tasks >= code.INLINED_FROM
    return bound_to(of_run.features if is_inlined else of_run.rounded, of_run.decide)


def plain_block(features: Features) -> Any:
    """Return the function that does many runs with such a loop."""
    kernel = Plain(features, {}).part(loops.run_block)

    def run_block(*given: Any) -> None:
        with np.errstate(all="ignore"):
            kernel(*given)

    return run_block


def with_records(arrays: Any) -> Any:
    """Return views of the same memory whose rows have their fields as attributes."""
    views = (one.view(np.recarray) if one.dtype.names else one for one in arrays)
    return type(arrays)._make(views)


class PlainRun:
    """A loop with the arrays of one run, as ``core.loops.Running``."""

    is_ready = True

    def __init__(self, made: Loop, model: Any, state: Any, own: Any):
        self.address, self._model = made.kernel, model.arrays(made.fields)
        self.record, self.arrays = own.options.view(np.recarray)[0], with_records(own.scratch)
        self.set_state(state)

    def set_state(self, state: Any) -> None:
        self._state = with_records(state)

    @property
    def given(self) -> tuple[Any, ...]:
        """The arguments of the loop other than its limits."""
        return self._model, self._state, 0, self, self

    def __call__(self, horizon_us: float, pause_us: float, max_events: int) -> int:
        with np.errstate(all="ignore"):
            return int(self.address(*self.given, horizon_us, pause_us, max_events))


@contextmanager
def interpreted() -> Iterator[None]:
    """Make the compiled engine run without a compiler; the kernels of batch policies are still compiled."""
    with ExitStack() as replaced:
        for module in (compiled, blocks):
            replaced.enter_context(patch.object(module, "loop_for", plain_loop))
            replaced.enter_context(patch.object(module, "Running", PlainRun))
        replaced.enter_context(patch.object(blocks, "block_for", plain_block))
        yield


def simulate(scenario: vs.Scenario, engine: str) -> vs.Result:
    """Run a scenario; ``interpreted`` is the compiled engine without its compiler."""
    if engine != "interpreted":
        return vs.simulate(scenario, engine=engine)  # type: ignore[arg-type]
    with interpreted():
        return vs.simulate(scenario, engine="compiled")
