"""Processor sharing: the tasks of a unit slow one another down beyond its type's ``parallelism``.

The engine moves the finish events; the policy only chooses whom a task shares with, here the unit with the least load.
A custom policy may look at ``state.unit_load`` and at every unit, at the price of a scan.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.contract import OnlinePolicy
from vinesim.state.queries import can_start, next_pending, nothing, oldest_pending, start


@dataclass(frozen=True)
class LeastLoaded(OnlinePolicy):
    """Each task goes to the unit with the least load that has room. Ties: (rack, shelf) order. Cost: O(units)."""

    name: ClassVar[str] = "test_least_loaded"
    source: ClassVar[str] = "tests"
    work_conserving: ClassVar[bool] = True

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        while task >= 0:
            best = -1
            for unit in range(len(model.unit_type)):
                if can_start(model, state, task, unit) and (best < 0 or state.unit_load[unit] < state.unit_load[best]):
                    best = unit
            if best >= 0:
                return start(task, best)
            task = next_pending(model, state, task)
        return nothing()
