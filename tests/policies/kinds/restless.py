"""A policy that preempts and moves running tasks at random, and starts what it can."""

from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.contract import OnlinePolicy
from vinesim.state.queries import (
    attained_us,
    first_free,
    group_size,
    is_running,
    move,
    n_arrived,
    next_pending,
    next_running,
    nothing,
    oldest_pending,
    preempt,
    priority,
    random_below,
    remaining_us,
    start,
    start_consolidated,
    started_us,
    user,
)


@dataclass(frozen=True)
class Restless(OnlinePolicy):
    """Each time it is called, perhaps takes a random task from its unit; then starts or moves tasks.

    ``most``: how many tasks it consolidates; consolidated tasks are not moved.
    """

    name: ClassVar[str] = "test_restless"
    source: ClassVar[str] = "tests"
    deterministic: ClassVar[bool] = False
    preempts: ClassVar[bool] = True
    groups: ClassVar[tuple[str, ...]] = ("priority",)
    scratch: ClassVar[dict[str, tuple[str, str]]] = {"seen": ("f8", "one")}

    most: int = 1

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        if random_below(state, 3) == 0:
            task = next_running(model, state, random_below(state, n_arrived(model, state)) - 1)
            if task >= 0 and is_running(model, state, task) and started_us(model, state, task) < view.now_us:
                seen = attained_us(model, state, task) + remaining_us(model, state, task)
                view.scratch.seen[0] += seen + priority(model, state, task) + user(model, state, task)
                unit = first_free(model, state, task)
                if unit >= 0 and view.options.most == 1 and random_below(state, 2) == 0:
                    return move(task, unit)
                return preempt(task)
        task = oldest_pending(model, state)
        while task >= 0:
            unit = first_free(model, state, task)
            if unit >= 0:
                n = min(view.options.most, group_size(model, state, task))
                return start_consolidated(task, n, unit) if n > 1 else start(task, unit)
            task = next_pending(model, state, task)
        return nothing()
