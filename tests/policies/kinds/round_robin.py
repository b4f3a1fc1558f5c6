"""Scratch state: what a policy remembers between decisions.

Declare the arrays by name, dtype and size; the engine allocates them, zero, before the run. They are all that a policy
may write to.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.contract import OnlinePolicy
from vinesim.state.queries import can_start, next_pending, nothing, oldest_pending, start


@dataclass(frozen=True)
class RoundRobin(OnlinePolicy):
    """Each task goes to the next unit, in a circle, on which it can start. Ties: none. Cost: O(units)."""

    name: ClassVar[str] = "test_round_robin"
    source: ClassVar[str] = "tests"
    work_conserving: ClassVar[bool] = True
    scratch: ClassVar[Mapping[str, tuple[str, str]]] = {"next_unit": ("int64", "one"), "starts": ("int64", "units")}

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        n_units = len(model.unit_type)
        task = oldest_pending(model, state)
        while task >= 0:
            for step in range(n_units):
                unit = (view.scratch.next_unit[0] + step) % n_units
                if can_start(model, state, task, unit):
                    view.scratch.next_unit[0] = unit + 1
                    view.scratch.starts[unit] += 1
                    return start(task, unit)
            task = next_pending(model, state, task)
        return nothing()
