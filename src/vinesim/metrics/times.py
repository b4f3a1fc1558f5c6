"""The times of jobs and tasks for which reports give distributions."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from vinesim.metrics.run_columns import JobsOrTasks, RunColumns
from vinesim.metrics.serving import between_tokens_us


class Times(NamedTuple):
    """A time that each job or task has. ``values`` returns it, us, NaN where there is none."""

    name: str  # of the numbers in summary.json
    of: str
    values: Callable[[RunColumns], np.ndarray]
    meaning: str
    of_tokens: bool = False  # it exists only with serving engines

    @property
    def table(self) -> JobsOrTasks:
        """The table that has a row for each value."""
        return "jobs" if self.of == "jobs" else "tasks"


def _between(begin: str, end: str) -> Callable[[RunColumns], np.ndarray]:
    """Return a function that gives each task's time between two of its columns, us."""

    def values(run: RunColumns) -> np.ndarray:
        end_us, begin_us = run.of("tasks", end, begin)
        return np.asarray(end_us - begin_us)

    return values


TIMES = {
    times.name: times
    for times in (
        Times(
            "jobs.latency_us",
            "jobs",
            lambda run: run.of("jobs", "latency_us")[0],
            "from the arrival of a job until its last task is done",
        ),
        Times(
            "tasks.latency_us",
            "tasks",
            _between("arrival_us", "finish_us"),
            "from the arrival of its job until the task is done",
        ),
        Times(
            "tasks.response_us",
            "tasks",
            _between("init_us", "finish_us"),
            "from when a unit takes the task until it is done",
        ),
        Times(
            "tasks.wait_us",
            "tasks",
            lambda run: run.task_wait_us(),
            "from when its job is eligible until a unit takes the task, without the time that it held units before",
        ),
        Times(
            "serving.first_token_us",
            "requests",
            _between("arrival_us", "first_token_us"),
            "from the arrival of a request to its first output token",
            of_tokens=True,
        ),
        Times(
            "serving.token_us",
            "requests",
            lambda run: between_tokens_us(*run.of("tasks", "first_token_us", "finish_us", "output_tokens")),
            "from each output token of a request to the next, on average",
            of_tokens=True,
        ),
        Times(
            "serving.queue_us",
            "requests",
            _between("arrival_us", "scheduled_us"),
            "from the arrival of a request until its engine first computes something for it",
            of_tokens=True,
        ),
    )
}


def times_with(has_tokens: bool) -> dict[str, Times]:
    """Return the times of a run by name; ``has_tokens``: it had serving engines."""
    return {name: times for name, times in TIMES.items() if has_tokens or not times.of_tokens}
