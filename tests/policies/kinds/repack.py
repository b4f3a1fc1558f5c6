"""A batch policy that places running tasks again: they come with the pending ones, and moving them costs nothing."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from vinesim.policies.contract import BatchPolicy, BatchServers, BatchTasks


@dataclass(frozen=True)
class Repack(BatchPolicy):
    """All tasks, running and pending, on as few servers as first fit by falling demand needs. Running ones stay running.

    Ties: older task first, (rack, shelf) order. Cost: O(tasks x units) a period.
    """

    name: ClassVar[str] = "test_repack"
    source: ClassVar[str] = "tests"
    replaces_running: ClassVar[bool] = True

    period_us: float = 5.0

    def place(self, tasks: BatchTasks, servers: BatchServers) -> np.ndarray:
        placed = tasks.unit.astype(np.int64)
        load = servers.load.copy()
        running = placed >= 0
        for i in [*np.argsort(-tasks.demand[running], kind="stable"), *np.arange(running.sum(), len(placed))]:
            i = int(np.flatnonzero(running)[i] if i < running.sum() else np.flatnonzero(~running)[i - running.sum()])
            needs = np.where(tasks.demand[i] > 0, tasks.demand[i], servers.capacity)
            able = servers.affinity[servers.unit_type, tasks.task_type[i]] > 0
            fits = able & (load + needs <= servers.capacity)
            if fits.any():
                placed[i] = np.argmax(fits)
            if placed[i] >= 0:
                load[placed[i]] += needs[placed[i]]
        return placed
