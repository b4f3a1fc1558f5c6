"""Functions of the module ``math`` as users' compiled policies call them: they raise what they raise in Python. Numba's
return infinity or NaN there, or any number for whole results."""

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


FLOATS = "log log2 log10 log1p sqrt exp expm1 acos asin"
WHOLES = "floor ceil trunc"
CHECKED: dict[Any, Any] = {getattr(math, name): _with_float(getattr(math, name)) for name in FLOATS.split()}
CHECKED |= {getattr(math, name): _with_whole(getattr(math, name)) for name in WHOLES.split()}
