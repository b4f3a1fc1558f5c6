"""Where running tasks were before a batch policy moved them."""

import numpy as np

from vinesim.model.result import MOVED, EarlyEnds


class Moves:
    """Records the moves of one run as they happen."""

    def __init__(self, n_tasks: int):
        self._came_us = np.full(n_tasks, -np.inf)  # last move of each task
        self._rows: list[tuple[float, ...]] = []

    def add(self, task: np.ndarray, unit: np.ndarray, init_us: np.ndarray, start_us: np.ndarray, now_us: float) -> None:
        """Add tasks that leave their units now; they were given to their first units at ``init_us`` and began to
        execute, on any, at ``start_us``."""
        begin_us = np.maximum(init_us, self._came_us[task])
        started_us = np.maximum(start_us, begin_us)
        columns = (task.tolist(), unit.tolist(), begin_us.tolist(), started_us.tolist())
        self._rows += [(*row, now_us, np.nan, MOVED, False) for row in zip(*columns, strict=True)]
        self._came_us[task] = now_us

    def ends(self) -> EarlyEnds:
        """Return all stays on units that were left, in the order in which they ended."""
        return EarlyEnds.of(self._rows)
