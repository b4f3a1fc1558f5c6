"""A test policy that asks what few policies ask: requests, estimates, deadlines, applications, what just finished."""

from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies import (
    OnlinePolicy,
    application,
    can_start,
    deadline_us,
    drop,
    estimate_us,
    job_of,
    meets,
    more_at_once,
    next_pending,
    nothing,
    oldest_pending,
    operations,
    start,
    time_on_type_us,
)


@dataclass(frozen=True)
class Choosy(OnlinePolicy):
    """Once an instant: late tasks are dropped; the others go where they fit, by a score of all that can be asked for
    for."""

    name: ClassVar[str] = "test_choosy"
    may_drop: ClassVar[bool] = True
    groups: ClassVar[tuple[str, ...]] = ("application", "requests")
    scratch: ClassVar[dict[str, tuple[str, str]]] = {"finished": ("f8", "units")}

    once: bool = True

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        if view.task >= 0:
            view.scratch.finished[view.unit] = view.task
        if view.options.once and more_at_once(model, state):
            return nothing()
        task = oldest_pending(model, state)
        while task >= 0:
            if deadline_us(model, state, task) < view.now_us:
                return drop(task)
            best, best_score = -1, 0.0
            reported = 1000.0 + estimate_us(model, state, task) + application(model, state, task)
            reported += operations(model, state, task) * 0.125 + job_of(model, state, task)
            for unit in range(len(model.unit_type)):
                share = 1.0 if view.options.once else 0.5
                if can_start(model, state, task, unit) and meets(model, state, task, unit, share):
                    score = reported + time_on_type_us(model, state, task, model.unit_type[unit]) * 0.25
                    score += view.scratch.finished[unit]
                    if score > best_score:
                        best, best_score = unit, score
            if best >= 0:
                return start(task, best)
            task = next_pending(model, state, task)
        return nothing()
