"""How the package compiles its kernels, and keeps them.

``_nrt=False``: kernels allocate nothing, so arrays need no reference counts; counting made the loop 5 times slower.
``forceinline``: small steps are part of the loop instead of being called. Steps that are called are given other
references to the model and the state than the loop's own (``state/by_reference.py``). With its own, it would read the
address of every array again after each call. A task would take a fifth longer, or a third if it holds several units.
"""

import gc
import types as python
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from llvmlite import ir
from numba import njit
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.typing.typeof import typeof
from numba.extending import intrinsic

import vinesim.state.without_blas  # noqa: F401  before the first kernel
from vinesim.state import machine_code
from vinesim.state.disk_cache import DiskCache
from vinesim.state.machine_code import name_of
from vinesim.state.part import Part, QuickCompiler

OPTIONS: dict[str, Any] = {"_nrt": False, "error_model": "numpy", "nogil": True}


def part(function: Any, is_inlined: bool, checks_bounds: bool = False) -> Part:
    """A kernel that other kernels call. Numba would let ``forceinline`` pass from the caller, so both are said."""
    wrappers = {"no_cfunc_wrapper": True, "no_cpython_wrapper": True}
    return Part(function, {**OPTIONS, **wrappers, "forceinline": is_inlined, "boundscheck": checks_bounds})


kernel = partial(part, is_inlined=False)
inlined = partial(part, is_inlined=True)
policy_kernel = partial(part, is_inlined=True, checks_bounds=True)
policy_call = partial(part, is_inlined=False, checks_bounds=True)


@intrinsic
def not_negative(typing_context, number):
    """Tell the compiler that an integer is 0 or more, so that it leaves out Numba's check whether an index counts from
    the end. That check was a sixth of the event loop."""

    def codegen(context, builder, signature, args):
        value = context.cast(builder, args[0], signature.args[0], types.int64)
        builder.assume(builder.icmp_signed(">=", value, context.get_constant(types.int64, 0)))
        return value

    return types.int64(number), codegen


@intrinsic
def fetch(typing_context, array, i):
    """Let the processor read the element of an array of one dimension, or the row of a matrix, while the code goes on:
    it will be used soon."""

    def codegen(context, builder, signature, args):
        made = context.make_array(signature.args[0])(context, builder, args[0])
        at = builder.mul(args[1], cgutils.unpack_tuple(builder, made.strides)[0])
        place = builder.gep(builder.bitcast(made.data, ir.IntType(8).as_pointer()), [at])
        name, number = "llvm.prefetch.p0", ir.IntType(32)
        signature_ = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
        called = cgutils.get_or_insert_function(builder.module, signature_, name)
        builder.call(called, [place, *(ir.Constant(number, value) for value in (1, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen


@intrinsic
def copy_bytes(typing_context, to, source, n_bytes):
    """Copy bytes from one address to another."""

    def codegen(context, builder, signature, args):
        places = [builder.inttoptr(one, cgutils.voidptr_t) for one in args[:2]]
        cgutils.raw_memcpy(builder, *places, args[2], 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


def _type_of(reference: Any, name: str) -> Any:
    """The type of an array, by the type of the reference to the model or the state that has it."""
    arrays = reference.target
    return arrays.types[arrays.fields.index(name)]


def _is_given(reference: Any, name: str) -> bool:
    """Whether what an array is about is there: it is of 8-bit numbers where it is not."""
    return bool(_type_of(reference, name).dtype != types.int8)


def holds_several(model: Any, *others: Any) -> bool:
    """Whether tasks hold several units, by the type of a model's reference."""
    return _is_given(model, "kind_units")


def has_gangs(model: Any, *others: Any) -> bool:
    """Whether tasks of a job may start together, in the same way."""
    return _is_given(model, "job_gang")


def is_partitioned(model: Any, *others: Any) -> bool:
    """Whether jobs have partitions, in the same way."""
    return _is_given(model, "job_partition")


def has_speed_curves(model: Any, *others: Any) -> bool:
    """Whether task types have speed curves of their own, in the same way."""
    return _is_given(model, "type_curve")


def ends_early(model: Any, state: Any, *others: Any) -> bool:
    """Whether segments may end before their tasks are done, in the same way by the type of a state's reference."""
    if _is_seen(state):
        raise TypingError("the code of a policy is the same whether segments may end early or not")
    return _is_given(state, "task_left")


def writes_held(model: Any, state: Any, *others: Any) -> bool:
    """Whether all that tasks hold is written down, because it may be undone or logged: what policies try out, too."""
    return has_gangs(model) or _is_seen(state) or ends_early(model, state)


def _is_seen(state: Any) -> bool:
    """Whether it is a state for the code of policies (``engine/slot.py``: ``Seen``)."""
    return not _type_of(state, "task_left").mutable


def notes_changes(model: Any, state: Any, *others: Any) -> bool:
    """Whether changes of nodes are noted, in the same way by the type of a state's reference."""
    return _is_given(state, "node_change")


def kept(source: Any, digest: str, names: dict[str, Any], title: str = "", **options: Any) -> Any:
    """A kernel with some names of ``source`` bound, kept on the disk under the hash of all that it is made from.

    ``title`` is in the name of its code; else that is the name of ``source``.
    """
    name = name_of(title or source.__name__, digest)
    bound = python.FunctionType(
        source.__code__, {**source.__globals__, **names}, name, source.__defaults__, source.__closure__
    )
    bound.__qualname__, bound.__module__ = name, source.__module__
    made = njit(**{**OPTIONS, "no_cfunc_wrapper": True, **options}, pipeline_class=QuickCompiler)(bound)
    made.compile = _without_collections(made.compile)
    try:
        made._cache = DiskCache(bound)
    except RuntimeError:
        machine_code.tell_not_kept(machine_code.why_no_folder())
    return made


def types_of(*arguments: Any) -> tuple[Any, ...]:
    """The types of arguments that Python gives."""
    return tuple(map(typeof, arguments))


def address_for(made: Any, kinds: tuple[Any, ...]) -> int:
    """Where the code of a kernel for arguments of these types is, compiled or loaded if need be."""
    made.compile(kinds)
    found = made.overloads[kinds]
    return int(found.library.get_pointer_to_function(found.fndesc.llvm_func_name))


def is_loaded(made: Any, *arguments: Any) -> bool:
    """Whether this process has the code of a kernel for such arguments."""
    return types_of(*arguments) in made.overloads


def is_kept_for(made: Any, *arguments: Any) -> bool:
    """Whether that code is on the disk."""
    return isinstance(made._cache, DiskCache) and made._cache.has(types_of(*arguments), made.targetctx)


def _without_collections(compiles: Callable[..., Any]) -> Callable[..., Any]:
    """What compiles a kernel, or loads it, without looking for cycles meanwhile: Numba makes millions of objects, and a
    quarter of the time went into looking through them again and again."""

    @wraps(compiles)
    def compiles_at_once(*args: Any) -> Any:
        was_on = gc.isenabled()
        gc.disable()
        try:
            return compiles(*args)
        finally:
            if was_on:
                gc.enable()

    return compiles_at_once
