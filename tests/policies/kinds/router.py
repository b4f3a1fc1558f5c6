"""What a router sees of serving engines: requests, tokens in memory, and tokens that wait."""

from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.contract import OnlinePolicy
from vinesim.state.queries import (
    can_start,
    input_tokens,
    more_at_once,
    next_pending,
    nothing,
    oldest_pending,
    start,
    tokens_found,
    unit_tasks,
    unit_tokens,
    unit_tokens_waiting,
    unit_waiting,
)


@dataclass(frozen=True)
class Router(OnlinePolicy):
    """Each request goes to the unit with the least of everything that a router sees, if fewer than ``most`` are there.

    Ties: (rack, shelf) order. Cost: O(units). What it saw adds up in its scratch, so that runs that look alike do not
    hide that it saw something else.
    """

    name: ClassVar[str] = "test_router"
    source: ClassVar[str] = "tests"
    sees_every_event: ClassVar[bool] = True
    scratch: ClassVar = {"seen": ("f8", "one")}
    most: int = 100

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        seen = view.scratch.seen
        seen[0] = (seen[0] + view.event + 3 * view.task + more_at_once(model, state)) % 1e9
        for unit in range(len(model.unit_type)):
            seen[0] = (7 * seen[0] + unit_tokens(model, state, unit) + 5 * unit_waiting(model, state, unit)) % 1e9
            seen[0] = (3 * seen[0] + unit_tokens_waiting(model, state, unit)) % 1e9
        task = oldest_pending(model, state)
        while task >= 0:
            best, least = -1, 0
            for unit in range(len(model.unit_type)):
                n = unit_tasks(model, state, unit)
                if n < view.options.most and can_start(model, state, task, unit):
                    found = n + unit_tokens(model, state, unit) + 2 * unit_waiting(model, state, unit)
                    found += unit_tokens_waiting(model, state, unit) + input_tokens(model, state, task)
                    found += int(seen[0]) % 4 - 2 * tokens_found(model, state, task, unit)
                    if best < 0 or found < least:
                        best, least = unit, found
            if best >= 0:
                return start(task, best)
            task = next_pending(model, state, task)
        return nothing()
