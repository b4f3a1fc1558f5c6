"""CLOSER_TO_DATA, the scheduler that minimises data transfers."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from vinesim.policies.contract import OnlinePolicy
from vinesim.state.queries import closest_free, first_free, next_pending, nothing, oldest_pending, start


@dataclass(frozen=True)
class CloserToData(OnlinePolicy):
    """Each task goes to the idle unit closest to its data, whatever its speed.

    ``distance``: with ``tiers`` the node with the data comes first, then its rack, then the rest; with ``coordinates``
    the smallest rack distance, then the smallest shelf distance. Ties: first in (rack, shelf) order. Cost per decision:
    O(1) for each processor type.
    """

    name: ClassVar[str] = "closer_to_data"
    source: ClassVar[str] = "VineSim report, 5.3.2 CLOSER_TO_DATA, 8.8.1 (tiers), 4.1 (coordinates)"
    work_conserving: ClassVar[bool] = True

    distance: Literal["tiers", "coordinates"] = "tiers"

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        while task >= 0:
            unit = -1
            if view.options.distance.coordinates:
                unit = closest_free(model, state, task)
            else:
                for tier in range(3):
                    unit = first_free(model, state, task, -1, tier)
                    if unit >= 0:
                        break
            if unit >= 0:
                return start(task, unit)
            task = next_pending(model, state, task)
        return nothing()
