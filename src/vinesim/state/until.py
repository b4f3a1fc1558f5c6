"""Until when a task is expected to take its part of a unit.

The end is later than the begin even if the expected time is 0 or is lost in rounding: otherwise a reservation would
take nothing, and a later task could be planned across it and delay it.
"""

import math
from typing import Any

import numpy as np

from vinesim.state.expected import expected_us, planned_end_us
from vinesim.state.queries import transfer_us


def held_until_us(model: Any, task: int, begin_us: float, moving_us: float, execution_us: float) -> float:
    """Return the expected end of a task with an expected transfer and execution, after its begin."""
    end_us = planned_end_us(model, task, begin_us, moving_us, execution_us)
    return end_us if end_us > begin_us else float(np.nextafter(begin_us, math.inf))


def held_until_on_us(model: Any, state: Any, task: int, unit: int, begin_us: float) -> float:
    """Return the same for a unit."""
    execution_us = expected_us(model, state, task, int(model.unit_type[unit]))
    return held_until_us(model, task, begin_us, transfer_us(model, state, task, unit), execution_us)
