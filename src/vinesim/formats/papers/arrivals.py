"""The arrivals file: one time in us per line, one line per job, in increasing order (equal times are allowed)."""

import os

import numpy as np

from vinesim.formats.papers.columns import read_columns
from vinesim.formats.papers.lines import Column, locate
from vinesim.model.errors import InputError, Problem

COLUMNS = (Column("arrival_us", is_number=True),)


def read_arrivals(path: str | os.PathLike[str]) -> np.ndarray:
    """Read the arrival time of each job, [J] float64, us. Raises :class:`InputError`."""
    (times,) = read_columns(path, COLUMNS)
    earlier = np.flatnonzero(times[1:] < times[:-1]) + 1
    if len(earlier):
        rows = earlier[:20].tolist()
        problems = [
            Problem(where, f"no less than the line before, {times[row - 1]}", f"{times[row]}", "Sort the times.")
            for where, row in zip(locate(path, [(row, 0) for row in rows]), rows, strict=True)
        ]
        raise InputError(problems, len(earlier))
    return times
