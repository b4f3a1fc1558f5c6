"""What the energy of units is spent on."""

from typing import NamedTuple

import numpy as np


class EnergyParts(NamedTuple):
    """The energy of each unit by the unit's state, J; [..., U] each, NaN where the powers are not known."""

    active: np.ndarray  # while tasks execute; in a period that is counted: all of it, on units with a task
    idle: np.ndarray  # awake, and no task executes
    sleep: np.ndarray
    wake_up: np.ndarray  # going from sleep to active
    migration: np.ndarray  # running tasks that moved away

    @property
    def total(self) -> np.ndarray:
        """[..., U] J: their sum."""
        return self.active + self.idle + self.sleep + self.wake_up + self.migration
