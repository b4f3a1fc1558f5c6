"""What the application of a group of tasks registered; a group without an application has the defaults."""

from typing import Any

from vinesim.state.queries import joinable


def max_consolidated(model: Any, group: int) -> int:
    """Return how many of its requests may start as one: MAX_A in the Symphony paper."""
    a = model.group_application[group]
    return model.application_max_consolidated[a] if 0 <= a < len(model.application_max_consolidated) else 1


def most_as_one(model: Any, state: Any, group: int, task: int) -> int:
    """Return how many requests can start as one with the first pending one of a group, within the limit."""
    return joinable(model, state, task, max_consolidated(model, group))


def average_load(model: Any, group: int) -> float:
    """Return navg_A: the expected requests per second."""
    a = model.group_application[group]
    return model.application_load[a] if 0 <= a < len(model.application_load) else 1.0


def can_use(model: Any, group: int, processor_type: int) -> bool:
    """Whether its nodes have enough units of the type for a request; otherwise the type never becomes available."""
    a = model.group_application[group]
    if not 0 <= a < len(model.application_max_consolidated):
        return True
    return model.application_nodes[a, processor_type] >= model.application_gang_size[a]
