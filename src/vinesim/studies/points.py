"""Rows of a sweep by their labels on the axes."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from vinesim.formats.results.table import Table
from vinesim.model.errors import InputError, Problem


def group(table: Table, columns: Sequence[str]) -> dict[tuple[Any, ...], np.ndarray]:
    """Return the rows [n] of each combination of labels in these columns, in the order of their first rows."""
    labels = [[plain(value) for value in table[name]] for name in columns]
    found: dict[tuple[Any, ...], list[int]] = {}
    for row in range(table.n_rows):
        found.setdefault(tuple(column[row] for column in labels), []).append(row)
    return {key: np.array(rows) for key, rows in found.items()}


def numbers_of(table: Table, name: str) -> np.ndarray:
    """[n] float64: a column of numbers, NaN if missing. Raises :class:`InputError` for text and unknown names."""
    check_columns(table, [name], "of")
    column = table[name]
    is_number = column.dtype.kind in "iufb" or all(value is None or isinstance(value, (int, float)) for value in column)
    if not is_number:
        raise InputError([Problem(("of",), "the name of a number", f"{name}, which is text")])
    return column.astype(np.float64)


def check_columns(table: Mapping[str, Any], names: Iterable[str], where: str) -> None:
    """Raise :class:`InputError` for names that are not columns of the table."""
    problems = []
    for name in names:
        if name not in table:
            near = get_close_matches(name, list(table), 3, 0.5)
            remedy = f"Similar names: {', '.join(near)}." if near else ""
            problems.append(Problem(where, "a column of the sweep", repr(name), remedy))
    if problems:
        raise InputError(problems)


def plain(label: Any) -> Any:
    """Return a label as a Python value; a missing one is None, which, unlike NaN, equals itself."""
    value = label.item() if isinstance(label, np.generic) else label
    return None if value != value else value
