"""LLF: the least loaded server."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from vinesim.policies.contract import BatchServers, BatchTasks
from vinesim.policies.placement.placing import Placing


@dataclass(frozen=True)
class LeastLoadedFirst(Placing):
    """Each task, the oldest first, goes to the least loaded server.

    ``load`` compares the servers' loads (demand), or their loads as shares of capacity (share). With ``realloc`` all,
    running tasks are placed again together with the new ones. Ties: (rack, shelf) order. Cost per decision:
    O(server types x log servers).
    """

    name: ClassVar[str] = "llf"
    source: ClassVar[str] = "energy-aware scheduler thesis, section 3"

    load: Literal["demand", "share"] = "demand"

    def place(self, tasks: BatchTasks, servers: BatchServers) -> np.ndarray:
        from vinesim.policies.placement.kernels.fit import place_least_loaded
        from vinesim.policies.placement.kernels.forest import plant
        from vinesim.policies.placement.kernels.instance import Instance

        instance = Instance.of(tasks, servers)
        scale = instance.capacity if self.load == "share" else np.ones(instance.n_types)
        trees = plant(instance.kind, instance.n_types, instance.load, False, instance.n_tasks)
        placed = np.empty(instance.n_tasks, np.int64)
        place_least_loaded(instance.able(), tasks.demand, instance.capacity, scale, instance.load, *trees, placed)
        return placed
