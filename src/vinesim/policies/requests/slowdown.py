"""How much slower a task is on a unit that others share."""

from typing import Any

from vinesim.state.queries import throughput


def slowdown_at(model: Any, state: Any, task: int, unit: int, load: float) -> float:
    """Return how much slower than alone a task is on a unit with that load, its own demand included."""
    return max(1.0, load / throughput(model, state, task, unit, load)) if load > 0.0 else 1.0
