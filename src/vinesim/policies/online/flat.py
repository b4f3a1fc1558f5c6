"""FLAT, the oblivious scheduler."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from vinesim.policies.contract import OnlinePolicy
from vinesim.state.queries import first_free, next_pending, nothing, oldest_pending, random_free, start


@dataclass(frozen=True)
class Flat(OnlinePolicy):
    """Each task goes to an idle unit that can run it, whatever its type and place.

    ``order`` is the order in which the units are tried: ``per_task`` draws a random order for each task, ``once`` draws
    one for the whole run, ``xy`` is (rack, shelf) order. Cost per decision: O(1); with ``per_task`` a count of words.
    """

    name: ClassVar[str] = "flat"
    source: ClassVar[str] = "VineSim report, 5.3.2 FLAT and 8.3 Oblivious"
    work_conserving: ClassVar[bool] = True
    deterministic: ClassVar[bool] = False

    order: Literal["per_task", "once", "xy"] = "per_task"

    def unit_order(self, n_units: int, random: np.random.Generator) -> np.ndarray | None:
        return random.permutation(n_units) if self.order == "once" else None

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        while task >= 0:
            unit = random_free(model, state, task) if view.options.order.per_task else first_free(model, state, task)
            if unit >= 0:
                return start(task, unit)
            task = next_pending(model, state, task)
        return nothing()
