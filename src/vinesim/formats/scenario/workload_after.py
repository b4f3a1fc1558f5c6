"""The column ``after`` of a workload's table: the numbers of the jobs that each job waits for."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from vinesim.formats.source.table_source import TableSource
from vinesim.model.dependencies import wrong_after
from vinesim.model.errors import InputError, Problem
from vinesim.model.workload import Workload

BETWEEN = re.compile(r"[\s;]+")
NUMBER = re.compile(r"-?\d+(\.0)?")  # some tools write a column of numbers with empty cells as fractions


def read_after(
    source: TableSource, column: str, texts: Sequence[str | None], ids: np.ndarray, row_of: np.ndarray
) -> dict[str, Any]:
    """Return the workload's columns from the texts of its jobs. Raises :class:`InputError` that lists every problem.

    ``ids`` are the numbers of the jobs, ``row_of`` their rows in the file.
    """
    names = ids.tolist()
    job_of = dict(zip(names, range(len(names)), strict=True))
    several = {name for name, n in Counter(names).items() if n > 1}
    problems: list[tuple[int, str, str, str | None]] = []
    waits: list[list[int]] = []
    for job, text in enumerate(texts):
        waits.append([])
        for word in filter(None, BETWEEN.split(text or "")):
            number = int(word.removesuffix(".0")) if NUMBER.fullmatch(word) else None
            if number is None:
                expected = "numbers of jobs, with spaces or ; between them"
            elif number not in job_of:
                expected = "the number of a job of the table"
            elif number in several:
                expected = "the number of one job; several have this one"
            elif job_of[number] == job:
                expected = "other jobs than itself"
            else:
                waits[-1].append(job_of[number])
                continue
            problems.append((int(row_of[job]), column, expected, word))
    if problems:
        raise InputError(source.cells(problems))
    first = np.concatenate(([0], np.cumsum([len(some) for some in waits])))
    after = np.array([one for some in waits for one in some], np.int64)
    if cyclic := wrong_after(first, after, lambda job: str(names[job])):
        where = f"{source.path}: {column}"
        raise InputError([Problem(where, one.expected, one.found) for one in cyclic])
    return {"after_first": first, "after": after} if len(after) else {}


def texts_of_after(workload: Workload) -> np.ndarray:
    """Return [J] the cells of the column: jobs by their values in the column ``job``; None if they wait for none."""
    assert workload.after is not None
    assert workload.after_first is not None
    after = workload.after.tolist()
    cells = [" ".join(map(str, after[begin:end])) or None for begin, end in pairwise(workload.after_first.tolist())]
    return np.array(cells, object)
