"""HIGH, the best-available scheduler."""

from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.contract import OnlinePolicy
from vinesim.state.queries import fastest_free, next_pending, nothing, oldest_pending, start


@dataclass(frozen=True)
class High(OnlinePolicy):
    """Each task goes to the idle unit with the highest affinity to it.

    A task that no idle unit can run is skipped; with ``in_order`` it holds up all later tasks.
    Ties: first in (rack, shelf) order. Cost per decision: the number of processor types.
    """

    name: ClassVar[str] = "high"
    source: ClassVar[str] = "VineSim report, 5.3.2 HIGH and 8.3 Best-Available"
    work_conserving: ClassVar[bool] = True

    in_order: bool = False

    def __post_init__(self) -> None:
        if self.in_order:  # the option changes a promise
            object.__setattr__(self, "starts_in_order", True)
            object.__setattr__(self, "work_conserving", False)

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        while task >= 0:
            unit = fastest_free(model, state, task)
            if unit >= 0:
                return start(task, unit)
            if view.options.in_order:
                break
            task = next_pending(model, state, task)
        return nothing()
