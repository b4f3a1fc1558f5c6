"""Consolidation: several pending tasks of a group start as one, on one unit.

What makes a group is declared: the task type, and here the application too. ``start_consolidated(task, q, unit)``
takes the first q pending tasks of the group that ``task`` leads; the engine keeps them at hand.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.contract import OnlinePolicy
from vinesim.state.queries import first_free, joinable, next_pending, nothing, oldest_pending, start_consolidated


@dataclass(frozen=True)
class Consolidate(OnlinePolicy):
    """Up to ``most`` tasks of one type and application start together on the first free unit.

    Ties: (rack, shelf) order. Cost: O(groups).
    """

    name: ClassVar[str] = "test_consolidate"
    source: ClassVar[str] = "tests, after Symphony paper"
    groups: ClassVar[tuple[str, ...]] = ("application",)
    work_conserving: ClassVar[bool] = True

    most: int = 3

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        while task >= 0:
            unit = first_free(model, state, task)
            if unit >= 0:
                return start_consolidated(task, joinable(model, state, task, view.options.most), unit)
            task = next_pending(model, state, task)
        return nothing()
