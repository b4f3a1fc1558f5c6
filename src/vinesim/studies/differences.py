"""Compare a stored run with its repetition, bit for bit."""

from collections.abc import Mapping
from typing import Any

import numpy as np

OF_THE_MACHINE = ("engine", "engine_choice", "wall_s", "compile_s", "plan_s")  # in the provenance, but no results


def of_tables(name: str, stored: Mapping[str, np.ndarray], again: Mapping[str, np.ndarray]) -> list[str]:
    """Return the differences between two tables, a line for each column."""
    found = [f"{name}: column {column} is only in the folder" for column in stored if column not in again]
    found += [f"{name}: column {column} is only in the repetition" for column in again if column not in stored]
    for column in (column for column in stored if column in again):
        old, new = stored[column], again[column]
        if len(old) != len(new):
            return [f"{name}: {len(old):,} rows, and {len(new):,} when repeated"]
        differ = np.flatnonzero(~_same(old, new))
        if differ.size:
            at = int(differ[0])
            first = f"the first in row {at}: {old[at]!r}, and {new[at]!r} when repeated"
            found.append(f"{name}.{column}: {differ.size:,} of {len(old):,} values differ, {first}")
    return found


def of_documents(name: str, stored: Any, again: Any) -> list[str]:
    """Return the differences between two documents of plain data, a line for each value."""
    if isinstance(stored, Mapping) and isinstance(again, Mapping):
        keys = dict.fromkeys([*stored, *again])
        inner = (of_documents(f"{name}.{key}", stored.get(key), again.get(key)) for key in keys)
        return [line for lines in inner for line in lines]
    return [] if stored == again else [f"{name}: {stored!r}, and {again!r} when repeated"]


def of_summaries(stored: Mapping[str, Any], again: Mapping[str, Any]) -> list[str]:
    """Return the differences between two summaries, ignoring the engine and the wall time."""
    return of_documents("summary", *map(_results_only, (stored, again)))


def _results_only(summary: Mapping[str, Any]) -> dict[str, Any]:
    origin = {key: value for key, value in summary["provenance"].items() if key not in OF_THE_MACHINE}
    return {**summary, "provenance": origin}


def _same(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return [n] whether values are equal, bit for bit if they are numbers."""
    if one.dtype != other.dtype or one.dtype.kind == "O":
        return np.array(
            [a == b or (a != a and b != b) for a, b in zip(one.tolist(), other.tolist(), strict=True)], bool
        )
    if one.dtype.kind != "f":
        return np.asarray(one == other)
    bits = [np.ascontiguousarray(values).view(f"u{values.itemsize}") for values in (one, other)]
    return np.asarray((bits[0] == bits[1]) | (np.isnan(one) & np.isnan(other)))
