"""The units that tasks hold beside the one that they run on, as arrays after a run."""

from typing import Any

import numpy as np

from vinesim.state.layout import Model, State


def held_units(model: Model, state: State) -> np.ndarray:
    """[H] the units that each task holds, or held last, beside its own; -1: none yet.

    Where segments end with their tasks and nothing is tried out, the loop does not write down what follows from the
    node of a task (``state/kernel.py``: ``writes_held``).
    """
    if len(state.held_before):
        return state.held_unit
    found, n, follower = state.held_unit.copy(), len(model.companion_type), state.task_follower
    has_held = state.task_unit >= 0
    has_held[follower[follower >= 0]] = False
    task = np.flatnonzero(has_held)
    kind, node = kinds_of_tasks(model, task), model.unit_node[state.task_unit[task]]
    place = model.task_held[task] + model.kind_units[kind] - 1
    for c in range(n):
        asks, sole = model.kind_companion[kind, model.companion_type[c]] > 0, model.node_sole[node * n + c]
        follows = asks & (sole >= 0)
        found[place[follows]] = sole[follows]
        place = place + asks
    return found


def kinds_of_tasks(model: Model, tasks: Any = slice(None)) -> np.ndarray:
    """The type of each of some tasks, or the class of what it demands where tasks hold several units."""
    group = model.task_group if len(model.task_group) else np.zeros(len(model.task_operations), np.int64)
    return model.group_task_type[group[tasks]]
