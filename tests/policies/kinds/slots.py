"""Slots: units that run several tasks at full speed, as long as their demands fit.

Nothing in the policy says so: ``can_start`` and the ``..._free`` queries count the room that is left. A unit has slots
when its type has a ``capacity`` above what its tasks demand (``Workload.demand``).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.contract import OnlinePolicy
from vinesim.state.queries import first_free, next_pending, nothing, oldest_pending, start


@dataclass(frozen=True)
class Slots(OnlinePolicy):
    """Each task goes to the first unit with room for it. Ties: (rack, shelf) order. Cost: O(1)."""

    name: ClassVar[str] = "test_slots"
    source: ClassVar[str] = "tests"
    work_conserving: ClassVar[bool] = True

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        while task >= 0:
            unit = first_free(model, state, task)
            if unit >= 0:
                return start(task, unit)
            task = next_pending(model, state, task)
        return nothing()
