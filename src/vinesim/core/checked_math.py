"""Functions of the module ``math`` and of Python itself as users' compiled policies call them: they raise what they
raise in Python. Numba's return infinity or NaN there, or any number for whole results."""

import math
from collections.abc import Callable
from typing import Any


def _with_float(function: Callable[..., Any]) -> Callable[[Any], Any]:
    def checked(x):
        y = function(x)
        if y != y and x == x:
            raise ValueError("math domain error")
        if y - y != 0.0 and x - x == 0.0:
            raise ValueError("math domain or range error")
        return y

    return checked


def _with_whole(function: Callable[..., Any]) -> Callable[[Any], Any]:
    def checked(x):
        if x - x != 0:
            raise ValueError("cannot convert infinity or NaN to integer")
        return function(x)

    return checked


def _power(x, y):
    found = float(x) ** float(y)
    if found - found != 0.0 and x - x == 0.0 and y - y == 0.0:
        raise ValueError("math domain or range error")
    return found


FLOATS = "log log2 log10 log1p sqrt exp expm1 acos asin"
WHOLES = "floor ceil trunc"
CHECKED: dict[Any, Any] = {getattr(math, name): _with_float(getattr(math, name)) for name in FLOATS.split()}
CHECKED[math.pow] = _power
CHECKED |= {function: _with_whole(function) for function in (*(getattr(math, name) for name in WHOLES.split()), int)}


class PlainOnly:
    """What stands for a function that compiled code must not call, so that the compiler refuses its name."""


PLAIN_ONLY = {print: PlainOnly()}  # Numba's never returns from a thread that has given up Python's lock
BUILTINS: dict[str, Any] = {"int": int, "print": print}  # the names of these
