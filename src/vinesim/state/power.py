"""The power that counts against caps: the only rule, for both engines. The power model is that of metrics/energy.py.

A unit draws its sleep power, or its idle power if it never sleeps, while no task holds any of it. From the time at
which a task is given the unit, transfers included, it draws the sum of its tasks. That is at least as much as the
energy results count at any time: there a unit draws its idle power while data is transferred.

Powers are whole milliwatts, so that their sums do not depend on the order of starts and ends, and everything that is
only supposed is put back exactly. A *level* is the sum of the tasks of a unit: in mW or, for a type with a curve, the
utilisation.
"""

import math
from typing import Any

import numpy as np

from vinesim.model.errors import Problem
from vinesim.model.power_caps import ADDS, MW_PER_W, REPLACES, WHOLE_LEVEL
from vinesim.state import queries
from vinesim.state.demand import comparable
from vinesim.state.model import classes_of_tasks, demands_of_tasks

STEPS = 10  # of a curve


def level_of(model: Any, kind: int, unit: int, amount: float) -> Any:
    """How much a task of a type, or of a class of demands, adds to the level of a unit if it takes an amount of it."""
    p = model.unit_type[unit]
    part = amount if model.power_law[p] == ADDS else amount / model.unit_capacity[unit]
    return np.int64(np.rint(model.power_each[p, kind] * part))


def draw_of(model: Any, unit: int, is_held: bool, level: Any) -> Any:
    """The power of a unit, mW."""
    p = model.unit_type[unit]
    held_mw = np.int64(model.power_held_mw[p])
    if not is_held:
        return np.int64(model.power_empty_mw[p])
    if model.power_law[p] == ADDS:
        return held_mw + level
    if model.power_law[p] == REPLACES:
        return max(held_mw, level)
    step = min(level / WHOLE_LEVEL, 1.0) * STEPS
    i: Any = min(np.int64(step), STEPS - 1)
    low, high = model.power_curve_mw[p, i], model.power_curve_mw[p, i + 1]
    return np.int64(np.rint(low + (high - low) * (step - i)))


def is_held_back(model: Any, state: Any, task: int, unit: int) -> bool:
    """Whether there is room for everything that a task itself would hold on a unit, but the caps leave too little
    power."""
    return (
        queries.has_room_for(model, state, unit, queries.demand(model, state, task, unit))
        and (len(model.class_units) == 0 or queries.rest_fits(model, state, task, unit))
        and not queries.caps_allow(model, state, task, unit)
    )


MAX_NAMED = 5  # tasks


def empty_mw(model: Any) -> np.ndarray:
    """[R + 1] the powers that the units of each rack, and of the datacenter, draw while no task holds any of them."""
    of_unit = model.power_empty_mw[model.unit_type]
    rack = model.node_rack[model.unit_node]
    of_rack = np.bincount(rack, of_unit, minlength=len(model.cap_mw) - 1).astype(np.int64)
    return np.append(of_rack, of_unit.sum())


def over_caps(model: Any) -> list[Problem]:
    """Find tasks for whose own units the caps leave too little power even if nothing else runs."""
    task_class, demand = classes_of_tasks(model), demands_of_tasks(model)
    left_mw = model.cap_mw - empty_mw(model)
    rack = model.node_rack[model.unit_node]
    units = np.unique(np.stack([model.unit_type, model.unit_capacity, left_mw[rack]]), axis=1, return_index=True)[1]
    problems = []
    asked = np.stack([task_class, comparable(demand)])
    firsts = np.unique(asked, axis=1, return_index=True)[1]
    for first in firsts.tolist():
        able = [unit for unit in units.tolist() if model.affinity[model.unit_type[unit], task_class[first]] > 0]
        needed = [(_alone_mw(model, task_class[first], demand[first], unit), unit) for unit in able]
        if needed and all(mw > min(left_mw[rack[unit]], left_mw[-1]) for mw, unit in needed):
            least, unit = min(needed)
            most = min(left_mw[rack[unit]], left_mw[-1]) / MW_PER_W
            expected = f"a task that adds at most {most:g} W, which the power cap leaves beyond what idle units draw"
            problems.append(
                Problem(("workload", "task", int(first)), expected, f"{least / MW_PER_W:g} W", "Raise the cap.")
            )
    return problems[:MAX_NAMED]


def _alone_mw(model: Any, kind: int, demand: float, unit: int) -> int:
    """How much more the units of the lead of a task draw if it alone runs there."""
    capacity = float(model.unit_capacity[unit])
    amount = min(1.0, capacity) if math.isnan(demand) else min(demand, capacity)
    n_units = int(model.class_units[kind]) if len(model.class_units) else 1
    level = level_of(model, kind, unit, amount)
    return n_units * int(draw_of(model, unit, True, level) - draw_of(model, unit, False, 0))
