"""Shortest remaining time first."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.preemptive.rule import RANKED, never, start_by_rank
from vinesim.state.layout import ATTACHED, PENDING
from vinesim.state.places import gang_of
from vinesim.state.queries import is_running, remaining_us


@dataclass(frozen=True)
class Srtf(OnlinePolicy):
    """The tasks of shortest remaining time that fit run; others are preempted for them.

    The remaining time is the estimate of the workload, or the mean of the true times on the types that can run the
    task, times the share of its work that is left. A gang is one task, as long as its longest. Otherwise as
    ``priority``.

    Ties: order of arrival; fastest type first, then (rack, shelf). Cost per decision: as ``priority``.
    """

    name: ClassVar[str] = "srtf"
    source: ClassVar[str] = "Schrage and Miller, Operations Research, 1966"
    preempts: ClassVar[bool] = True
    keeps_tasks: ClassVar[bool] = False  # what it keeps of them, it checks against the state
    needs_estimates: ClassVar[bool] = True
    groups: ClassVar[tuple[str, ...]] = ("demand",)
    scratch: ClassVar[Mapping[str, tuple[str, str]]] = RANKED

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        return start_by_rank(model, state, view, longest_left_us, never, True)


def longest_left_us(model: Any, state: Any, view: Any, task: int) -> float:
    """Return the rank: the remaining time of the task, or of the longest task of its gang."""
    first, end = gang_of(model, task)
    longest = 0.0
    for member in range(first, end):
        unit = state.task_unit[member]
        if unit in (PENDING, ATTACHED) or is_running(model, state, member):
            longest = max(longest, remaining_us(model, state, member))
    return longest
