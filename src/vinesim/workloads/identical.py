"""Identical jobs: the same number of tasks of one type, all of one length; and the paper's 500Jobs."""

import numpy as np

from vinesim.model.catalog import code_of
from vinesim.model.workload import Workload
from vinesim.workloads.assemble import assemble, check_counts
from vinesim.workloads.setting import Setting


def identical_jobs(
    setting: Setting,
    *,
    n_jobs: int,
    tasks_per_job: int = 1,
    operations: float = 30e6,
    task_type: str = "FP_GOOD",
    preferred: str | None = None,
) -> Workload:
    """``n_jobs`` jobs of ``tasks_per_job`` tasks, each task of ``operations`` operations."""
    check_counts(n_jobs=n_jobs, tasks_per_job=tasks_per_job)
    code = code_of(("task_type",), task_type, setting.task_types)
    return assemble(
        np.full(n_jobs, tasks_per_job), np.full(n_jobs, code), operations, preferred=preferred, **setting.common()
    )


def five_hundred_jobs(
    setting: Setting,
    *,
    n_jobs: int = 500,
    tasks_per_job: int = 5,
    operations: float = 30e6,
    task_type: str = "FP_GOOD",
    preferred: str | None = "GPU",
) -> Workload:
    """The 500Jobs workload: 500 jobs of 5 tasks of 30 M operations. Source: VineSim report, section 8.3."""
    return identical_jobs(
        setting,
        n_jobs=n_jobs,
        tasks_per_job=tasks_per_job,
        operations=operations,
        task_type=task_type,
        preferred=preferred,
    )
