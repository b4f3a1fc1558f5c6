"""Division in policies that may be compiled: by zero it is an error, also of NumPy's numbers in plain Python, which
otherwise warn."""

import dis
import sys
import warnings
from contextlib import AbstractContextManager, nullcontext

import numpy as np

DIVISIONS = ("/", "//", "%", "/=", "//=", "%=")


def dividing(is_compiled: bool) -> AbstractContextManager[object]:
    """Return what a policy's ``decide`` is called in: for one that may be compiled, a division by zero raises
    :class:`ZeroDivisionError`. Plain Python may use arrays, and divides as NumPy does."""
    return np.errstate(divide="call", invalid="call", call=_divided) if is_compiled else nullcontext()


def _divided(kind: str, _: int) -> None:
    """NumPy has divided by zero, or found no number, in the frame that calls this."""
    frame = sys._getframe(1)
    if str(frame.f_globals.get("__name__")).startswith("vinesim."):
        warnings.warn(f"{kind} encountered", RuntimeWarning, stacklevel=2)
        return
    step = next((one for one in dis.get_instructions(frame.f_code) if one.offset == frame.f_lasti), None)
    if step is not None and step.opname == "BINARY_OP" and step.argrepr in DIVISIONS:
        raise ZeroDivisionError("division by zero" if kind == "divide by zero" else "0 / 0, which is no number")
