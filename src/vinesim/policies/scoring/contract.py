"""The contract of score policies: a score of each node, and a choice among its units."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.contract import OnlinePolicy, bound
from vinesim.state.queries import best_node, drop, next_pending, nothing, oldest_pending, start, tightest_free_at

PLAIN = 4  # parameters of score and choose without the view


@dataclass(frozen=True)
class ScorePolicy(OnlinePolicy):
    """Starts the oldest pending task at the node with the highest score among the nodes where it can start.

    ``score(model, state, task, node)`` is a whole number of 32 bits; of equal nodes the first in (rack, shelf) order is
    taken. A score is kept until its node changes, and is that of all tasks of the same type that demand the same: it
    depends on nothing else. ``choose(model, state, task, node)`` is the unit: by default the tightest that suffices,
    which is the first of units that are idle. Either may have a fifth parameter, the ``view``, for options and scratch
    arrays that do not change.

    ``refuse`` drops a task at once if it can start nowhere now; else it waits, and younger tasks that demand something
    else may start before it. Cost per decision: O(nodes / 4096), and a score of each node that has changed since a task
    of the same type and demands was last looked at.
    """

    takes_gangs: ClassVar[bool] = False  # whether a gang fits depends on other nodes too

    score: ClassVar[Any]  # of a node that has room for the task; higher is better
    choose: ClassVar[Any] = staticmethod(tightest_free_at)

    refuse: bool = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "decide" not in vars(cls) and hasattr(cls, "score"):
            cls.decide = staticmethod(_decide_of(cls))  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        object.__setattr__(self, "may_drop", self.refuse)
        object.__setattr__(self, "sees_every_event", self.refuse)  # is called, and refuses, also if all units are full


def decide(model: Any, state: Any, view: Any) -> Any:
    """The rule of all score policies; ``score`` and ``choose`` are bound to a policy's."""
    task = oldest_pending(model, state)
    while task >= 0:
        node = best_node(model, state, view, task, score)
        if node >= 0:
            return start(task, choose(model, state, task, node, view))
        if view.options.refuse:
            return drop(task)
        task = next_pending(model, state, task)
    return nothing()


def score(model: Any, state: Any, task: int, node: int, view: Any) -> int:
    """Stand for the score of a policy."""
    raise NotImplementedError


choose = score  # stands for the choice of a policy


def _decide_of(kind: type[ScorePolicy]) -> Callable[..., Any]:
    """Return ``decide`` with the score and the choice of a class bound."""
    return bound(decide, kind, score=_with_view(kind.score, kind), choose=_with_view(kind.choose, kind))


def _with_view(function: Callable[..., Any], kind: type[ScorePolicy]) -> Callable[..., Any]:
    """Return the function as one that is given the view, too."""
    if len(inspect.signature(function).parameters) != PLAIN:
        return function
    made = bound(_without_view, kind, of_node=function)
    made.__qualname__ = function.__qualname__
    return made


def _without_view(model: Any, state: Any, task: int, node: int, view: Any) -> Any:
    return of_node(model, state, task, node)


def of_node(model: Any, state: Any, task: int, node: int) -> int:
    """Stand for a score or a choice that is not given the view."""
    raise NotImplementedError
