"""How long consolidated tasks compute by a table of measured times: t(number of tasks, processor type, task type).

The table replaces the sum of operations / affinity. It is [P, T, B] us: entry n - 1 is the time of n tasks, NaN beyond
the largest number that is known, all NaN where there is no table.
"""

from collections.abc import Sequence

import numpy as np

from vinesim.model.errors import Problem
from vinesim.model.workload import Workload

MOST_SIZES = 10_000


def times_of_sizes(sizes: Sequence[int], times_us: Sequence[float], *, is_linear: bool) -> np.ndarray:
    """Return the time of each number of tasks from 1 to the largest size, [B] us; the sizes ascend.

    A number between two sizes takes the time of the next larger one or, ``is_linear``, lies on the line between both;
    a number below the smallest size takes its time.
    """
    n = np.arange(1, sizes[-1] + 1)
    if is_linear:
        return np.interp(n, sizes, times_us)
    return np.asarray(times_us, np.float64)[np.searchsorted(sizes, n)]


def largest_sizes(table: np.ndarray) -> np.ndarray:
    """[P, T] int64: the largest number of tasks with an entry; 0: there is no table."""
    return np.isfinite(table).sum(axis=2)


def single_times(work: Workload, affinity: np.ndarray, table: np.ndarray | None) -> np.ndarray | None:
    """[N, P] us: how long each task computes alone, with the table's entries for one task; None: operations decide."""
    if table is None:
        return work.times_us
    type_of_task = np.repeat(work.job_task_type, np.diff(work.job_first))
    with np.errstate(divide="ignore", invalid="ignore"):
        own = work.operations[:, None] / affinity.T[type_of_task] if work.times_us is None else work.times_us
    first = table[:, :, 0].T[type_of_task]
    return np.ascontiguousarray(np.where(np.isfinite(first), first, own))


def wrong_table(table: np.ndarray, work: Workload, affinity: np.ndarray) -> list[Problem]:
    """Return what is wrong with a table for a workload and the affinities [P, T]."""
    name = ("consolidated_us",)
    if table.ndim != 3 or table.shape[:2] != affinity.shape or not 1 <= table.shape[2] <= MOST_SIZES:
        shape = f"{affinity.shape[0]} x {affinity.shape[1]} x the largest number of tasks, at most {MOST_SIZES:,}"
        return [Problem(name, shape, " x ".join(map(str, table.shape)))]
    problems = []
    has_entry = largest_sizes(table)
    inside = np.arange(table.shape[2]) < has_entry[:, :, None]
    for p, t, n in np.argwhere(np.where(inside, ~(table >= 0), ~np.isnan(table)))[:10]:
        expected = "a finite time, 0 or more, up to the largest number; then NaN"
        problems.append(Problem((*name, p, t, n), expected, f"{table[p, t, n]:g}"))
    for p, t in np.argwhere((has_entry > 0) & (affinity <= 0))[:10]:
        problems.append(Problem((*name, p, t), "an affinity above 0, as there are times", "affinity 0"))
    if np.isinf(work.operations).any():
        problems.append(Problem(name, "operations that are finite", "tasks without end"))
    if work.times_us is not None:
        measured = np.isfinite(work.times_us[:, : len(affinity)]).any(axis=0)
        for p in np.flatnonzero(measured & (has_entry > 0).any(axis=1)):
            problems.append(Problem((*name, int(p)), "a table or measured times of the tasks", "both", "Keep one."))
    return problems
