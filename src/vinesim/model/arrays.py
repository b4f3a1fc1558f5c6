"""Columns given by the user, as arrays of the right type and length; nothing wraps around or is truncated."""

from typing import Any

import numpy as np

from vinesim.model.errors import InputError, Problem, Steps
from vinesim.model.scalars import MAX_FLOAT

MANY_CODES = 1 << 16


def distinct(values: np.ndarray) -> np.ndarray:
    """The distinct values, rising. Codes are counted, which is quicker than sorting them. Without counts ``np.unique``
    would load masked arrays, which takes longer than a small run does."""
    if (
        values.dtype.kind == "i"
        and values.ndim == 1
        and len(values)
        and values.min() >= 0
        and values.max() < MANY_CODES
    ):
        return np.flatnonzero(np.bincount(values)).astype(values.dtype)
    return np.unique(values, return_counts=True)[0]


def first_wrong(values: np.ndarray, is_wrong: np.ndarray) -> str:
    """Return the first wrong value of an array in words, with its place; ``is_wrong`` [n] has one."""
    i = int(np.argmax(is_wrong))
    return f"{values[i]} at place {i}"


def falls(values: np.ndarray) -> np.ndarray:
    """[n] bool: whether each value is less than the one before it."""
    return np.diff(values, prepend=values[:1]) < 0


def as_numbers(where: Steps | str, value: Any) -> np.ndarray:
    """Return ``value`` as an array of float64 of any shape. Raises :class:`InputError` if it is none."""
    try:
        return np.asarray(value, np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as wrong:
        raise InputError([_no_numbers(where, value, wrong)]) from None


def _no_numbers(where: Steps | str, value: Any, wrong: Exception) -> Problem:
    if isinstance(wrong, OverflowError):
        return Problem(where, f"numbers up to {MAX_FLOAT:.2g}", "a larger one")
    return Problem(where, "numbers", type(value).__name__)


def as_column(where: Steps, value: Any, dtype: Any, length: int | None, problems: list[Problem]) -> np.ndarray:
    """Return ``value`` as a contiguous array [length] of ``dtype``; what does not fit is added to ``problems``."""
    try:
        given = np.asarray(value)
        numbers = given if given.dtype.kind in "iufb" else given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        problems.append(_no_numbers(where, value, error))
        return np.zeros(length or 0, dtype)
    if numbers.ndim != 1 or length not in (None, len(numbers)):
        expected = "a list" if length is None else f"{length} values"
        problems.append(Problem(where, expected, " by ".join(map(str, numbers.shape)) or "one number"))
        return np.zeros(length or 0, dtype)
    if np.dtype(dtype).kind == "i" and numbers.dtype != dtype:
        limits = np.iinfo(dtype)
        fits = (numbers >= limits.min) & (numbers <= limits.max)
        if numbers.dtype.kind == "f":
            fits &= numbers == np.floor(numbers)
        wrong = np.flatnonzero(~fits)
        for i in wrong[:5]:
            expected = f"a whole number from {limits.min} to {limits.max}"
            problems.append(Problem((*where, i), expected, f"{numbers[i]}"))
        if len(wrong):
            return np.zeros(len(numbers), dtype)
    return np.ascontiguousarray(numbers, dtype=dtype)
