"""Resample a log: make other workloads of its jobs by drawing blocks of time with replacement.

Source: Zakay, Feitelson, Workload resampling for performance evaluation of parallel job schedulers, 2014; the blocks of
time are those of Kuensch's block bootstrap, 1989.
"""

import warnings
from collections.abc import Callable

import numpy as np

from vinesim.model.errors import InputError, InputWarning, Problem
from vinesim.model.workload import Workload
from vinesim.workloads.select_jobs import select_jobs

MOST_BLOCKS = 10_000_000


def resampled(work: Workload, block_us: float, session_gap_us: float, rng: np.random.Generator) -> Workload:
    """Return a workload made of drawn blocks of ``block_us``, the same number as this workload has whole ones.

    A session is a series of jobs of one application (of all jobs, if there are no applications) that follow each other
    within ``session_gap_us``. A job belongs to the block in which its session begins, so sessions and the events within
    a block stay together. Jobs of sessions that begin after the last whole block are left out. Raises
    :class:`InputError`.
    """
    return _of_blocks(work, block_us, session_gap_us, lambda n: rng.integers(0, n, n))


def repeated(
    work: Workload, n_times: float, block_us: float, session_gap_us: float, rng: np.random.Generator
) -> Workload:
    """Return the whole blocks of this workload, followed by drawn ones until it is ``n_times`` as long.

    Blocks are those of :func:`resampled`. Raises :class:`InputError`.
    """

    def chosen(n: int) -> np.ndarray:
        return np.concatenate((np.arange(n), rng.integers(0, n, max(round(n_times * n), n) - n)))

    return _of_blocks(work, block_us, session_gap_us, chosen)


def _of_blocks(work: Workload, block_us: float, session_gap_us: float, choose: Callable[[int], np.ndarray]) -> Workload:
    """Return a workload of the blocks that ``choose(n)`` selects from the n whole ones, in sequence."""
    times = work.arrival_us - work.arrival_us[0]
    least_us = times[-1] / MOST_BLOCKS
    if block_us < least_us:
        raise InputError(
            [Problem(("block",), f"{least_us:g} us or more: at most {MOST_BLOCKS:,} blocks", f"{block_us:g} us")]
        )
    n_blocks = int(times[-1] // block_us)
    if n_blocks < 2:
        expected = f"a block of at most half the {times[-1]:g} us between the first arrival and the last"
        raise InputError([Problem(("block",), expected, f"{block_us:g} us")])
    block = (_session_start(times, work.application, session_gap_us) // block_us).astype(np.int64)
    by_block = np.argsort(block, kind="stable")
    edges = np.searchsorted(block[by_block], np.arange(n_blocks + 1))
    drawn = choose(n_blocks)
    counts = np.diff(edges)[drawn]
    if not counts.any():
        raise InputError([Problem(("block",), "blocks with jobs", "only empty ones drawn", "Give a longer block.")])
    first = np.cumsum(counts) - counts
    jobs = by_block[np.repeat(edges[drawn] - first, counts) + np.arange(counts.sum())]
    part = np.repeat(np.arange(len(drawn)), counts)
    moved = times[jobs] + ((np.arange(len(drawn)) - drawn) * block_us)[part]
    order = np.argsort(moved, kind="stable")
    found = select_jobs(work, jobs[order], moved[order], part[order])
    if work.after is not None and work.after_first is not None:
        n_lost = int(np.diff(work.after_first)[jobs].sum()) - (0 if found.after is None else len(found.after))
        if n_lost:
            text = f"{n_lost:,} times a job is after one that is not in its block: that one counts as over"
            warnings.warn(f"resample: {text}", InputWarning, stacklevel=4)
    return found


def _session_start(times: np.ndarray, application: np.ndarray | None, gap_us: float) -> np.ndarray:
    """Return when the session of each job begins, [J]."""
    if gap_us == 0:
        return times
    code = np.zeros(len(times), np.int64) if application is None else application
    order = np.argsort(code, kind="stable")
    at, of = times[order], code[order]
    is_first = np.concatenate(([True], (np.diff(at) > gap_us) | (of[1:] != of[:-1])))
    start = np.empty(len(times))
    start[order] = at[is_first][np.cumsum(is_first) - 1]
    return start
