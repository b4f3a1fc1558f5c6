"""Learning from completions: a policy that is called after every event, also when there is nothing to start.

``sees_every_event`` promises that no FINISH passes unseen. Several answers at one event are several calls: what was
learned is remembered by the task that ended.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.contract import OnlinePolicy
from vinesim.state.queries import can_start, next_pending, nothing, oldest_pending, start


@dataclass(frozen=True)
class Witness(OnlinePolicy):
    """Each task goes to the unit with room that was seen to finish the fewest tasks.

    Ties: (rack, shelf) order. Cost: O(units).
    """

    name: ClassVar[str] = "test_witness"
    source: ClassVar[str] = "tests"
    sees_every_event: ClassVar[bool] = True
    work_conserving: ClassVar[bool] = True
    scratch: ClassVar = {"finished": ("i8", "units"), "last": ("i8", "one"), "asked": ("i8", "one")}

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        scratch = view.scratch
        scratch.asked[0] += 1
        if view.task >= 0 and scratch.last[0] != view.task + 1:
            scratch.last[0] = view.task + 1
            scratch.finished[view.unit] += 1
        task = oldest_pending(model, state)
        while task >= 0:
            best = -1
            for unit in range(len(model.unit_type)):
                is_less = best < 0 or scratch.finished[unit] < scratch.finished[best]
                if is_less and can_start(model, state, task, unit):
                    best = unit
            if best >= 0:
                return start(task, best)
            task = next_pending(model, state, task)
        return nothing()
