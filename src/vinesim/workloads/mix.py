"""A mix of task types by job: an exact number of jobs of each type, in random order."""

import math

import numpy as np

from vinesim.model.catalog import code_of
from vinesim.model.errors import InputError, Problem
from vinesim.model.workload import Workload
from vinesim.workloads.assemble import assemble, check_counts
from vinesim.workloads.setting import Setting


def mix(
    setting: Setting,
    *,
    shares: dict[str, float],
    n_jobs: int = 500,
    tasks_per_job: int = 5,
    operations: float = 30e6,
    preferred: str | None = None,
) -> Workload:
    """``n_jobs`` jobs, round(share x n_jobs) of each task type in ``shares``, shuffled by the seed.

    Shares are relative: {"FP_GOOD": 70, "FP_BAD": 30}. If rounding gives too many or too few jobs, the type whose count
    is furthest from its share is adjusted. Source: VineSim report, section 7.1 (mixes 70/30 and so on).
    """
    check_counts(n_jobs=n_jobs, tasks_per_job=tasks_per_job)
    total = sum(shares.values())
    if not (shares and all(0 <= s < math.inf for s in shares.values()) and 0 < total < math.inf):
        expected = "for each task type a share of 0 or more, not all 0"
        raise InputError([Problem(("shares",), expected, f"{shares}", "For example {FP_GOOD: 70, FP_BAD: 30}.")])
    codes = [code_of(("shares",), name, setting.task_types) for name in shares]
    exact = np.array([share / total * n_jobs for share in shares.values()])
    counts = np.floor(exact + 0.5).astype(np.int64)
    while (excess := int(counts.sum()) - n_jobs) != 0:
        step = 1 if excess > 0 else -1
        counts[np.argmax(step * (counts - exact))] -= step
    job_task_type = np.repeat(codes, counts)
    setting.sizes().shuffle(job_task_type)
    return assemble(np.full(n_jobs, tasks_per_job), job_task_type, operations, preferred=preferred, **setting.common())
