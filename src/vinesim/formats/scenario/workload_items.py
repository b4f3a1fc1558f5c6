"""What a problem with a workload is about."""

import numpy as np

from vinesim.model.errors import Problem
from vinesim.model.workload import COLUMNS


def item_of(problem: Problem, job_first: np.ndarray) -> tuple[str, int] | None:
    """Return the workload's column, "" for no single one, and the task, of a job the first one, that a problem is
    about; None if it is about none."""
    if len(problem.path) < 3 or problem.path[0] != "workload" or isinstance(problem.path[-1], str):
        return None
    _, *columns, number = problem.path
    column = "" if columns == ["task"] else ".".join(map(str, columns))
    is_of_job = column in COLUMNS and COLUMNS[column].of == "jobs"
    return column, int(job_first[number]) if is_of_job else int(number)
