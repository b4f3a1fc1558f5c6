"""RR: servers in turn."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from vinesim.policies.contract import BatchServers, BatchTasks
from vinesim.policies.placement.placing import Placing


@dataclass(frozen=True)
class RoundRobin(Placing):
    """Tasks go to the servers in turn, whatever their loads.

    With ``realloc`` all, running tasks are placed again together with the new ones: the m-th task of a period goes to
    server m mod N. With new, running tasks stay and the turn continues from period to period: the m-th task of the
    workload goes to server m mod N. Servers that cannot run the task are not counted. Ties: (rack, shelf) order.
    Cost per decision: O(1).
    """

    name: ClassVar[str] = "rr"
    source: ClassVar[str] = "energy-aware scheduler thesis, section 3"

    def place(self, tasks: BatchTasks, servers: BatchServers) -> np.ndarray:
        turn = np.arange(len(tasks.task)) if self.replaces_running else tasks.task
        able = servers.can_run(tasks)
        kinds, kind = able[:1], np.zeros(len(tasks.task), np.int64)
        if (able != kinds).any():  # sorting the rows would take longer than everything else
            kinds, kind = np.unique(able, axis=0, return_inverse=True)
        placed = np.full(len(tasks.task), -1, np.int64)
        for i, types in enumerate(kinds):
            units, mine = np.flatnonzero(types[servers.unit_type]), np.flatnonzero(kind == i)
            if len(units):
                placed[mine] = units[turn[mine] % len(units)]
        return placed
