"""Controls for Symphony's priority metric: Symphony with another order of the waiting applications."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from vinesim.policies.requests.gang import has_next_member, next_member
from vinesim.policies.symphony.policy import Symphony, candidate, issued, learn
from vinesim.state.queries import group, more_at_once, next_pending, nothing, oldest_pending, random_below

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
        learn(model, state, view)
        if more_at_once(model, state):
            return nothing()
        if has_next_member(view):
            return next_member(model, state, view)
        best, best_group, best_value, best_type = -1, -1, 0.0, -1
        task = oldest_pending(model, state)
        while task >= 0:
            g = group(model, state, task)
            if model.group_first_member[g] == g:
                processor_type, urgency = candidate(model, state, view, g, task)
                value = rank(state, urgency, view.options.first) if processor_type >= 0 else 0.0
                is_better = value > best_value or (value == best_value and g < best_group)
                if processor_type >= 0 and (best < 0 or is_better):
                    best, best_group, best_value, best_type = task, g, value, processor_type
            task = next_pending(model, state, task)
        if best < 0:
            return nothing()
        return issued(model, state, view, best_group, best, best_type)


def rank(state: Any, urgency: float, first: Any) -> float:
    """Return the rank of an application; the highest goes first."""
    if first.random:
        return float(random_below(state, DRAWS))
    return -urgency if first.relaxed else urgency
