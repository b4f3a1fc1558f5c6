"""FCFS over requests of several applications."""

from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.requests.registered import most_as_one
from vinesim.state.queries import (
    group,
    is_available,
    least_busy,
    more_at_once,
    nothing,
    oldest_pending,
    start_consolidated,
    task_type,
)


@dataclass(frozen=True)
class Fcfs(OnlinePolicy):
    """Requests start in the order of arrival, on the fastest type with room: on a CPU only if all GPUs are busy.

    There is one queue: while the first request finds no unit, all requests wait. Among the units of a type, one on the
    node with the fewest running tasks is used. With ``consolidate`` the first request is consolidated with the next
    ones of its application, up to the limit.

    Ties: fastest type first in the order of codes, then (rack, shelf). Cost per decision: processor types, and the
    nodes that have changed.
    """

    name: ClassVar[str] = "fcfs"
    source: ClassVar[str] = "Symphony paper, section V-A"
    groups: ClassVar[tuple[str, ...]] = ("application",)

    consolidate: bool = False

    def __post_init__(self) -> None:
        if not self.consolidate:  # consolidated requests overtake other applications
            object.__setattr__(self, "starts_in_order", True)

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        if more_at_once(model, state):
            return nothing()
        task = oldest_pending(model, state)
        processor_type = fastest_available(model, state, task)
        if processor_type < 0:
            return nothing()
        count = 1
        if view.options.consolidate:
            count = most_as_one(model, state, group(model, state, task), task)
        return start_consolidated(task, count, least_busy(model, state, task, processor_type))


def fastest_available(model: Any, state: Any, task: int) -> int:
    """Return the processor type of highest affinity on which the request can start now; -1 if there is none."""
    own_type = task_type(model, state, task)
    for i in range(model.ranking.shape[1]):
        processor_type = model.ranking[own_type, i]
        if processor_type < 0:
            break
        if is_available(model, state, task, processor_type):
            return processor_type
    return -1
