"""Read a series of counts: a CSV file whose rows hold a time and the number of events until the time of the next row.

The header line is optional. Times are numbers (seconds) or dates such as 2014-02-14 14:30:00. The Numenta Anomaly
Benchmark (timestamp, value) has this form, and so have most files of requests per interval.
"""

import datetime
import os

import numpy as np

from vinesim.formats.source.csv_rows import csv_records
from vinesim.model.errors import MAX_PROBLEMS, InputError, Problem

LAST_S = 253402300800  # the end of the year 9999, s since 1970; larger numbers are not seconds
LOG = "If each line is one request, make a series of it with vinesim import requests."


def read_counts(path: str | os.PathLike[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the increasing times in us, and the count from each to the next. Raises :class:`InputError`."""
    times: list[float] = []
    counts: list[float] = []
    problems: list[Problem] = []
    for number, row in csv_records(path):
        if row[0].lstrip().startswith("#"):
            continue
        if len(row) > 2:
            found = f"{len(row)} fields"
            problems.append(Problem(f"{path}:{number}:1", "two fields, a time and a count", found, LOG))
            break  # not a series of counts
        time, count = to_time_us(row[0]), _count(row[1] if len(row) > 1 else "")
        if time is None and number == 1:
            continue  # the header
        if time is None:
            problems.append(Problem(f"{path}:{number}:1", "a time in seconds, or a date", repr(row[0])[:40]))
        elif times and time <= times[-1]:
            problems.append(Problem(f"{path}:{number}:1", "a time after that of the line before", repr(row[0])[:40]))
        elif count is None:
            problems.append(Problem(f"{path}:{number}:2", "a count, 0 or more", repr(row[1:2])[:40]))
        else:
            times.append(time)
            counts.append(count)
    if not problems and len(times) < 2:
        problems.append(Problem(str(path), "at least two lines `time,count`", f"{len(times)}"))
    if problems:
        raise InputError(problems[:MAX_PROBLEMS], len(problems))
    return np.array(times), np.array(counts)


def to_time_us(text: str) -> float | None:
    """Convert a number of seconds until the year 9999, or a date, to us; None if it is neither."""
    try:
        seconds = float(text)
        return seconds * 1e6 if abs(seconds) <= LAST_S else None
    except ValueError:
        pass
    try:
        date = datetime.datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    date = date if date.tzinfo is not None else date.replace(tzinfo=datetime.UTC)
    return date.timestamp() * 1e6


def _count(text: str) -> float | None:
    try:
        count = float(text)
    except ValueError:
        return None
    return count if 0 <= count < float("inf") else None
