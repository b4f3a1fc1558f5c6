"""How long a task is expected to take on a unit, by the scheduler's estimates."""

from typing import Any

from vinesim.state.queries import estimate_us, task_type, time_on_type_us, transfer_us


def expected_us(model: Any, state: Any, task: int, processor_type: int) -> float:
    """Return the expected execution time on a processor type; infinite if it cannot run the task.

    Without estimates in the workload it is the true time, except for a hidden factor. An estimate is for the mean over
    the deployed types that can run the task; it is scaled by each type's time relative to their mean.
    """
    own_us = time_on_type_us(model, state, task, processor_type)
    if len(model.task_estimate_us) == 0 or own_us == float("inf"):
        return own_us
    kind = task_type(model, state, task)
    total_us, n = 0.0, 0
    for i in range(model.ranking.shape[1]):
        p = int(model.ranking[kind, i])
        if p < 0:
            break
        total_us += time_on_type_us(model, state, task, p)
        n += 1
    if total_us <= 0.0:
        return estimate_us(model, state, task)
    return estimate_us(model, state, task) * (own_us / (total_us / n))


def expected_end_us(model: Any, state: Any, task: int, unit: int, begin_us: float) -> float:
    """Return the expected finish of the task if it is given to the unit at a time: transfer, then execution."""
    execution_us = expected_us(model, state, task, int(model.unit_type[unit]))
    return begin_us + transfer_us(model, state, task, unit) + execution_us
