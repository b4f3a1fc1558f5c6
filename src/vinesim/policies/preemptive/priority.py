"""Preemptive priority."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.preemptive.rule import RANKED, never, start_by_rank
from vinesim.state.queries import priority


@dataclass(frozen=True)
class Priority(OnlinePolicy):
    """The tasks of highest priority that fit run, older tasks first among equals; others are preempted for them.

    A task that has room starts, on the fastest type. If it has none, running tasks that come after it in this order are
    preempted: as few as suffice, the last ones first. A task that would find no room even then does not hold up others.
    A gang is one task.

    Ties: order of arrival; fastest type first, then (rack, shelf). Cost per decision: O(log pending + log running); if
    a task finds no room, also each running task that is tried, and all of higher rank if this is in vain.
    """

    name: ClassVar[str] = "priority"
    source: ClassVar[str] = "Kleinrock, Queueing Systems II, 1976, section 3.4"
    preempts: ClassVar[bool] = True
    keeps_tasks: ClassVar[bool] = False  # what it keeps of them, it checks against the state
    groups: ClassVar[tuple[str, ...]] = ("demand",)
    scratch: ClassVar[Mapping[str, tuple[str, str]]] = RANKED

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        return start_by_rank(model, state, view, least_urgent_last, never, False)


def least_urgent_last(model: Any, state: Any, view: Any, task: int) -> float:
    """Return the rank: the priority, the highest first."""
    return -priority(model, state, task)
