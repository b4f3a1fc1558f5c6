"""Arithmetic over the numbers of a run, such as ``cost.purchase + 3 * energy_j``: parsed, never executed as code."""

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from vinesim.model.errors import InputError, Problem

MAX_LENGTH = 2000  # characters
MAX_DEPTH = 50
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": lambda *values: np.minimum.reduce(np.broadcast_arrays(*values)),
    "max": lambda *values: np.maximum.reduce(np.broadcast_arrays(*values)),
    "abs": np.abs,
    "sqrt": np.sqrt,
    "log": np.log,
    "exp": np.exp,
}
_RISING: dict[str, Callable[..., float]] = {"min": min, "max": max, "sqrt": math.sqrt, "log": math.log, "exp": math.exp}
NUMBER = "number"  # number("a name that is no Python name")
_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.float_power,
}
EXPECTED = (
    "numbers, names of numbers, + - * / **, parentheses, and the functions " + ", ".join(_FUNCTIONS) + f", {NUMBER}"
)


class Range(NamedTuple):
    """All values that a number may have."""

    low: float
    high: float


ANYTHING = Range(-math.inf, math.inf)


@dataclass(frozen=True)
class Expression:
    """A parsed expression; ``names`` are the numbers it needs, in order."""

    text: str
    names: tuple[str, ...]
    tree: ast.expr

    def value(self, numbers: Mapping[str, Any]) -> Any:
        """Return its value, float64; the numbers may be arrays of one shape. NaN and infinity are not errors."""
        with np.errstate(all="ignore"):
            return _value(self.tree, numbers)

    def range(self, ranges: Mapping[str, Range]) -> Range:
        """Return bounds on its value from bounds on its numbers; a number without bounds can be anything."""
        low, high = _range(self.tree, ranges)
        return ANYTHING if math.isnan(low) or math.isnan(high) else Range(low, high)


def parsed(text: str, where: str = "expression") -> Expression:
    """Parse an expression. Raises :class:`InputError` for anything but arithmetic over named numbers."""
    if len(text) > MAX_LENGTH:
        raise InputError([Problem(where, f"at most {MAX_LENGTH} characters", f"{len(text)}")])
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as wrong:
        found = f"{text[:60]!r}: {getattr(wrong, 'msg', 'it cannot be parsed')}"
        raise InputError([Problem(where, "an expression", found)]) from None
    names: dict[str, None] = {}
    for name in _names(tree, where, 0):
        names[name] = None
    return Expression(text.strip(), tuple(names), tree)


def _names(tree: ast.expr, where: str, depth: int) -> Iterator[str]:
    """Yield the names of the numbers, and check that there is nothing else."""
    found = ast.unparse(tree)[:60]
    if depth > MAX_DEPTH:
        raise InputError([Problem(where, f"at most {MAX_DEPTH} levels", "more")])
    name = name_of(tree)
    if name is not None:
        yield name
        return
    inner: list[ast.expr] = []
    match tree:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool) and abs(value) < 1e300:
            pass
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            inner = [left, right]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            inner = [operand]
        case ast.Call(func=ast.Name(id=function), args=args, keywords=[]) if function in _FUNCTIONS and args:
            n_wanted = None if function in ("min", "max") else 1
            if n_wanted is not None and len(args) != n_wanted:
                raise InputError([Problem(where, f"one value for {function}", f"{len(args)}: {found}")])
            inner = list(args)
        case _:
            raise InputError([Problem(where, EXPECTED, found)])
    for part in inner:
        yield from _names(part, where, depth + 1)


def name_of(tree: ast.expr) -> str | None:
    """Return the dotted name that an expression consists of; None if it is something else."""
    match tree:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=last):
            before = name_of(value)
            return None if before is None else f"{before}.{last}"
        case ast.Call(func=ast.Name(id="number"), args=[ast.Constant(value=str(name))], keywords=[]):
            return name
    return None


def _value(tree: ast.expr, numbers: Mapping[str, Any]) -> Any:
    name = name_of(tree)
    if name is not None:
        return np.asarray(numbers[name], np.float64)
    match tree:
        case ast.Constant(value=value):
            return np.float64(value)  # type: ignore[arg-type]
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_value(left, numbers), _value(right, numbers))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, numbers)
        case ast.UnaryOp(operand=operand):
            return _value(operand, numbers)
        case ast.Call(func=ast.Name(id=function), args=args):
            return _FUNCTIONS[function](*(_value(arg, numbers) for arg in args))
    raise AssertionError(ast.unparse(tree))


def _range(tree: ast.expr, ranges: Mapping[str, Range]) -> Range:
    name = name_of(tree)
    if name is not None:
        return ranges.get(name, ANYTHING)
    match tree:
        case ast.Constant(value=value):
            return Range(float(value), float(value))  # type: ignore[arg-type]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            low, high = _range(operand, ranges)
            return Range(-high, -low)
        case ast.UnaryOp(operand=operand):
            return _range(operand, ranges)
        case ast.BinOp(left=left, op=op, right=right):
            return _combined(op, _range(left, ranges), _range(right, ranges))
        case ast.Call(func=ast.Name(id=function), args=args):
            return _called(function, [_range(arg, ranges) for arg in args])
    raise AssertionError(ast.unparse(tree))


def _combined(op: ast.operator, a: Range, b: Range) -> Range:
    match op:
        case ast.Add():
            return Range(a.low + b.low, a.high + b.high)
        case ast.Sub():
            return Range(a.low - b.high, a.high - b.low)
        case ast.Div() if b.low > 0 or b.high < 0:
            return _product(a, Range(1 / b.high, 1 / b.low))
        case ast.Mult():
            return _product(a, b)
        case ast.Pow() if a.low >= 0 and b.low == b.high and b.low > 0:
            try:
                return Range(a.low**b.low, a.high**b.low)
            except OverflowError:
                return ANYTHING
    return ANYTHING


def _product(a: Range, b: Range) -> Range:
    corners = [0.0 if 0 in (x, y) else x * y for x in a for y in b]  # 0 x infinity: the bound is not reached
    return Range(min(corners), max(corners))


def _called(function: str, args: list[Range]) -> Range:
    if function == "abs":
        low, high = args[0]
        return Range(max(low, -high, 0.0), max(abs(low), abs(high)))
    try:
        rising = _RISING[function]
        return Range(rising(*(a.low for a in args)), rising(*(a.high for a in args)))
    except (ValueError, OverflowError):
        return ANYTHING
