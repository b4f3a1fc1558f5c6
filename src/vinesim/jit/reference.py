"""Pass a NamedTuple of arrays to kernels as a single pointer.

A NamedTuple of 30 arrays is 200 machine words, which every call from a kernel would copy. Kernels that take a reference
read its fields by the same names, and the compiler handles one argument instead of 200. Without references, the event
loop took 17 s to compile.

In LLVM code, a reference is a pointer to bytes. Numba passes that code on as text, in which every pointer to the
structure would spell out all of its fields; that was nine tenths of the text.

Kernels that Python calls take :class:`Arrays`. Otherwise Numba generates code that unpacks each array, which took a
sixth of a loop's compile time.
"""

import hashlib
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from llvmlite import ir
from numba._dispatcher import compute_fingerprint
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.imputils import impl_ret_borrowed, lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.core.typing.typeof import typeof
from numba.extending import NativeValue, infer_getattr, intrinsic, register_model, unbox
from numba.np.numpy_support import from_dtype


class _Pointer(types.Type):
    """A pointer to a NamedTuple; its name is short because it becomes part of every symbol."""

    def __init__(self, target: types.NamedTuple | types.NamedUniTuple):
        self.target = target
        digest = hashlib.sha256(str(target).encode()).hexdigest()[:32]
        super().__init__(f"{type(self).__name__}({target.instance_class.__name__} {digest})")

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The offset of each array's structure, in bytes, and the end of the last one.

        Each structure has 5 words, followed by the array's shape and strides.
        """
        return tuple(accumulate((8 * (5 + 2 * array.ndim) for array in self.target), initial=0))


class Reference(_Pointer):
    """What kernels read: a private copy of the caller's NamedTuple, which the compiler can keep in registers."""


class ArraysType(_Pointer):
    """The type of :class:`Arrays`."""


class Arrays:
    """A NamedTuple of arrays as an argument of a kernel, which reads it through ``by_reference``."""

    def __init__(self, arrays: Any, kind: ArraysType | None = None):
        """``kind`` is the type, if it is known already."""
        self.arrays = arrays
        if kind is not None:
            self.__dict__["_numba_type_"] = kind

    @cached_property
    def _numba_type_(self) -> ArraysType:
        key = type(self.arrays), compute_fingerprint(self.arrays)
        if key not in _types:
            _types[key] = ArraysType(typeof(self.arrays))
        return _types[key]


_types: dict[Any, ArraysType] = {}


def arrays_type(made: Any, arrays: list[tuple[Any, int, str, bool]]) -> ArraysType:
    """Return the type of the NamedTuple class ``made``.

    Each array is given by its dtype, number of dimensions, layout ("C" for C order, otherwise "A"), and whether it is
    read-only.
    """
    array: Any = types.Array
    kinds = [array(from_dtype(dtype), ndim, layout, readonly=is_fixed) for dtype, ndim, layout, is_fixed in arrays]
    return ArraysType(types.NamedTuple(kinds, made))


def words_of(arrays: Any) -> np.ndarray:
    """Return the structure of a NamedTuple of arrays, for kernels that get its address (``calls.arrays_at``).

    The caller must keep the arrays alive while the structure is in use.
    """
    words: list[int] = []
    for array in arrays:
        words += (0, 0, array.size, array.itemsize, array.ctypes.data, *array.shape, *array.strides)
    found = np.array([*words, 0], np.int64)
    found[-1] = found.ctypes.data  # the layout of ``_place``
    return found


@register_model(ArraysType)
@register_model(Reference)
class ReferenceModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, cgutils.voidptr_t)


@infer_getattr
class ReferenceFields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, typ, attr):
        if attr in typ.target.fields:
            return typ.target[typ.target.fields.index(attr)]
        return None


@lower_getattr_generic(Reference)
def read_field(context, builder, typ, value, attr):
    i = typ.target.fields.index(attr)
    kind = context.get_value_type(typ.target[i]).as_pointer()
    field = builder.load(builder.bitcast(cgutils.gep_inbounds(builder, value, typ.starts[i]), kind))
    return impl_ret_borrowed(context, builder, typ.target[i], field)


@unbox(ArraysType)
def _unpack(kind, arrays, c):
    """Fill the NamedTuple's structure in a loop."""
    starts = kind.starts[:-1]
    assert kind.starts[-1] == c.context.get_abi_sizeof(c.context.get_value_type(kind.target))
    found = _place(c.context, c.builder, kind.target)
    has_failed = cgutils.alloca_once_value(c.builder, cgutils.false_bit)
    table = cgutils.global_constant(c.builder, "starts", ir.Constant(ir.ArrayType(ir.IntType(32), len(starts)), starts))
    fields = c.pyapi.object_getattr_string(arrays, "arrays")
    of_item = cgutils.get_or_insert_function(
        c.builder.module, ir.FunctionType(c.pyapi.pyobj, [c.pyapi.pyobj, c.pyapi.py_ssize_t]), "PyTuple_GetItem"
    )
    with cgutils.for_range(c.builder, c.context.get_constant(types.intp, len(starts))) as loop:
        start = c.builder.load(cgutils.gep_inbounds(c.builder, table, 0, loop.index))
        array = c.builder.call(of_item, [fields, loop.index])
        is_wrong = c.pyapi.numba_array_adaptor(array, cgutils.pointer_add(c.builder, found, start))
        with c.builder.if_then(cgutils.is_not_null(c.builder, is_wrong), likely=False):
            c.builder.store(cgutils.true_bit, has_failed)
    c.pyapi.decref(fields)
    return NativeValue(found, is_error=c.builder.load(has_failed))


@intrinsic
def by_reference(typing_context, arrays):
    """Return a reference to a NamedTuple or to :class:`Arrays`, valid until the kernel returns.

    A reference is returned unchanged.
    """
    if isinstance(arrays, Reference):
        return arrays(arrays), lambda context, builder, signature, args: args[0]
    if isinstance(arrays, ArraysType):
        target = arrays.target
        return Reference(target)(arrays), lambda context, builder, signature, args: copied(
            context, builder, target, *args
        )
    if isinstance(arrays, types.BaseNamedTuple):
        return Reference(arrays)(arrays), _stored
    return None


def _place(context, builder, target, outside=None):
    """Allocate a structure, followed by the address that calls get instead of it: its own, or that of its original.

    If calls get the original's address, only this kernel knows the structure, and its fields stay in registers.
    """
    structure = context.get_value_type(target)
    made = cgutils.alloca_once(builder, ir.LiteralStructType([structure, cgutils.voidptr_t]))
    place = builder.bitcast(made, cgutils.voidptr_t)
    builder.store(place if outside is None else outside, cgutils.gep_inbounds(builder, made, 0, 1))
    return place


def _stored(context, builder, signature, args):
    place = _place(context, builder, signature.args[0])
    builder.store(args[0], builder.bitcast(place, args[0].type.as_pointer()))
    return place


def copied(context, builder, target, place):
    """Copy the structure of a NamedTuple of type ``target``; return a reference to the copy."""
    made = _place(context, builder, target, place)
    size = context.get_abi_sizeof(context.get_value_type(target))
    cgutils.raw_memcpy(builder, made, place, context.get_constant(types.intp, size), 1)
    return made


def outside(builder, kind, value):
    """Return what a call that is not inlined passes for an argument: for a reference, the address behind it."""
    if not isinstance(kind, Reference):
        return value
    behind = cgutils.gep_inbounds(builder, value, kind.starts[-1])
    return builder.load(builder.bitcast(behind, cgutils.voidptr_t.as_pointer()))


def record_type(dtype: np.dtype) -> Any:
    """Return Numba's type of a record of this dtype."""
    return from_dtype(dtype)
