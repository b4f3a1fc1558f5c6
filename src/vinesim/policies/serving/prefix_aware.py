"""Each request goes to the engine that has most of its prefix in memory, unless too many requests are there."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.model.errors import InputError, Problem
from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.serving.weights import weighted
from vinesim.state.queries import can_start, next_pending, nothing, oldest_pending, start, tokens_found, unit_tasks


@dataclass(frozen=True)
class PrefixAware(OnlinePolicy):
    """Each request goes to the engine with the most tokens of its prefix in memory, unless that engine is too loaded.

    Only engines with at most ``margin`` requests more than the least loaded engine are considered. If none of them has
    any of the prefix, the least loaded engine gets the request. The affinity of an engine's type is its weight, as in
    ``least_requests``. Engines keep prefixes if they have ``prefix_caching``.

    Ties: the fewest requests, then the first in (rack, shelf) order. Cost per decision: the number of units.
    """

    name: ClassVar[str] = "prefix_aware"
    source: ClassVar[str] = "after the cache-aware load balancing of the SGLang router"
    work_conserving: ClassVar[bool] = True
    margin: int = 16

    def __post_init__(self) -> None:
        if self.margin < 0:
            raise InputError([Problem(("policy", "options", "margin"), "requests, 0 or more", f"{self.margin}")])

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        while task >= 0:
            least = math.inf
            for unit in range(len(model.unit_type)):
                if can_start(model, state, task, unit):
                    least = min(least, weighted(model, state, task, unit, unit_tasks(model, state, unit) + 1))
            best, most, fewest = -1, -1, math.inf
            for unit in range(len(model.unit_type)):
                if can_start(model, state, task, unit):
                    n = unit_tasks(model, state, unit) + 1
                    if weighted(model, state, task, unit, n - view.options.margin) <= least:
                        found, load = tokens_found(model, state, task, unit), weighted(model, state, task, unit, n)
                        if found > most or (found == most and load < fewest):
                            best, most, fewest = unit, found, load
            if best >= 0:
                return start(task, best)
            task = next_pending(model, state, task)
        return nothing()
