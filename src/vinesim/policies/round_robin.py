"""RR: servers in turn."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from vinesim.policies.contract import BatchServers, BatchTasks
from vinesim.policies.placing import Placing


@dataclass(frozen=True)
class RoundRobin(Placing):
    """The m-th task of a period goes to server m mod N, whatever it holds already.

    ``period_us`` is the batch period; with ``realloc`` all, running tasks are placed again with the new ones. A server
    that cannot run the task's type is not counted. Ties: (rack, shelf) order, from the first server anew each period.
    Cost of a decision: O(1).
    """

    name: ClassVar[str] = "rr"
    source: ClassVar[str] = "energy-aware scheduler thesis, section 3"

    def place(self, tasks: BatchTasks, servers: BatchServers) -> np.ndarray:
        placed = np.full(len(tasks.task), -1, np.int64)
        for kind in np.unique(tasks.task_type):
            able = np.flatnonzero(servers.affinity[servers.unit_type, kind] > 0)
            if len(able):
                turn = np.flatnonzero(tasks.task_type == kind)
                placed[turn] = able[turn % len(able)]
        return placed
