"""Warn of logged jobs whose processes ran at the same time: here their tasks start one by one.

The tasks of such a job cannot be started together yet. Once they can, remove this file and its two calls.
"""

import warnings

import numpy as np

from vinesim.model.catalog import TaskType
from vinesim.model.errors import InputWarning
from vinesim.model.workload import Workload

PROCESSOR_TIME = TaskType("PROCESSOR_TIME")  # of the tasks that an import makes of a job, one per processor


def warn_of_parallel_jobs(work: Workload) -> None:
    """Warn of jobs with several tasks that ran together according to a log."""
    if PROCESSOR_TIME not in work.task_types:
        return
    of_log = work.job_task_type == work.task_types.index(PROCESSOR_TIME)
    n = int((of_log & (np.diff(work.job_first) > 1)).sum())
    if n:
        warnings.warn(
            f"{n:,} of the log's {int(of_log.sum()):,} jobs are parallel: they ran on several processors at once. Here "
            "each of their tasks starts as soon as a unit is free for it, whatever the policy, so waits are too short "
            "and units too busy. vinesim import swf --task job makes each job one task, on one node",
            InputWarning,
            stacklevel=1,  # this line, so that it is shown once per process, whoever runs it
        )
