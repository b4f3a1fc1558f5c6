"""How long a task is expected to take on a unit, by what schedulers are told."""

from typing import Any

from vinesim.state.queries import estimate_us, task_type, time_on_type_us, transfer_us


def expected_us(model: Any, state: Any, task: int, processor_type: int) -> float:
    """Expected execution time on a processor type; infinite if it cannot run the task.

    Without estimates in the workload that is the true time, but for a hidden factor. An estimate stands for the mean
    over the deployed types that can run the task; each type's share of it is as that of its time in their mean.
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
    """Expected finish of the task if it is given to the unit at a time: transfer, then execution."""
    execution_us = expected_us(model, state, task, int(model.unit_type[unit]))
    return begin_us + transfer_us(model, state, task, unit) + execution_us
