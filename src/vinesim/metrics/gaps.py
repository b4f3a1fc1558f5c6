"""How long tasks and jobs were pending, and which tasks left the queue without a start."""

import math

import numpy as np

from vinesim.metrics.segments import numbered


def gaps_us(job: np.ndarray, begin_us: np.ndarray, end_us: np.ndarray, n_jobs: int) -> np.ndarray:
    """Return [..., J] how long no task of each job held a unit between the job's first start and its last, us.

    ``job`` [S] is that of each segment; ``begin_us`` and ``end_us`` are [..., S], NaN for segments that never began.
    """
    runs, has_begun = begin_us.shape[:-1], np.isfinite(begin_us)
    row = numbered(np.broadcast_to(job, begin_us.shape), n_jobs)[has_begun]
    begin_us, end_us = begin_us[has_begun], end_us[has_begun]
    begin_us, end_us = begin_us[np.lexsort((begin_us, row))], end_us[np.lexsort((end_us, row))]
    row = np.sort(row)
    # if a job's n-th end is before its start n + 1, all n segments that began have ended by then
    gap_us = np.where(row[1:] == row[:-1], np.maximum(0.0, begin_us[1:] - end_us[:-1]), 0.0)
    return np.bincount(row[1:], gap_us, math.prod(runs) * n_jobs).reshape(*runs, n_jobs)


def waits_us(
    init_us: np.ndarray, eligible_us: np.ndarray, task: np.ndarray, begin_us: np.ndarray, end_us: np.ndarray
) -> np.ndarray:
    """Return [..., N] how long each task waited before its last start, us.

    Earlier runs are given by ``task``, ``begin_us`` and ``end_us``, in order of time for each task. The gaps between
    runs are added up, so that a task that never waited gets exactly 0.
    """
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
    """Return [N] when each task left the queue without a start, us; NaN if it did not do so by ``end_us``.

    It leaves if the policy drops it, or if its job is withdrawn once eligible and before its last start.
    """
    is_withdrawn = np.isnan(dropped_us) & np.isnan(init_us) & (eligible_us <= withdraw_us)
    gone_us = np.where(is_withdrawn, withdraw_us, dropped_us)
    return np.where(gone_us <= end_us, gone_us, np.nan)
