"""Controls for Symphony's priority metric: Symphony with another order of the waiting applications."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from vinesim.policies.symphony.policy import Symphony, first_ranked
from vinesim.state.queries import random_below

DRAWS = 1 << 30  # large enough that two applications hardly ever draw the same number


@dataclass(frozen=True)
class Ordered(Symphony):
    """``symphony`` with a choice of the application that goes first; everything else is the same.

    ``first``: the most ``urgent``, as Algorithm 1 says; the most ``relaxed``, with the sign of the urgency flipped; or
    ``random``.

    Ties: as symphony. Cost per decision: as symphony.
    """

    name: ClassVar[str] = "symphony_ordered"
    source: ClassVar[str] = "Symphony paper, Algorithm 1, with other orders as controls"
    deterministic: ClassVar[bool] = False

    first: Literal["urgent", "relaxed", "random"] = "urgent"

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        return first_ranked(model, state, view, rank)


def rank(state: Any, view: Any, urgency: float) -> float:
    """Return the rank of an application; the highest goes first."""
    first = view.options.first
    if first.random:
        return float(random_below(state, DRAWS))
    return -urgency if first.relaxed else urgency
