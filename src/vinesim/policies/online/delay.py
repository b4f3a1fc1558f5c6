"""Delay scheduling: wait a little for a better unit, then take any."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.online.waiting import WAITING, follow, is_over, next_to_start, unit_for
from vinesim.state.layout import OUTAGE
from vinesim.state.queries import arrival_us, group, next_pending, oldest_pending, start, wait_until
from vinesim.state.shortcuts import is_room_alike


@dataclass(frozen=True)
class Delay(OnlinePolicy):
    """Each task waits up to ``wait_us`` for a good unit, then takes the fastest idle one.

    ``wait_for`` says which units are good: units of its preferred ``type`` (any, if it has none), at the ``node`` of
    its data, or in the ``rack`` of its data. Ties: first in (rack, shelf) order.

    Cost per decision: task types x log(groups of tasks: type x preference x place of the data), and for ``node`` and
    ``rack`` the groups of the place where a unit became free. If tasks take parts of units or jobs are withdrawn, and
    after an outage, it is all groups that wait and find no unit.
    """

    name: ClassVar[str] = "delay"
    source: ClassVar[str] = "VineSim report, 8.5 and 8.7 (future work), after Zaharia et al., EuroSys 2010"
    groups: ClassVar[tuple[str, ...]] = ("preferred_type", "data_node")
    takes_gangs: ClassVar[bool] = True
    scratch: ClassVar[Mapping[str, tuple[str, str]]] = WAITING
    task_numbers: ClassVar[Mapping[str, str]] = {}  # live it looks at all groups, and follows nothing

    wait_us: float = 100.0
    wait_for: Literal["type", "node", "rack"] = "type"

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        scratch = view.scratch
        # where units take tasks ahead, what leaves one lets others start elsewhere; withdrawn tasks leave units unseen
        is_apart = len(model.type_ahead) == 0 and len(model.withdrawn_job) == 0
        takes_whole_units = is_room_alike(model) and is_apart and len(model.job_predecessors) == 0
        if takes_whole_units:
            follow(model, state, view)
        if takes_whole_units and view.event != OUTAGE:
            task = next_to_start(model, state, view)
        else:
            task = first_that_starts(model, state, view)
        if task >= 0:
            scratch.started[0] = group(model, state, task) + 1
            scratch.known[0] -= 1
            return start(task, unit_for(model, state, view, task))
        task = next_pending(model, state, scratch.over[0] - 1)
        while task >= 0 and is_over(model, state, view, task):
            task = next_pending(model, state, task)
        return wait_until(arrival_us(model, state, task) + view.options.wait_us if task >= 0 else float("inf"))


def first_that_starts(model: Any, state: Any, view: Any) -> int:
    """Return the oldest task that can start, -1 if there is none, from a look at all groups."""
    task = oldest_pending(model, state)
    while task >= 0 and unit_for(model, state, view, task) < 0:
        task = next_pending(model, state, task)
    return task
