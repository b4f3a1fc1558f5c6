"""The affinity of a processor type to a task type as its weight among engines of different types."""

from typing import Any

from vinesim.state.queries import task_type


def weighted(model: Any, state: Any, task: int, unit: int, load: float) -> float:
    """Return the load of a unit relative to its weight for the task, which must be able to start there."""
    return load / model.affinity[model.unit_type[unit], task_type(model, state, task)]
