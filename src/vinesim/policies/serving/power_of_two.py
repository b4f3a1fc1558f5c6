"""Each request goes to the less loaded one of two engines that are drawn at random."""

from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.serving.weights import weighted
from vinesim.state.queries import (
    can_start,
    next_pending,
    nothing,
    oldest_pending,
    random_below,
    start,
    unit_tasks,
)


@dataclass(frozen=True)
class PowerOfTwo(OnlinePolicy):
    """Each request draws two different engines at random and goes to the one with fewer requests.

    A router needs only the loads of two engines, and several routers that do not know about each other send their
    requests to different engines. The affinity of an engine's type is its weight, as in ``least_requests``.

    Ties: the engine drawn first. Cost per decision: the number of units, to find the drawn ones.
    """

    name: ClassVar[str] = "power_of_two"
    source: ClassVar[str] = "Mitzenmacher, IEEE TPDS 12(10), 2001: the power of two choices"
    work_conserving: ClassVar[bool] = True
    deterministic: ClassVar[bool] = False

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        while task >= 0:
            n = number_of_units(model, state, task)
            if n > 0:
                place = random_below(state, n)
                first = second = unit_at(model, state, task, place)
                if n > 1:
                    second = unit_at(model, state, task, (place + 1 + random_below(state, n - 1)) % n)
                return start(task, less_loaded(model, state, task, first, second))
            task = next_pending(model, state, task)
        return nothing()


def number_of_units(model: Any, state: Any, task: int) -> int:
    """Return on how many units the task can start."""
    n = 0
    for unit in range(len(model.unit_type)):
        if can_start(model, state, task, unit):
            n += 1
    return n


def unit_at(model: Any, state: Any, task: int, place: int) -> int:
    """Return one of the units on which the task can start, by its place among them."""
    for unit in range(len(model.unit_type)):
        if can_start(model, state, task, unit):
            if place == 0:
                return unit
            place -= 1
    return -1


def less_loaded(model: Any, state: Any, task: int, first: int, second: int) -> int:
    """Return the one of two units with fewer requests for its weight."""
    load = weighted(model, state, task, first, unit_tasks(model, state, first) + 1)
    other = weighted(model, state, task, second, unit_tasks(model, state, second) + 1)
    return second if other < load else first
