"""Instructions that Python lacks: operations on bits and vectors, copies of memory, and prefetches."""

from zlib import crc32

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic


@intrinsic
def not_negative(typing_context, number):
    """Return an integer that the compiler may assume to be at least 0.

    An index then needs no check for counting from the end, which took a sixth of the event loop's time.
    """

    def codegen(context, builder, signature, args):
        value = context.cast(builder, args[0], signature.args[0], types.int64)
        builder.assume(builder.icmp_signed(">=", value, context.get_constant(types.int64, 0)))
        return value

    return types.int64(number), codegen


@intrinsic
def trailing_zeros(typing_context, word):
    """Return the number of 0 bits below the lowest 1 of a word that is not 0."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), codegen


@intrinsic
def leading_zeros(typing_context, word):
    """Return the number of 0 bits above the highest 1 of a word that is not 0."""

    def codegen(context, builder, signature, args):
        return builder.ctlz(args[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), codegen


@intrinsic
def count_ones(typing_context, word):
    """Return the number of 1 bits of a word."""

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


@intrinsic
def bits_of(typing_context, value):
    """Return the bits of a float64 as an integer. For non-negative numbers, the integers sort as the numbers do."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(types.uint64))

    return types.uint64(types.float64), codegen


@intrinsic
def prefetch(typing_context, array, i):
    """Have the processor fetch an element of a vector, or a row of a matrix, in advance, without waiting for it."""

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


@intrinsic
def keep_largest(typing_context, numbers, row, below, column):
    """Set 8 numbers of a row of an int16 matrix, from ``column`` on, to the maxima over four rows, from ``below`` on.

    Returns whether any number has changed.
    """

    def codegen(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        vector = ir.VectorType(ir.IntType(16), 8)

        def place(row, i=0):
            row = builder.add(row, ir.Constant(row.type, i))
            at = builder.add(builder.mul(row, builder.extract_value(array.shape, 1)), args[3])
            return builder.bitcast(builder.gep(array.data, [at]), vector.as_pointer())

        def larger(one, other):
            return builder.select(builder.icmp_signed(">", one, other), one, other)

        a, b, c, d = (builder.load(place(args[2], i), align=2) for i in range(4))
        largest = larger(larger(a, b), larger(c, d))
        mine = place(args[1])
        before = builder.load(mine, align=2)
        builder.store(largest, mine, align=2)
        bits = ir.IntType(16 * 8)
        return builder.icmp_unsigned("!=", builder.bitcast(before, bits), builder.bitcast(largest, bits))

    return types.boolean(numbers, types.int64, types.int64, types.int64), codegen


@intrinsic
def number_of(typing_context, function):
    """Return a number that identifies a function, equal in all processes."""
    source = function.dispatcher.py_func
    name = f"{source.__module__}.{source.__qualname__}:{source.__code__.co_firstlineno}"

    def codegen(context, builder, signature, args):
        return context.get_constant(types.int64, crc32(name.encode()))

    return types.int64(function), codegen
