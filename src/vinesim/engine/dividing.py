"""Division and powers in policies that may be compiled: where there is no number it is an error, also of NumPy's
numbers in plain Python, which otherwise warn."""

import dis
import sys
import warnings
from contextlib import AbstractContextManager, nullcontext

import numpy as np

DIVISIONS = ("/", "//", "%", "/=", "//=", "%=")
POWERS = ("**", "**=")


def dividing(is_compiled: bool) -> AbstractContextManager[object]:
    """Return what a policy's ``decide`` is called in: for one that may be compiled, a division by zero raises
    :class:`ZeroDivisionError`. Plain Python may use arrays, and divides as NumPy does."""
    return np.errstate(divide="call", invalid="call", over="call", call=_divided) if is_compiled else nullcontext()


def _divided(kind: str, _: int) -> None:
    """NumPy has divided by zero, or found no number or too large a one, in the frame that calls this."""
    frame = sys._getframe(1)
    if str(frame.f_globals.get("__name__")).startswith("vinesim."):
        warnings.warn(f"{kind} encountered", RuntimeWarning, stacklevel=2)
        return
    step = next((one for one in dis.get_instructions(frame.f_code) if one.offset == frame.f_lasti), None)
    if step is None or step.opname != "BINARY_OP" or step.argrepr not in (*DIVISIONS, *POWERS):
        return
    if kind == "divide by zero":
        raise ZeroDivisionError("division by zero" if step.argrepr in DIVISIONS else "0.0 to a negative power")
    if step.argrepr in POWERS:
        raise OverflowError("numerical result out of range") if kind == "overflow" else ValueError("no real number")
    if kind == "invalid value":
        raise ZeroDivisionError("0 / 0 or infinity / infinity, which is no number")
