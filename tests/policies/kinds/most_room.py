"""Every task runs where there is room for most like it."""

from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.contract import OnlinePolicy
from vinesim.state.places import room_at
from vinesim.state.queries import first_free_at, next_pending, nothing, oldest_pending, start

MOST = 5


@dataclass(frozen=True)
class MostRoom(OnlinePolicy):
    """Starts the oldest task that can start, at the first of the nodes with room for most tasks like it; at the first
    one with room for it where units are not sorted by node."""

    name: ClassVar[str] = "test_most_room"
    source: ClassVar[str] = "tests"
    takes_gangs: ClassVar[bool] = True

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        while task >= 0:
            best, most = -1, 0
            for node in range(len(model.node_rack)):
                unit = first_free_at(model, state, task, node)
                if unit >= 0:
                    p = int(model.unit_type[unit])
                    n = room_at(model, state, task, p, node, MOST) if len(model.node_unit) > 0 else 1
                    if n > most:
                        best, most = unit, n
            if best >= 0:
                return start(task, best)
            task = next_pending(model, state, task)
        return nothing()
