"""Find when tasks were pending: how long no task of a job held a unit, and which tasks never started."""

import math

import numpy as np

from vinesim.metrics.segments import numbered


def gaps_us(job: np.ndarray, begin_us: np.ndarray, end_us: np.ndarray, n_jobs: int) -> np.ndarray:
    """[..., J] us: for how long no task of each job held a unit, between the job's first start and its last.

    [S] ``job`` of each segment; [..., S] us ``begin_us`` and ``end_us``, with NaN for what never began.
    """
    runs, has_begun = begin_us.shape[:-1], np.isfinite(begin_us)
    row = numbered(np.broadcast_to(job, begin_us.shape), n_jobs)[has_begun]
    begin_us, end_us = begin_us[has_begun], end_us[has_begun]
    begin_us, end_us = begin_us[np.lexsort((begin_us, row))], end_us[np.lexsort((end_us, row))]
    row = np.sort(row)
    # where a job's n-th end is before its start n + 1, all n segments that began have ended by then
    gap_us = np.where(row[1:] == row[:-1], np.maximum(0.0, begin_us[1:] - end_us[:-1]), 0.0)
    return np.bincount(row[1:], gap_us, math.prod(runs) * n_jobs).reshape(*runs, n_jobs)


def waits_us(
    init_us: np.ndarray, eligible_us: np.ndarray, task: np.ndarray, begin_us: np.ndarray, end_us: np.ndarray
) -> np.ndarray:
    """[..., N] us: how long each task waited until its last start, given its earlier runs, ordered by time for each
    task. The times between runs are summed up, so that a task that never waited gets exactly 0."""
    found_us = init_us - eligible_us
    if len(task):
        order = np.argsort(task, kind="stable")
        task, begin_us, end_us = task[order], begin_us[order], end_us[order]
        is_next = task[1:] == task[:-1]  # of the same task
        free_us = np.where(np.r_[False, is_next], np.r_[0.0, end_us[:-1]], eligible_us[task])
        before_us, last = np.bincount(task, begin_us - free_us, len(found_us)), np.r_[~is_next, True]
        found_us[task[last]] = before_us[task[last]] + (init_us[task[last]] - end_us[last])
    return found_us


def given_up_us(
    init_us: np.ndarray, eligible_us: np.ndarray, dropped_us: np.ndarray, withdraw_us: np.ndarray, end_us: float
) -> np.ndarray:
    """[N] when each task left the queue without a start: the policy dropped it, or its job was withdrawn before its
    last start while it waited for no other job. NaN: it did not, until ``end_us``."""
    is_withdrawn = np.isnan(dropped_us) & np.isnan(init_us) & (eligible_us <= withdraw_us)
    gone_us = np.where(is_withdrawn, withdraw_us, dropped_us)
    return np.where(gone_us <= end_us, gone_us, np.nan)
