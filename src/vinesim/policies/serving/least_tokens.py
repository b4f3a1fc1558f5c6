"""Each request goes to the engine with the fewest tokens in memory and in its queue."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.serving.weights import weighted
from vinesim.state.queries import (
    can_start,
    input_tokens,
    next_pending,
    nothing,
    oldest_pending,
    start,
    unit_tokens,
    unit_tokens_waiting,
)


@dataclass(frozen=True)
class LeastTokens(OnlinePolicy):
    """Each request goes to the engine with the fewest tokens: tokens in its memory, and prompt tokens still to compute.

    What an engine will generate is unknown and does not count. The affinity of an engine's type is its weight: the
    engine is chosen whose tokens, with the prompt of the request, are fewest relative to the affinity.

    Ties: first in (rack, shelf) order. Cost per decision: the number of units.
    """

    name: ClassVar[str] = "least_tokens"
    source: ClassVar[str] = "after Sun et al., Llumnix, OSDI 2024: load as the memory that requests take and ask for"
    work_conserving: ClassVar[bool] = True

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        while task >= 0:
            best, least = -1, math.inf
            for unit in range(len(model.unit_type)):
                if can_start(model, state, task, unit):
                    tokens = unit_tokens(model, state, unit) + unit_tokens_waiting(model, state, unit)
                    tokens += input_tokens(model, state, task)
                    load = weighted(model, state, task, unit, tokens)
                    if load < least:
                        best, least = unit, load
            if best >= 0:
                return start(task, best)
            task = next_pending(model, state, task)
        return nothing()
