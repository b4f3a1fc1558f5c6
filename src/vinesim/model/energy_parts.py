"""The energy of units by their state."""

from typing import NamedTuple

import numpy as np


class EnergyParts(NamedTuple):
    """The energy of each unit by the unit's state, J; [..., U] each, NaN if the powers are unknown."""

    active: np.ndarray  # while tasks execute; in a batch policy's periods: all energy of units with a task
    idle: np.ndarray  # awake while no task executes
    sleep: np.ndarray
    wake_up: np.ndarray  # going from sleep to active
    migration: np.ndarray  # for running tasks that were moved away

    @property
    def total(self) -> np.ndarray:
        """[..., U] J: their sum."""
        return self.active + self.idle + self.sleep + self.wake_up + self.migration
