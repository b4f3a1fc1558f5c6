"""Each request goes to the engine with the fewest requests."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.serving.weights import weighted
from vinesim.state.queries import can_start, next_pending, nothing, oldest_pending, start, unit_tasks


@dataclass(frozen=True)
class LeastRequests(OnlinePolicy):
    """Each request goes to the engine with the fewest requests, running or in its queue.

    The affinity of an engine's type is its weight. The engine with the least (requests + 1) / affinity is chosen, so an
    engine with twice the affinity gets twice the requests. With equal affinities, only requests count.

    Ties: first in (rack, shelf) order. Cost per decision: the number of units.
    """

    name: ClassVar[str] = "least_requests"
    source: ClassVar[str] = "Linux Virtual Server: the scheduler `sed`, shortest expected delay"
    work_conserving: ClassVar[bool] = True

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        while task >= 0:
            best, least = -1, math.inf
            for unit in range(len(model.unit_type)):
                if can_start(model, state, task, unit):
                    load = weighted(model, state, task, unit, unit_tasks(model, state, unit) + 1)
                    if load < least:
                        best, least = unit, load
            if best >= 0:
                return start(task, best)
            task = next_pending(model, state, task)
        return nothing()
