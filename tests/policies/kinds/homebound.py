"""Every task runs at home: on the node that holds its data."""

from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.contract import OnlinePolicy
from vinesim.state.queries import LOCAL, first_free, next_pending, nothing, oldest_pending, start


@dataclass(frozen=True)
class Homebound(OnlinePolicy):
    """Starts the oldest task whose own node has room."""

    name: ClassVar[str] = "test_homebound"
    source: ClassVar[str] = "tests"
    groups: ClassVar[tuple[str, ...]] = ("data_node",)

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        while task >= 0:
            unit = first_free(model, state, task, -1, LOCAL)
            if unit >= 0:
                return start(task, unit)
            task = next_pending(model, state, task)
        return nothing()
