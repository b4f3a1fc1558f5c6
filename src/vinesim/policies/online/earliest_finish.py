"""Earliest finish: weigh the unit's speed against the distance of the data."""

from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.contract import OnlinePolicy
from vinesim.state.queries import (
    execution_us,
    first_free,
    next_pending,
    nothing,
    oldest_pending,
    start,
    transfer_us,
)


@dataclass(frozen=True)
class EarliestFinish(OnlinePolicy):
    """Each task goes to the idle unit on which transfer + overhead + execution end first.

    Ties: first in (rack, shelf) order. Cost per decision: three tiers of distance for each processor type, because all
    units of a type at a tier finish at the same time.
    """

    name: ClassVar[str] = "earliest_finish"
    source: ClassVar[str] = "VineSim report, 8.2 (both preferences) and 9 (future work)"
    work_conserving: ClassVar[bool] = True
    needs_estimates: ClassVar[bool] = True

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        while task >= 0:
            best, best_us = -1, float("inf")
            for processor_type in range(model.affinity.shape[0]):
                for tier in range(3):
                    unit = first_free(model, state, task, processor_type, tier)
                    if unit >= 0:
                        response_us = transfer_us(model, state, task, unit) + execution_us(model, state, task, unit)
                        is_first = best < 0 or (response_us == best_us and unit < best)  # infinite, without an end
                        if response_us < best_us or is_first:
                            best, best_us = unit, response_us
            if best >= 0:
                return start(task, best)
            task = next_pending(model, state, task)
        return nothing()
