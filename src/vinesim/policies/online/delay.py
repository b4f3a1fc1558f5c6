"""Delay scheduling: wait a little for a better unit, then take any."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from vinesim.policies.contract import OnlinePolicy
from vinesim.state.queries import (
    arrival_us,
    fastest_free,
    first_free,
    next_pending,
    oldest_pending,
    preferred_type,
    start,
    wait_until,
)


@dataclass(frozen=True)
class Delay(OnlinePolicy):
    """Each task goes to a good idle unit; ``wait_us`` after its arrival it takes the fastest idle one.

    ``wait_for`` says which units are good: those of its preferred ``type`` (any, if it has none), at the ``node`` of
    its data, or in the ``rack`` of its data. Ties: first in (rack, shelf) order. Cost per decision: the groups of tasks
    (type x preference or place) that wait and find no unit.
    """

    name: ClassVar[str] = "delay"
    source: ClassVar[str] = "VineSim report, 8.5 and 8.7 (future work), after Zaharia et al., EuroSys 2010"
    groups: ClassVar[tuple[str, ...]] = ("preferred_type", "data_node")

    wait_us: float = 100.0
    wait_for: Literal["type", "node", "rack"] = "type"

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        until_us = float("inf")
        task = oldest_pending(model, state)
        while task >= 0:
            unit = -1
            expiry_us = arrival_us(model, state, task) + view.options.wait_us
            preferred = preferred_type(model, state, task)
            if expiry_us <= view.now_us:
                unit = fastest_free(model, state, task)
            elif view.options.wait_for.type:
                unit = first_free(model, state, task, preferred)
            else:
                unit = first_free(model, state, task, -1, 0)
                if unit < 0 and view.options.wait_for.rack:
                    unit = first_free(model, state, task, -1, 1)
            if unit >= 0:
                return start(task, unit)
            if expiry_us > view.now_us:
                until_us = min(until_us, expiry_us)
            task = next_pending(model, state, task)
        return wait_until(until_us)
