"""Where running tasks were before a batch policy moved them."""

import numpy as np

from vinesim.model.result import Stays


class Moves:
    """Records the moves of one run as they happen."""

    def __init__(self, n_tasks: int):
        self._came_us = np.full(n_tasks, -np.inf)  # last move of each task
        self._stays: list[Stays] = []

    def add(self, task: np.ndarray, unit: np.ndarray, init_us: np.ndarray, now_us: float) -> None:
        """Add tasks that leave their units now; ``init_us`` is when each was given to its first unit."""
        begin_us = np.maximum(init_us, self._came_us[task])
        self._stays.append(Stays(task, unit.astype(np.int32), begin_us, np.full(len(task), now_us)))
        self._came_us[task] = now_us

    def stays(self) -> Stays:
        """Return all stays on units that were left, in the order in which they ended."""
        if not self._stays:
            return Stays(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0), np.empty(0))
        return Stays(*map(np.concatenate, zip(*self._stays, strict=True)))
