"""Over-commitment: load beyond capacity, for a policy that says so. Online and batch.

``may_overcommit`` switches the engine's capacity check off, and the policy is called even when no unit has room.
On a unit that shares its speed the tasks slow down; on any other they run at full speed, and the table ``periods``
of a batch policy says how much was promised twice (``slav``).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from vinesim.policies.contract import BatchPolicy, BatchServers, BatchTasks, OnlinePolicy
from vinesim.state.queries import nothing, oldest_pending, start, task_type


@dataclass(frozen=True)
class Pile(OnlinePolicy):
    """Each task goes to the first unit that can run it, full or not. Ties: (rack, shelf) order. Cost: O(units)."""

    name: ClassVar[str] = "test_pile"
    source: ClassVar[str] = "tests"
    may_overcommit: ClassVar[bool] = True

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        if task >= 0:
            own_type = task_type(model, state, task)
            for unit in range(len(model.unit_type)):
                if model.affinity[model.unit_type[unit], own_type] > 0.0:
                    return start(task, unit)
        return nothing()


@dataclass(frozen=True)
class PileInBatches(BatchPolicy):
    """All that is pending goes to the first server that can run it. Ties: (rack, shelf) order. Cost: O(tasks)."""

    name: ClassVar[str] = "test_pile_in_batches"
    source: ClassVar[str] = "tests"
    may_overcommit: ClassVar[bool] = True

    def place(self, tasks: BatchTasks, servers: BatchServers) -> np.ndarray:
        able = servers.affinity[servers.unit_type][:, tasks.task_type] > 0  # [U, M]
        return np.argmax(able, axis=0)
