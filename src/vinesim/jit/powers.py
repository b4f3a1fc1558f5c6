"""``a ** b`` as in Python, to the last bit: the result of the system's math library.

Numba multiplies repeatedly if the exponent is an integer, and LLVM calls other functions for a base of 2 or an exponent
of 0.5. Two thirds of ``x ** 7``, and one in a thousand of ``2.0 ** x``, differed in the last bit.
"""

import operator
from typing import Any

import llvmlite.binding as ll
from llvmlite import ir as llvm
from numba import _helperlib
from numba.core import ir, ir_utils, types
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.extending import intrinsic, overload

NAME = "vinesim_pow"  # not "pow", which the compiler would replace
ll.add_symbol(NAME, vars(_helperlib)["c_helpers"]["pow"])


@intrinsic
def _of_library(typing_context, base, exponent):
    def codegen(context, builder, signature, args):
        number = llvm.DoubleType()
        function = builder.module.globals.get(NAME)
        if function is None:
            function = llvm.Function(builder.module, llvm.FunctionType(number, [number, number]), NAME)
        return builder.call(function, args)

    return types.float64(types.float64, types.float64), codegen


def power(base: Any, exponent: Any) -> Any:
    """Return base ** exponent; infinity or NaN where Python raises an error."""
    return base**exponent


def checked_power(base: Any, exponent: Any) -> Any:
    """Return base ** exponent; raise the same error as Python where there is no result."""
    return base**exponent


WHOLE = (types.Integer, types.Boolean)
POWERS = (operator.pow, operator.ipow)


@overload(power)
def _power(base, exponent):
    if isinstance(base, WHOLE) and isinstance(exponent, WHOLE):
        return lambda base, exponent: operator.pow(base, exponent)
    return lambda base, exponent: _of_library(float(base), float(exponent))


@overload(checked_power)
def _checked_power(base, exponent):
    if isinstance(base, WHOLE) and isinstance(exponent, WHOLE):

        def checked(base, exponent):
            if exponent < 0:
                raise ValueError("a whole number to a power below 0 is a fraction: write float(...)")
            return operator.pow(base, exponent)

        return checked

    def checked(base, exponent):
        x, y = float(base), float(exponent)
        if x == 0.0 and y < 0.0:
            raise ZeroDivisionError("0.0 cannot be raised to a negative power")
        found = _of_library(x, y)
        if found != found and x == x and y == y:
            raise ValueError("a number below 0 has no such power")
        if found - found != 0.0 and x - x == 0.0 and y - y == 0.0:
            raise OverflowError("numerical result out of range")
        return found

    return checked


@register_pass(mutates_CFG=False, analysis_only=False)
class Powers(FunctionPass):
    """Replace each ``**`` by a call: of :func:`power` in VineSim's code, of :func:`checked_power` in other code."""

    _name: Any = "powers"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        code, is_changed = state.func_ir, False
        is_own = (state.func_id.func.__module__ or "").startswith("vinesim.")
        for block in code.blocks.values():
            found: list[Any] = []
            for step in block.body:
                if isinstance(step, ir.Assign) and _is_power(step.value):
                    operands: Any = step.value
                    asked = ir.Global("power", power if is_own else checked_power, step.loc)
                    name = ir.Var(block.scope, ir_utils.mk_unique_var("$power"), step.loc)
                    called = ir.Expr.call(name, (operands.lhs, operands.rhs), (), step.loc)
                    code._definitions[name.name] = [asked]
                    known = code._definitions[step.target.name]
                    code._definitions[step.target.name] = [called if one is step.value else one for one in known]
                    found += [ir.Assign(asked, name, step.loc), ir.Assign(called, step.target, step.loc)]
                    is_changed = True
                else:
                    found.append(step)
            block.body = found
        return is_changed


def _is_power(value: Any) -> bool:
    is_operator = isinstance(value, ir.Expr) and value.op in ("binop", "inplace_binop")
    return is_operator and value.fn in POWERS
