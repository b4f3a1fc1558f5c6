"""Preemptive priority: the most urgent tasks run, the older first among equals."""

from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.contract import OnlinePolicy
from vinesim.state.queries import (
    can_start,
    first_free,
    next_pending,
    next_running,
    nothing,
    oldest_pending,
    preempt,
    priority,
    start,
    started_us,
    time_on_type_us,
    unit_of,
)


@dataclass(frozen=True)
class Urgent(OnlinePolicy):
    """Starts the most urgent pending task; if it finds no room, takes the least urgent running one from its unit."""

    name: ClassVar[str] = "test_urgent"
    source: ClassVar[str] = "tests"
    preempts: ClassVar[bool] = True
    groups: ClassVar[tuple[str, ...]] = ("priority",)

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        best = oldest_pending(model, state)
        task = best
        while task >= 0:
            if priority(model, state, task) > priority(model, state, best):
                best = task
            task = next_pending(model, state, task)
        if best < 0:
            return nothing()
        unit = first_free(model, state, best)
        if unit >= 0:
            return start(best, unit)
        victim = -1
        task = next_running(model, state, -1)
        while task >= 0:
            least = priority(model, state, best) if victim < 0 else priority(model, state, victim)
            kind = model.unit_type[unit_of(model, state, task)]
            is_able = time_on_type_us(model, state, best, kind) < 1e300
            if priority(model, state, task) < least and started_us(model, state, task) < view.now_us and is_able:
                victim = task
            task = next_running(model, state, task)
        if victim >= 0 and not can_start(model, state, best, unit_of(model, state, victim)):
            return preempt(victim)
        task = oldest_pending(model, state)
        while task >= 0:
            unit = first_free(model, state, task)
            if unit >= 0:
                return start(task, unit)
            task = next_pending(model, state, task)
        return nothing()
