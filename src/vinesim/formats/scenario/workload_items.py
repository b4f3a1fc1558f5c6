"""What a problem with a workload is about."""

import re

import numpy as np

from vinesim.model.errors import Problem
from vinesim.model.workload import COLUMNS


def item_of(problem: Problem, job_first: np.ndarray) -> tuple[str, int] | None:
    """Return the workload's column, "" for no single one, and the task, of a job the first one, that a problem is
    about; None if it is about none."""
    item = re.fullmatch(r"workload(?:\.([\w.]+)\[(\d+)\]|: task (\d+))", problem.where)
    if item is None:
        return None
    column, number = item[1] or "", int(item[2] or item[3])
    return column, int(job_first[number]) if COLUMNS.get(column, (None, ""))[1] == "jobs" else number
