"""What a policy may ask. These bodies are the meaning, for the reader and for the reference engine; each looks at
every unit or every pending task. The compiled engine answers the same from indexes: ``state/indexed.py``.

``model`` and ``state`` are what ``decide`` was given; tasks, units and types are integers; -1 stands for none.
"""

import math
from typing import Any

from vinesim.state.layout import FULL, OVERFULL, Action

LOCAL, INTRA_RACK, INTER_RACK = 0, 1, 2  # tiers of distance from a task's data


def nothing() -> Action:
    """The policy has nothing more to start until the next event."""
    return Action(-1, 0, -1, math.inf)


def wait_until(time_us: float) -> Action:
    """Nothing now; ask again at that time at the latest."""
    return Action(-1, 0, -1, time_us)


def start(task: int, unit: int) -> Action:
    """Start a pending task on a unit."""
    return Action(task, 1, unit, math.inf)


def start_together(task: int, count: int, unit: int) -> Action:
    """Start the first ``count`` pending tasks of the group that ``task`` leads, consolidated into one, on a unit."""
    return Action(task, count, unit, math.inf)


def oldest_pending(model: Any, state: Any) -> int:
    """The task that has been pending longest."""
    return state.pending[0] if state.pending else -1


def next_pending(model: Any, state: Any, task: int) -> int:
    """The oldest pending task, younger than ``task``, of a group that has none older: the next one worth a try when
    ``task`` found no unit, as the rest of its group would find none either."""
    groups = set()
    for other in state.pending:
        group = state.group_of(other)
        if other > task and group not in groups:
            return other
        groups.add(group)
    return -1


def first_pending(model: Any, state: Any, group: int) -> int:
    """The oldest pending task of a group."""
    for task in state.pending:
        if state.group_of(task) == group:
            return task
    return -1


def group_size(model: Any, state: Any, task: int) -> int:
    """How many tasks of a task's group are pending: what ``start_together`` may take at most."""
    return sum(state.group_of(other) == state.group_of(task) for other in state.pending)


def task_type(model: Any, state: Any, task: int) -> int:
    """A task's type."""
    return state.task_type_of(task)


def preferred_type(model: Any, state: Any, task: int) -> int:
    """A task's preferred processor type. The policy's groups must name ``preferred_type``."""
    return state.preferred_of(task)


def arrival_us(model: Any, state: Any, task: int) -> float:
    """When a task's job arrived."""
    return model.job_arrival_us[model.task_job[task]]


def demand(model: Any, state: Any, task: int, unit: int) -> float:
    """How much of a unit's capacity a task takes."""
    wanted = model.task_demand[task] if len(model.task_demand) else 0.0
    return wanted if wanted > 0.0 else model.unit_capacity[unit]


def fits(model: Any, state: Any, task: int, unit: int) -> bool:
    """Whether the unit has room for the task now. A billionth of the capacity is taken for rounding."""
    load, capacity = state.unit_load[unit], model.unit_capacity[unit]
    return load < capacity * FULL and load + demand(model, state, task, unit) <= capacity * OVERFULL


def can_start(model: Any, state: Any, task: int, unit: int) -> bool:
    """Whether the unit can run the task's type and has room for it now."""
    return model.affinity[model.unit_type[unit], task_type(model, state, task)] > 0.0 and fits(model, state, task, unit)


def tier(model: Any, state: Any, task: int, unit: int) -> int:
    """How far a unit is from a task's data: LOCAL (same rack and shelf), INTRA_RACK or INTER_RACK."""
    data = model.task_data_node[task] if len(model.task_data_node) else 0
    node = model.unit_node[unit]
    if node == data:
        return LOCAL
    return INTRA_RACK if model.node_rack[node] == model.node_rack[data] else INTER_RACK


def transfer_us(model: Any, state: Any, task: int, unit: int) -> float:
    """Time to move the task's data to the unit; 0 for a task without data."""
    size = model.task_data_bytes[task] if len(model.task_data_bytes) else 0.0
    if size == 0.0:
        return 0.0
    t = tier(model, state, task, unit)
    return model.tier_latency_us[t] + size / model.tier_bandwidth[t]


def execution_us(model: Any, state: Any, task: int, unit: int) -> float:
    """Time to compute the task on the unit at full speed, with the overhead; infinite if it cannot."""
    p, t = model.unit_type[unit], task_type(model, state, task)
    speed = model.affinity[p, t]
    return model.overhead_us[p, t] + model.task_operations[task] / speed if speed > 0.0 else math.inf


def first_free(model: Any, state: Any, task: int, processor_type: int = -1, distance: int = -1) -> int:
    """The first unit, in (rack, shelf) order, on which the task can start; of one type or any (-1), at one tier from
    the task's data or any (-1)."""
    for unit in range(len(model.unit_type)):
        if (
            can_start(model, state, task, unit)
            and processor_type in (-1, model.unit_type[unit])
            and distance in (-1, tier(model, state, task, unit))
        ):
            return unit
    return -1


def fastest_free(model: Any, state: Any, task: int) -> int:
    """The unit with the highest affinity to the task on which it can start; the first of several."""
    best, best_speed = -1, 0.0
    for unit in range(len(model.unit_type)):
        speed = model.affinity[model.unit_type[unit], task_type(model, state, task)]
        if speed > best_speed and can_start(model, state, task, unit):
            best, best_speed = unit, speed
    return best


def closest_free(model: Any, state: Any, task: int) -> int:
    """The unit at the least (rack distance, shelf distance) from the task's data on which it can start; the first
    of several."""
    data = model.task_data_node[task] if len(model.task_data_node) else 0
    best, best_distance = -1, (math.inf, math.inf)
    for unit in range(len(model.unit_type)):
        node = model.unit_node[unit]
        distance = (
            abs(model.node_rack[node] - model.node_rack[data]),
            abs(model.node_shelf[node] - model.node_shelf[data]),
        )
        if distance < best_distance and can_start(model, state, task, unit):
            best, best_distance = unit, distance
    return best


def random_free(model: Any, state: Any, task: int) -> int:
    """One of the units on which the task can start, each as likely, from the policy's random stream."""
    units = [unit for unit in range(len(model.unit_type)) if can_start(model, state, task, unit)]
    return units[random_below(state, len(units))] if units else -1


def random_below(state: Any, n: int) -> int:
    """An integer from 0 to n - 1, from the policy's random stream (SplitMix64; one draw a call)."""
    return state.random_below(n)
