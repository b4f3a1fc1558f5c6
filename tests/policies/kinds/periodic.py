"""A batch policy: asked once a period, from Python, with all that is pending as arrays."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from vinesim.policies import BatchPolicy, BatchServers, BatchTasks, amounts


@dataclass(frozen=True)
class PeriodicFirstFit(BatchPolicy):
    """First fit, task by task. Ties: (rack, shelf) order. Cost: O(tasks x units) a period."""

    name: ClassVar[str] = "test_periodic_first_fit"
    source: ClassVar[str] = "tests"

    def place(self, tasks: BatchTasks, servers: BatchServers) -> np.ndarray:
        load = servers.load.copy()
        placed = np.full(len(tasks.task), -1)
        for i, (kind, demand) in enumerate(zip(tasks.task_type, tasks.demand, strict=True)):
            needs = amounts(demand, servers.capacity)
            fits = (load < servers.capacity) & (load + needs <= servers.capacity)
            fits &= servers.affinity[servers.unit_type, kind] > 0
            if fits.any():
                placed[i] = np.argmax(fits)
                load[placed[i]] += needs[placed[i]]
        return placed
