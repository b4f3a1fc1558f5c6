"""FF and FFD: the first server with room."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from vinesim.policies.contract import BatchServers, BatchTasks
from vinesim.policies.placement.placing import Placing
from vinesim.state.demand import amounts


@dataclass(frozen=True)
class FirstFit(Placing):
    """Each task, the oldest first, goes to the first server with room for it.

    ``servers`` are tried in their own order, or with the largest capacity first (big_first), which saves more energy
    than best fit. A task that fits nowhere goes to the server with the most room left. With ``realloc`` all, running
    tasks are placed again together with the new ones. Ties: (rack, shelf) order. Cost per decision: O(server types x
    log servers).
    """

    name: ClassVar[str] = "ff"
    source: ClassVar[str] = "energy-aware scheduler thesis, section 3.5"

    servers: Literal["in_order", "big_first"] = "in_order"

    def place(self, tasks: BatchTasks, servers: BatchServers) -> np.ndarray:
        from vinesim.policies.placement.kernels.fit import place_first_fit
        from vinesim.policies.placement.kernels.forest import plant
        from vinesim.policies.placement.kernels.instance import Instance

        instance = Instance.of(tasks, servers)
        rank = np.arange(len(servers.load))
        if self.servers == "big_first":
            rank[np.argsort(-servers.capacity, kind="stable")] = np.arange(len(rank))
        trees = plant(instance.kind, instance.n_types, instance.load, False, instance.n_tasks)
        placed = np.empty(instance.n_tasks, np.int64)
        place_first_fit(
            instance.able(),
            tasks.demand,
            instance.capacity,
            instance.limit,
            instance.load,
            rank,
            *trees,
            placed,
        )
        return placed


@dataclass(frozen=True)
class FirstFitDecreasing(FirstFit):
    """As ff, but the tasks with the largest demand come first.

    ``servers`` are tried in their own order, or with the largest capacity first (big_first). A task that takes a whole
    server is the largest. With ``realloc`` all, running tasks are placed again together with the new ones. Ties: the
    older task, (rack, shelf) order. Cost per decision: as ff.
    """

    name: ClassVar[str] = "ffd"
    source: ClassVar[str] = "first fit decreasing; energy-aware scheduler thesis, section 2.2"

    def place(self, tasks: BatchTasks, servers: BatchServers) -> np.ndarray:
        return place_decreasing(super().place, tasks, servers)


def place_decreasing(
    place: Callable[[BatchTasks, BatchServers], np.ndarray], tasks: BatchTasks, servers: BatchServers
) -> np.ndarray:
    """[M]: what ``place`` answers if the tasks come by decreasing demand; in their own order."""
    order = decreasing(tasks)
    placed = np.empty(len(order), np.int64)
    placed[order] = place(tasks.rows(order), servers)
    return placed


def decreasing(tasks: BatchTasks) -> np.ndarray:
    """[M]: the tasks by decreasing demand, those that take a whole server first; the older first among equals."""
    return np.argsort(-amounts(tasks.demand, np.inf), kind="stable")
