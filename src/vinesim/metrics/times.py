"""The times of jobs and tasks that distributions are drawn of, as queries on a result's tables."""

from typing import NamedTuple


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
            "SELECT init_us - arrival_us AS x, task_type FROM tasks",
            "from the arrival of its job until a unit takes the task",
        ),
    )
}
