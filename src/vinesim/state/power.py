"""The power that counts against caps: the only rule, for both engines. The power model is that of metrics/energy.py.

A unit draws its sleep power, or its idle power if it never sleeps, while no task holds any of it. From when a task is
given the unit, transfers included, it draws what its tasks add up to. That is at least what the energy results count at
any time: there a unit draws its idle power while data is transferred.

Powers are whole milliwatts, so that their sums do not depend on the order of starts and ends, and what is only supposed
is put back exactly. A *level* is what the tasks of a unit add up to: mW, or of a type with a curve the utilisation.
"""

from typing import Any

import numpy as np

from vinesim.model.power_caps import ADDS, REPLACES, WHOLE_LEVEL

STEPS = 10  # of a curve


def level_of(model: Any, kind: int, unit: int, amount: float) -> Any:
    """What a task of a type, or of a class of demands, adds to the level of a unit of which it takes an amount."""
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
