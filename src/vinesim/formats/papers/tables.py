"""Affinity and power files: one row per processor type, one column per task type, both in the order of their codes.

``--`` means 0: cannot run. Rows and columns missing at the end are 0 too, as in the paper's own Table 1.
Source: VineSim report, Table 1 and section 6. In the first column (INT), affinity is operations per us; the other
columns are factors of the first. Power is in W everywhere.
"""

import os

import numpy as np

from vinesim.formats.papers.lines import all_records, to_number
from vinesim.model import affinity
from vinesim.model.errors import InputError, Problem


def read_affinity(path: str | os.PathLike[str], n_processor_types: int, n_task_types: int) -> np.ndarray:
    """Read the absolute affinity [P, T], operations per us. Raises :class:`InputError`."""
    expected = "an affinity, 0 or more, or -- where the type cannot run"
    return affinity.from_peak(_read(path, n_processor_types, n_task_types, expected))


def read_power(path: str | os.PathLike[str], n_processor_types: int, n_task_types: int) -> np.ndarray:
    """Read the power while a task runs [P, T], W. Raises :class:`InputError`."""
    return _read(path, n_processor_types, n_task_types, "a power in W, 0 or more, or --")


def _read(path: str | os.PathLike[str], n_rows: int, n_columns: int, expected: str) -> np.ndarray:
    table = np.zeros((n_rows, n_columns))
    problems = []
    width = row = 0
    for row, fields in enumerate(all_records(path), 1):
        width = width or len(fields)
        end = fields[-1]
        if row > n_rows:
            where = f"{path}:{fields[0].line}:1"
            problems.append(
                Problem(where, f"at most {n_rows} rows, one per processor type", "more", "Define the type first.")
            )
            break
        if len(fields) > n_columns:
            extra = fields[n_columns]
            where = f"{path}:{extra.line}:{extra.column}"
            problems.append(Problem(where, f"at most {n_columns} columns, one per task type", f"{len(fields)}"))
        elif len(fields) != width:
            where = f"{path}:{end.line}:{end.column}"
            problems.append(Problem(where, f"{width} columns, as in the first row", f"{len(fields)}"))
        for column, field in enumerate(fields[:n_columns]):
            value = 0.0 if field.text == "--" else to_number(path, field, expected)
            if isinstance(value, Problem):
                problems.append(value)
            else:
                table[row - 1, column] = value
    if not row:
        problems.append(Problem(str(path), "at least one row of numbers", "none", "Is the file complete?"))
    if problems:
        raise InputError(problems)
    return table
