"""Call compiled functions, and read arrays and records, by their address in memory.

The event loop that all policies share calls a policy in this way, and a kernel that does many runs calls a loop.
"""

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from vinesim.jit.reference import Reference, copied, outside

WORD = ir.IntType(64)


def caller(returns):
    """Return ``call(address, arguments)`` for kernels: it calls a compiled function that returns the type ``returns``.

    As in every call that is not inlined, the function gets other references than the ones its caller reads
    (``jit/reference.py``). Its exceptions propagate to the caller.
    """

    @intrinsic
    def call(typing_context, address, arguments):
        kinds = tuple(arguments)

        def codegen(context, builder, signature, args):
            given = cgutils.unpack_tuple(builder, args[1])
            given = [outside(builder, kind, value) for kind, value in zip(kinds, given, strict=True)]
            function = builder.inttoptr(args[0], context.call_conv.get_function_type(returns, kinds).as_pointer())
            status, result = context.call_conv.call_function(builder, function, returns, kinds, given)
            with cgutils.if_unlikely(builder, status.is_error):
                context.call_conv.return_status_propagate(builder, status)
            return result

        return returns(types.int64, arguments), codegen

    return call


def arrays_at(target):
    """Return ``at(address)`` for kernels: it gives a reference to the NamedTuple of type ``target`` at an address."""

    @intrinsic
    def at(typing_context, address):
        def codegen(context, builder, signature, args):
            place = builder.inttoptr(args[0], cgutils.voidptr_t)
            return copied(context, builder, target, place)

        return Reference(target)(types.int64), codegen

    return at


def record_at(kind):
    """Return ``at(address)`` for kernels: it gives the record of type ``kind`` at an address."""

    @intrinsic
    def at(typing_context, address):
        def codegen(context, builder, signature, args):
            return builder.inttoptr(args[0], context.get_value_type(kind))

        return kind(types.int64), codegen

    return at
