"""Calls of compiled functions at an address: of a policy by the loop that all policies share, of a loop by a kernel
that does many runs; and what lies at an address."""

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from vinesim.jit.reference import Reference, copied, outside

WORD = ir.IntType(64)


def caller(returns):
    """Return ``call(address, arguments)``, for kernels: it calls the compiled function at an address, which returns
    that type. As all that is called, it is given other references than the ones that its caller reads, and what it
    raises is raised there."""

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
    """Return ``at(address)``, for kernels: a reference to the NamedTuple of arrays of that type which lies there."""

    @intrinsic
    def at(typing_context, address):
        def codegen(context, builder, signature, args):
            place = builder.inttoptr(args[0], cgutils.voidptr_t)
            return copied(context, builder, target, place)

        return Reference(target)(types.int64), codegen

    return at


def record_at(kind):
    """Return ``at(address)``, for kernels: the record of that type which lies there."""

    @intrinsic
    def at(typing_context, address):
        def codegen(context, builder, signature, args):
            return builder.inttoptr(args[0], context.get_value_type(kind))

        return kind(types.int64), codegen

    return at
