"""PREF, the scheduler that follows each task's preferred processor type."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from vinesim.policies.contract import OnlinePolicy
from vinesim.state.queries import (
    fastest_free,
    first_free,
    next_pending,
    nothing,
    oldest_pending,
    preferred_type,
    start,
)


@dataclass(frozen=True)
class Pref(OnlinePolicy):
    """Each task goes to an idle unit of its preferred type; a task without a preference goes to the fastest idle unit.

    ``mode``: with ``only`` the task waits for its type, with ``first`` it falls back to the fastest idle unit. A task
    that finds no unit is skipped; with ``in_order`` it holds up all later tasks. Ties: first in (rack, shelf) order.
    Cost per decision: the number of processor types.
    """

    name: ClassVar[str] = "pref"
    source: ClassVar[str] = "VineSim report, 5.2.1 (two meanings), 5.3.2 PREF and 8.3 Preferred-Only"
    groups: ClassVar[tuple[str, ...]] = ("preferred_type",)

    mode: Literal["only", "first"] = "only"
    in_order: bool = False

    def __post_init__(self) -> None:
        if self.in_order:  # the option changes a promise
            object.__setattr__(self, "starts_in_order", True)

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        while task >= 0:
            preferred = preferred_type(model, state, task)
            unit = -1
            if preferred >= 0:
                unit = first_free(model, state, task, preferred)
            if unit < 0 and (preferred < 0 or view.options.mode.first):
                unit = fastest_free(model, state, task)
            if unit >= 0:
                return start(task, unit)
            if view.options.in_order:
                break
            task = next_pending(model, state, task)
        return nothing()
