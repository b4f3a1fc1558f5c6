"""A node at random."""

from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.scoring.contract import ScorePolicy
from vinesim.policies.scoring.gpu_pods import SOURCE
from vinesim.state.queries import (
    can_start,
    drop,
    next_pending,
    nothing,
    oldest_pending,
    random_below,
    random_node,
    start,
)


@dataclass(frozen=True)
class RandomFit(ScorePolicy):
    """Takes one of the nodes on which the task can start, and one of their units, each with equal probability.

    Ties: none, as chance decides. Cost per decision: O(nodes).
    """

    name: ClassVar[str] = "random_fit"
    source: ClassVar[str] = SOURCE
    deterministic: ClassVar[bool] = False

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        while task >= 0:
            node = random_node(model, state, view, task)
            if node >= 0:
                return start(task, random_unit(model, state, task, node))
            if view.options.refuse:
                return drop(task)
            task = next_pending(model, state, task)
        return nothing()


def random_unit(model: Any, state: Any, task: int, node: int) -> int:
    """Return one of the units of a node on which the task can start."""
    n = 0
    for unit in range(model.node_first[node], model.node_first[node + 1]):
        n += can_start(model, state, task, unit)
    chosen = random_below(state, n)
    for unit in range(model.node_first[node], model.node_first[node + 1]):
        if can_start(model, state, task, unit):
            if chosen == 0:
                return unit
            chosen -= 1
    return -1
