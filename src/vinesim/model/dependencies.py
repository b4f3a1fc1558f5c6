"""Jobs that wait for others: the columns ``after_first`` and ``after`` of a workload.

Job j waits for the jobs ``after[after_first[j]:after_first[j + 1]]``. It becomes eligible when all of these are over:
done, dropped, killed or withdrawn, as with Slurm's ``afterany``.
"""

from collections.abc import Callable

import numpy as np

from vinesim.model.arrays import falls, first_wrong
from vinesim.model.errors import Problem


def wrong_after(first: np.ndarray, after: np.ndarray, name_of: Callable[[int], str] = str) -> list[Problem]:
    """Find what is wrong with the jobs that jobs wait for: numbers of no job, a job itself, cycles."""
    n_jobs, n = len(first) - 1, len(after)
    wrong = falls(first)
    wrong[0], wrong[-1] = first[0] != 0, wrong[-1] or first[-1] != n
    if wrong.any():
        expected = f"rising numbers from 0 to {n}, the length of after"
        return [Problem(("workload", "after_first"), expected, first_wrong(first, wrong))]
    job = np.repeat(np.arange(n_jobs), np.diff(first))
    problems = []
    for i in np.flatnonzero((after < 0) | (after >= n_jobs) | (after == job)):
        found = "itself" if after[i] == job[i] else str(after[i])
        problems.append(
            Problem(("workload", "after", f"job {name_of(job[i])}"), f"other jobs, 0 to {n_jobs - 1}", found)
        )
    if problems:
        return problems
    for cycle in cycles(first, after):
        found = " after ".join(f"job {name_of(one)}" for one in (*cycle, cycle[0]))
        problems.append(Problem(("workload", "after"), "no cycle of jobs that wait for one another", found))
    return problems


def cycles(first: np.ndarray, after: np.ndarray) -> list[list[int]]:
    """Return cycles as lists of jobs, in which each job waits for the next. No two share a job, and without their jobs
    there is no cycle."""
    n_jobs = len(first) - 1
    if (after < np.repeat(np.arange(n_jobs), np.diff(first))).all():
        return []  # each waits for earlier jobs only
    waits_for = [after[first[job] : first[job + 1]].tolist() for job in range(n_jobs)]
    waiting_for, follow = [len(some) for some in waits_for], successors(first, after)
    followers = [follow[1][follow[0][job] : follow[0][job + 1]].tolist() for job in range(n_jobs)]
    over, free = np.zeros(n_jobs, bool), [job for job in range(n_jobs) if not waiting_for[job]]
    found: list[list[int]] = []
    while True:
        while free:
            job = free.pop()
            if over[job]:
                continue
            over[job] = True
            for other in followers[job]:
                waiting_for[other] -= 1
                if waiting_for[other] == 0:
                    free.append(other)
        if over.all():
            return found
        path, job = dict[int, None](), int(np.argmin(over))
        while job not in path:
            path[job] = None
            job = next(other for other in waits_for[job] if not over[other])
        jobs = list(path)
        found.append(jobs[jobs.index(job) :])
        free = list(found[-1])


def successors(first: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the jobs that wait for each job, in order: where the jobs of each begin, [J + 1], and the jobs."""
    n_jobs = len(first) - 1
    job = np.repeat(np.arange(n_jobs), np.diff(first))
    order = np.argsort(after, kind="stable")
    return np.searchsorted(after[order], np.arange(n_jobs + 1)), job[order]


def chosen(first: np.ndarray, after: np.ndarray, jobs: np.ndarray, part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of chosen jobs, each of a part of the choice: they wait for jobs of their own part. One that
    was not chosen with them counts as over."""
    counts = np.diff(first)[jobs]
    row = np.repeat(np.arange(len(jobs)), counts)
    wanted = after[np.repeat(first[:-1][jobs] - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())]
    n_jobs = len(first) - 1
    key, asked = part.astype(np.int64) * n_jobs + jobs, part.astype(np.int64)[row] * n_jobs + wanted
    order = np.argsort(key, kind="stable")
    at = order[np.minimum(np.searchsorted(key[order], asked), len(jobs) - 1)]
    is_there = key[at] == asked
    return np.concatenate(([0], np.cumsum(np.bincount(row[is_there], minlength=len(jobs))))), at[is_there]
