"""The times of jobs and tasks that distributions are drawn of: as queries on a stored result's tables, and of a run in
memory."""

from typing import NamedTuple

import numpy as np

from vinesim.metrics.tables import Tables


class Times(NamedTuple):
    """A time of each job or task: ``query`` gives (x, task_type), us; x is NULL where there is none."""

    name: str  # of the numbers in summary.json
    of: str
    query: str
    meaning: str


TIMES = {
    times.name: times
    for times in (
        Times(
            "jobs.latency_us",
            "jobs",
            "SELECT latency_us AS x, task_type FROM jobs",
            "from the arrival of a job until its last task is done",
        ),
        Times(
            "tasks.latency_us",
            "tasks",
            "SELECT finish_us - arrival_us AS x, task_type FROM tasks",
            "from the arrival of its job until the task is done",
        ),
        Times(
            "tasks.response_us",
            "tasks",
            "SELECT finish_us - init_us AS x, task_type FROM tasks",
            "from when a unit takes the task until it is done",
        ),
        Times(
            "tasks.wait_us",
            "tasks",
            "SELECT waited_us(tasks.task, tasks.arrival_us, tasks.init_us) AS x, task_type FROM tasks",
            "from the arrival of its job until a unit takes the task, without the time that it held units before",
        ),
    )
}


def times_of(tables: Tables, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a time of each job or task of a run in memory, us, NaN where there is none; and their task types."""
    job_type, outcome = tables.scenario.workload.job_task_type, tables.outcome
    if name == "jobs.latency_us":
        return tables.job_latency_us, job_type
    time_us = {
        "tasks.latency_us": outcome.task_finish_us - tables.task_arrival_us,
        "tasks.response_us": outcome.task_finish_us - outcome.task_init_us,
        "tasks.wait_us": tables.task_wait_us,
    }[name]
    return time_us, np.repeat(job_type, tables.counts)
