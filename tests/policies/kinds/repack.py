"""A batch policy that places running tasks again: they come with the pending ones, and moving them costs nothing."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from vinesim.policies import BatchPolicy, BatchServers, BatchTasks, amounts


@dataclass(frozen=True)
class Repack(BatchPolicy):
    """All tasks, running and pending, on as few servers as first fit by falling demand needs.

    Ties: older task first, (rack, shelf) order. Cost: O(tasks x units) a period.
    """

    name: ClassVar[str] = "test_repack"
    source: ClassVar[str] = "tests"
    replaces_running: ClassVar[bool] = True

    def place(self, tasks: BatchTasks, servers: BatchServers) -> np.ndarray:
        placed = tasks.unit.astype(np.int64)
        smallest = -amounts(tasks.demand, np.inf)
        order = np.lexsort((tasks.task, smallest, placed < 0))  # running ones first, the largest before the others
        for i in order:
            needs = amounts(tasks.demand, servers.capacity[placed])
            others = (placed >= 0) & (np.arange(len(placed)) != i)
            load = servers.load + np.bincount(placed[others], needs[others], minlength=len(servers.load))
            wanted = amounts(tasks.demand[i], servers.capacity)
            fits = (load + wanted <= servers.capacity - 1e-9) | ((load == 0) & (wanted <= servers.capacity))
            fits &= servers.affinity[servers.unit_type, tasks.task_type[i]] > 0
            if fits.any():
                placed[i] = np.argmax(fits)
        return placed
