"""Columns of the model and of a policy's scratch for an endless stream of requests.

Tasks and jobs are numbered without limit, so a smaller number always means an older one. Only tasks and jobs in use
have an entry. Policies index these columns as they index arrays.
"""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from vinesim.model.errors import InputError, Problem
from vinesim.model.workload import NO_GANG
from vinesim.state.layout import DROPPED, OF_REQUEST
from vinesim.state.model import ROWS, Model
from vinesim.state.scratch import FACTOR, build_scratch

ENDLESS = ("tasks", "jobs", "queue", "held")  # sizes without a limit here


class Sparse(dict[int, Any]):
    """A column that is ``default`` where nothing was written."""

    def __init__(self, default: Any):
        super().__init__()
        self.default = default

    def __missing__(self, key: int) -> Any:
        return self.default


class Rows(dict[int, Sequence[float]]):
    """A column with several values per task, indexed as ``rows[task, i]``."""

    def __init__(self, n_values: int):
        super().__init__()
        self.shape = (0, n_values)

    def __getitem__(self, at: Any) -> Any:
        row = self.get(at[0])
        return 0.0 if row is None else row[at[1]]  # a task that has ended, at the head of a policy's own queue


class Requests:
    """The pending and running requests, as columns of the model. A request is a job."""

    def __init__(self) -> None:
        self.n_jobs = 0  # so far; also the next job's number
        self.job_application: dict[int, int] = {}
        self.job_arrival_us: dict[int, float] = {}
        self.job_deadline_us: dict[int, float] = {}
        self.job_first: dict[int, int] = {0: 0}
        self.job_gang: dict[int, int] = {}
        self.job_left: dict[int, int] = {}  # number of its tasks that have not ended
        self.task_job: dict[int, int] = {}
        self.task_operations: dict[int, float] = {}
        self.task_demand: dict[int, float] = {}
        self.task_group: dict[int, int] = {}
        self.task_request = Rows(0)

    def in_model(self, model: Model) -> Any:
        """Return the model with these columns in place of its own."""
        self.task_request.shape = (0, model.task_request.shape[1])
        endless: Any = {name: value for name, value in vars(self).items() if name in ROWS}
        return model.replaced(**endless)

    def add(
        self,
        application: int,
        now_us: float,
        deadline_us: float,
        size: float,
        demand: float,
        group: int,
        n_tasks: int,
        wanted: Sequence[float],
    ) -> int:
        """Add a job with ``n_tasks`` tasks. Returns its number."""
        job = self.n_jobs
        first = self.job_first[job]
        self.n_jobs += 1
        self.job_application[job] = application
        self.job_arrival_us[job], self.job_deadline_us[job] = now_us, deadline_us
        self.job_first[job + 1] = first + n_tasks
        self.job_gang[job] = OF_REQUEST if n_tasks > 1 else NO_GANG
        self.job_left[job] = n_tasks
        for task in range(first, first + n_tasks):
            self.task_job[task], self.task_operations[task] = job, size
            self.task_demand[task], self.task_group[task] = demand, group
            self.task_request[task] = wanted
        return job

    def forget(self, task: int) -> int:
        """Remove a task that has ended. Returns its job if it was the job's last task, else -1."""
        job = self.task_job.pop(task)
        del self.task_operations[task], self.task_demand[task], self.task_group[task], self.task_request[task]
        self.job_left[job] -= 1
        if self.job_left[job] > 0:
            return -1
        del self.job_application[job], self.job_arrival_us[job], self.job_deadline_us[job], self.job_left[job]
        del self.job_gang[job]
        for edge in (job, job + 1):  # the first task of a job is also the end of the previous job
            if edge != self.n_jobs and edge not in self.job_left and edge - 1 not in self.job_left:
                del self.job_first[edge]
        return job


def gone() -> Sparse:
    """Return the column of the tasks' units, in which an unknown task counts as dropped, not as pending."""
    return Sparse(DROPPED)


def is_endless(size: str) -> bool:
    """Whether a column of scratch has no limit: entries for tasks, jobs or places in a queue."""
    return bool(set(size.split(FACTOR)) & set(ENDLESS))


def empty_scratch(
    declared: Mapping[str, tuple[str, str]], model: Model, policy: str, may_multiply: bool = False
) -> Any:
    """Return the policy's arrays, zero; those of tasks, jobs and queues have no limit.

    Raises :class:`InputError` for a product that contains such a size, unless it ``may_multiply``: its entries cannot
    be forgotten one by one.
    """
    problems, arrays = [], {}
    for name, (dtype, size) in declared.items():
        if size in ENDLESS or (may_multiply and is_endless(size)):
            arrays[name] = Sparse(np.zeros(1, dtype)[0].item())
        elif is_endless(size):
            expected = "one of " + ", ".join(ENDLESS) + " alone, because requests have no end"
            problems.append(Problem(f"policy {policy}, scratch {name}", expected, repr(size)))
    if problems:
        raise InputError(problems)
    fixed = build_scratch({name: d for name, d in declared.items() if name not in arrays}, model)
    return SimpleNamespace(**fixed._asdict(), **arrays)


def regrouped(
    scratch: Any, declared: Mapping[str, tuple[str, str]], old: Model, new: Model, moved: Mapping[int, int]
) -> Any:
    """Return the scratch for a model with more groups; ``moved`` maps each old group to its new number."""
    result = empty_scratch(declared, new, "", may_multiply=True)
    for name, (_, size) in declared.items():
        parts = size.split(FACTOR)
        if "groups" not in parts:
            setattr(result, name, getattr(scratch, name))
            continue
        axis = parts.index("groups")
        before, after = (along_groups(getattr(s, name), m, parts, axis) for s, m in ((scratch, old), (result, new)))
        for source, target in moved.items():
            after[target] = before[source]
    return result


def along_groups(array: np.ndarray, model: Model, parts: Sequence[str], axis: int) -> np.ndarray:
    """Return a view of a scratch array, groups first; the parts of its size are dimensions, the last one fastest."""
    n_groups = len(model.group_task_type)
    sizes = {"units": len(model.unit_type), "types": len(model.affinity), "task_types": len(model.ranking), "one": 1}
    sizes["groups"] = n_groups
    shape = [sizes[part] if part in sizes else int(part) for part in parts]
    return np.moveaxis(array.reshape(shape), axis, 0)


def copy_of(scratch: Any) -> dict[str, Any]:
    """Copy the contents of a scratch, to restore them later."""
    saved: dict[str, Any] = {}
    for name, value in vars(scratch).items():
        if isinstance(value, Sparse):
            saved[name] = Sparse(value.default)
            saved[name].update(value)
        else:
            saved[name] = value.copy()
    return saved
