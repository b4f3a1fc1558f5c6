"""Read a price or carbon series: a CSV file with two columns, time and value.

The first column is ``hour`` (a number of hours) or ``timestamp`` (such as 2024-01-31 13:00:00), and increases. The
second holds the values. A value applies until the next row. The last value applies for as long as the one before it
(one hour if it is the only one); then the series repeats.
"""

import math
import os

import numpy as np

from vinesim.formats.importers.counts import to_time_us
from vinesim.formats.source.csv_rows import csv_records
from vinesim.model.electricity import Series
from vinesim.model.errors import MAX_PROBLEMS, InputError, Problem
from vinesim.model.time import US_PER_HOUR

TIMES = ("hour", "timestamp")
EXAMPLES = {"hour": "a number of hours", "timestamp": "a time such as 2024-01-31 13:00:00"}


def read_series(path: str | os.PathLike[str], start: str | None = None, *, least: float = -math.inf) -> Series:
    """Read a series. The run begins at ``start``, an hour or timestamp as in the file; by default at the first row.

    Raises :class:`InputError` with file and line of every problem; ``least`` is the smallest value allowed.
    """
    rows = list(csv_records(path))
    header = [name.strip() for name in rows[0][1]] if rows else []
    if len(header) != 2 or header[0] not in TIMES:
        expected = "two columns: hour or timestamp, and the values"
        raise InputError([Problem(f"{path}:1", expected, ", ".join(header) or "nothing")])
    problems: list[Problem] = []
    hours: list[float] = []
    values: list[float] = []
    for line, row in rows[1:]:
        where = f"{path}:{line}"
        if len(row) != 2:
            problems.append(Problem(where, "two columns", f"{len(row)}"))
            continue
        hour, value = _hours(row[0], header[0]), _number(row[1])
        if hour is None:
            problems.append(Problem(where, EXAMPLES[header[0]], repr(row[0])[:40]))
        elif hours and hour <= hours[-1]:
            problems.append(Problem(where, "a time after that of the row before", repr(row[0])[:40], "Sort the rows."))
        if value is None or value < least:
            expected = "a finite number" + (f", {least:g} or more" if least > -math.inf else "")
            problems.append(Problem(where, expected, repr(row[1])[:40]))
        hours.append(math.nan if hour is None else hour)
        values.append(math.nan if value is None else value)
    if not values:
        problems.append(Problem(str(path), "at least one row below the header", "none"))
    if problems:
        raise InputError(problems[:MAX_PROBLEMS], len(problems))
    begin = np.array(hours)
    step = begin[-1] - begin[-2] if len(begin) > 1 else 1.0
    at = begin[0] if start is None else _start(path, start, header[0], float(begin[0]), float(begin[-1] + step))
    in_us = (begin - begin[0]) * US_PER_HOUR
    return Series(in_us, np.array(values), float(in_us[-1] + step * US_PER_HOUR), float(at - begin[0]) * US_PER_HOUR)


def _start(path: str | os.PathLike[str], start: str, column: str, first: float, end: float) -> float:
    at = _hours(start, column)
    if at is None:
        raise InputError([Problem("start", f"{EXAMPLES[column]}, as the first column of {path}", repr(start))])
    if not first <= at < end:
        raise InputError([Problem("start", f"a time within the {end - first:g} hours of {path}", repr(start))])
    return at


def _hours(text: str, column: str) -> float | None:
    """Convert to hours; for a timestamp, hours since 1970; None if it is not a time."""
    if column == "hour":
        return _number(text)
    us = None if _number(text) is not None else to_time_us(text)
    return None if us is None else us / US_PER_HOUR


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
