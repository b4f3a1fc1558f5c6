"""How the package compiles its kernels.

``_nrt=False``: kernels allocate nothing, so arrays need no reference counts; counting made the loop 5 times slower.
``forceinline``: small steps are part of the loop instead of being called.
``no_cfunc_wrapper``: no step is called as a C function; making that possible took a seventh of the compile time.
Leaving out the wrapper for Python too would save as much again, but then a call from Python crashes the process.
"""

from typing import Any

from numba import njit
from numba.core import types
from numba.extending import intrinsic

OPTIONS: dict[str, Any] = {"_nrt": False, "error_model": "numpy", "nogil": True}
STEP: dict[str, Any] = {**OPTIONS, "no_cfunc_wrapper": True}

kernel = njit(**STEP)
inlined = njit(forceinline=True, **STEP)
policy_kernel = njit(forceinline=True, boundscheck=True, **STEP)
policy_call = njit(boundscheck=True, **STEP)


@intrinsic
def not_negative(typing_context, number):
    """Tell the compiler that an integer is 0 or more, so that it leaves out Numba's check whether an index counts from
    the end. That check was a sixth of the event loop."""

    def codegen(context, builder, signature, args):
        value = context.cast(builder, args[0], signature.args[0], types.int64)
        builder.assume(builder.icmp_signed(">=", value, context.get_constant(types.int64, 0)))
        return value

    return types.int64(number), codegen
