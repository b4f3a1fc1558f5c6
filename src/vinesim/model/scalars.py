"""Single numbers that a user gives from Python: what is one, and how an error shows what was given."""

from numbers import Integral, Real
from typing import Any


def is_number(value: Any) -> bool:
    """Whether a value is a number, of Python or of NumPy. A truth value is none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Whether it is a whole number."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def as_found(value: Any) -> str:
    """Return a value as an error shows it."""
    return f"{value:g}" if is_number(value) else repr(value)[:60]
