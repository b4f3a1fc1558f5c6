"""How long a task is expected to take on a unit: by the scheduler's estimates, and at most its job's limit."""

from typing import Any

from vinesim.model.time import FOREVER_US
from vinesim.state.queries import estimate_us, task_type, time_on_type_us, transfer_us


def expected_us(model: Any, state: Any, task: int, processor_type: int) -> float:
    """Return the expected execution time on a processor type, at most the limit, and ``FOREVER_US``; infinite if it
    cannot run the task.

    Without estimates in the workload it is the true time, except for a hidden factor. An estimate is for the mean over
    the deployed types that can run the task; it is scaled by each type's time relative to their mean.
    """
    own_us = time_on_type_us(model, state, task, processor_type)
    own_type = task_type(model, state, task)
    if not model.affinity[processor_type, own_type] > 0.0:
        return own_us
    expected = own_us
    if len(model.task_estimate_us) > 0 and own_us < float("inf"):
        total_us, n = 0.0, 0
        for i in range(model.ranking.shape[1]):
            p = int(model.ranking[own_type, i])
            if p < 0:
                break
            total_us += time_on_type_us(model, state, task, p)
            n += 1
        expected = estimate_us(model, state, task)
        if total_us > 0.0:
            expected *= own_us / (total_us / n)
    return min(expected, limit_us(model, task), FOREVER_US)


def limit_us(model: Any, task: int) -> float:
    """Return after how long on a unit, with its transfer, the task is killed; infinite if its job has no limit."""
    return model.job_limit_us[model.task_job[task]] if len(model.job_limit_us) > 0 else float("inf")


def planned_end_us(model: Any, task: int, begin_us: float, moving_us: float, execution_us: float) -> float:
    """Return the expected finish of a task that is given to a unit at a time: after its transfer and its expected
    execution, or at its limit if that comes first."""
    return min(begin_us + moving_us + execution_us, begin_us + limit_us(model, task))


def expected_end_us(model: Any, state: Any, task: int, unit: int, begin_us: float) -> float:
    """Return the same for a unit."""
    execution_us = expected_us(model, state, task, int(model.unit_type[unit]))
    return planned_end_us(model, task, begin_us, transfer_us(model, state, task, unit), execution_us)
