"""Jobs of a log whose processes ran at the same time: here their tasks start one by one, and a warning says so.

There is no way yet to start the tasks of a job together. Whatever adds one takes this file and its two calls away.
"""

import warnings

import numpy as np

from vinesim.model.catalog import TaskType
from vinesim.model.errors import InputWarning
from vinesim.model.workload import Workload

PROCESSOR_TIME = TaskType("PROCESSOR_TIME")  # of the tasks that an import makes of a job, one for each processor


def warn_of_parallel_jobs(work: Workload) -> None:
    """Warn of jobs with several tasks that a log says ran together."""
    if PROCESSOR_TIME not in work.task_types:
        return
    of_log = work.job_task_type == work.task_types.index(PROCESSOR_TIME)
    n = int((of_log & (np.diff(work.job_first) > 1)).sum())
    if n:
        warnings.warn(
            f"{n:,} of the log's {int(of_log.sum()):,} jobs are parallel: they ran on several processors at once. Here "
            "each of their tasks starts as soon as there is a unit for it, whatever the policy, so waits are too short "
            "and units too full. vinesim import swf --task job makes one task of a job, on one node",
            InputWarning,
            stacklevel=1,  # this line: once a process, whoever runs it
        )
