"""The columns of an endless stream of requests: a window of fixed length on them, and what a turn gets and answers.

Tasks and jobs are numbered by arrival, from 1; number 0 stands for all that are gone. When the window is full, what is
left is renumbered (``live/renumbering.py``). ``Model`` has read-only views of the columns of the same names.
Dimensions: N tasks, N jobs; G groups, A applications, Q resources.
"""

from typing import NamedTuple

import numpy as np

from vinesim.model.workload import NO_GANG

ARRIVE, END, FREE, OPEN, CLOSE, WITHDRAW, TELL, RENUMBERED = range(8)  # kinds of operations

OPERATION = np.dtype(
    [
        ("kind", "i8"),
        ("number", "i8"),  # of the application, the task, the unit, the request; for TELL the event
        ("size", "f8"),  # of a request that arrives
        ("arrived_us", "f8"),  # and when it did
    ],
    align=True,
)
ANSWER = np.dtype(
    [
        ("kind", "i8"),  # START, DROP, or NOTHING for a request that was withdrawn
        ("task", "i8"),
        ("unit", "i8"),
        ("member", "i8"),  # of a gang, from 0
        ("n_requests", "i8"),  # that start as one; their numbers follow one another in ``requests``
        ("application", "i8"),
    ],
    align=True,
)


class Window(NamedTuple):
    """What changes when a request arrives, besides the state."""

    job_arrival_us: np.ndarray  # [N + 1] float64: of the next job infinite, or now while more of the instant is to come
    job_deadline_us: np.ndarray  # [N + 1] float64
    job_first: np.ndarray  # [N + 2] int64
    job_request: np.ndarray  # [N + 1] int64: the request's number, which is never used again
    job_application: np.ndarray  # [N + 1] int32
    job_gang: np.ndarray  # [N + 1] int32: OF_REQUEST, or NO_GANG
    task_job: np.ndarray  # [N] int32
    task_operations: np.ndarray  # [N] float64
    task_demand: np.ndarray  # [N] float64
    task_group: np.ndarray  # [N] int32
    task_next: np.ndarray  # [N] int32: the next task of the same group; N after the last
    task_request: np.ndarray  # [N, Q] float64
    group_tail: np.ndarray  # [G] int64: the task of the group that arrived last, -1 = none
    application_group: np.ndarray  # [A] int64
    application_size: np.ndarray  # [A] int64: tasks of a request
    application_demand: np.ndarray  # [A] float64
    application_due_us: np.ndarray  # [A] float64: from arrival to deadline, for all or per unit of size
    application_per_size: np.ndarray  # [A] bool
    application_request: np.ndarray  # [A, Q] float64
    n_requests: np.ndarray  # [1] int64: so far; also the next request's number


def empty_window(n_tasks: int, n_resources: int) -> Window:
    """Return a window without tasks, for no application yet."""
    task_job, job_first = np.zeros(n_tasks, np.int32), np.zeros(n_tasks + 2, np.int64)
    job_first[1] = 1
    return Window(
        job_arrival_us=np.full(n_tasks + 1, np.inf),
        job_deadline_us=np.full(n_tasks + 1, np.inf),
        job_first=job_first,
        job_request=np.full(n_tasks + 1, -1, np.int64),
        job_application=np.full(n_tasks + 1, -1, np.int32),
        job_gang=np.full(n_tasks + 1, NO_GANG, np.int32),
        task_job=task_job,
        task_operations=np.zeros(n_tasks),
        task_demand=np.zeros(n_tasks),
        task_group=np.zeros(n_tasks, np.int32),
        task_next=np.full(n_tasks, n_tasks, np.int32),
        task_request=np.zeros((n_tasks, n_resources)),
        group_tail=np.empty(0, np.int64),
        application_group=np.empty(0, np.int64),
        application_size=np.empty(0, np.int64),
        application_demand=np.empty(0),
        application_due_us=np.empty(0),
        application_per_size=np.empty(0, bool),
        application_request=np.empty((0, n_resources)),
        n_requests=np.zeros(1, np.int64),
    )
