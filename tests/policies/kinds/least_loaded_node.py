"""Nodes with several units: ``model.node_first`` says where the units of a node begin and end."""

from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.contract import OnlinePolicy
from vinesim.state.queries import can_start, next_pending, nothing, oldest_pending, start


@dataclass(frozen=True)
class LeastLoadedNode(OnlinePolicy):
    """Each task goes to the node with the least load, among those with a unit on which it can start; there, to the
    first such unit. Ties: (rack, shelf) order. Cost: O(units).
    """

    name: ClassVar[str] = "test_least_loaded_node"
    source: ClassVar[str] = "tests, after RBSS (003)"
    work_conserving: ClassVar[bool] = True

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        while task >= 0:
            best, least = -1, 1e300
            for node in range(len(model.node_rack)):
                load, found = 0.0, -1
                for unit in range(model.node_first[node], model.node_first[node + 1]):
                    load += state.unit_load[unit]
                    if found < 0 and can_start(model, state, task, unit):
                        found = unit
                if found >= 0 and load < least:
                    best, least = found, load
            if best >= 0:
                return start(task, best)
            task = next_pending(model, state, task)
        return nothing()
