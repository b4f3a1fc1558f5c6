"""Timers: ``wait_until`` asks for a decision at a time of the policy's own."""

from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.contract import OnlinePolicy
from vinesim.state.queries import first_free, next_pending, nothing, oldest_pending, start, wait_until


@dataclass(frozen=True)
class OnTheHour(OnlinePolicy):
    """Starts tasks only at whole multiples of ``every_us``, on the first free unit.

    Ties: (rack, shelf) order. Cost: O(1).
    """

    name: ClassVar[str] = "test_on_the_hour"
    source: ClassVar[str] = "tests"

    every_us: float = 10.0

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        every = max(view.options.every_us, 0.5)
        passed = view.now_us // every
        if passed * every < view.now_us:
            return wait_until((passed + 1.0) * every)
        task = oldest_pending(model, state)
        while task >= 0:
            unit = first_free(model, state, task)
            if unit >= 0:
                return start(task, unit)
            task = next_pending(model, state, task)
        return nothing()
