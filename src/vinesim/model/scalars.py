"""Single numbers that a user gives from Python: which values are numbers, and how an error shows a value."""

import math
import sys
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

LONGEST = 60  # characters of a value in a message
MAX_FLOAT = sys.float_info.max


def is_number(value: Any) -> bool:
    """Whether a value is a number of Python or NumPy, or an array of no dimension with one; True, False and whole
    numbers beyond all floating-point numbers are not."""
    if isinstance(value, Integral):
        return is_whole(value) and abs(int(value)) <= MAX_FLOAT
    if isinstance(value, Real | Decimal):
        return True
    return getattr(value, "ndim", None) == 0 and getattr(value, "dtype", None) is not None and value.dtype.kind in "iuf"


def is_above_0(value: Any) -> bool:
    """Whether it is a finite number above 0."""
    return is_number(value) and 0 < value < math.inf


def is_0_or_more(value: Any) -> bool:
    """Whether it is a finite number, 0 or more."""
    return is_number(value) and 0 <= value < math.inf


def is_whole(value: Any) -> bool:
    """Whether it is a whole number, of a type for whole numbers."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def as_found(value: Any) -> str:
    """Return a value as an error shows it."""
    if is_whole(value) and abs(value) >= 10**LONGEST:  # Python writes no number of thousands of digits
        return f"a {'negative ' if value < 0 else ''}number of more than {LONGEST} digits"
    if isinstance(value, float):
        return f"{value:.12g}"
    return (str(value) if is_number(value) else repr(value))[:LONGEST]
