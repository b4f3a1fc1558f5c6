"""BF and BFD: the server where the task costs least."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from vinesim.model.errors import InputError, Problem
from vinesim.policies.contract import BatchServers, BatchTasks
from vinesim.policies.placement.first_fit import place_decreasing
from vinesim.policies.placement.placing import Placing

if TYPE_CHECKING:
    from vinesim.policies.placement.kernels.best_fit import Cost


@dataclass(frozen=True)
class CostBased(Placing):
    """The options of the policies that compare costs."""

    needs_estimates: ClassVar[bool] = True
    needs_power: ClassVar[bool] = True

    cost: Literal["fitted", "literal", "fitfirst", "marginal"] = "fitted"
    penalty: float = 1000.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.penalty < math.inf:
            raise InputError(
                [Problem(("policy", "options", "penalty"), "a finite number, 0 or more", f"{self.penalty}")]
            )

    def _cost(self, servers: BatchServers) -> "Cost":
        from vinesim.policies.placement.kernels.best_fit import Cost

        return Cost(self.cost, self.penalty, servers.period_us)


@dataclass(frozen=True)
class BestFit(CostBased):
    """Each task, the oldest first, goes to the server where it costs least.

    A task that fits costs demand x time x beta, plus (alpha - sleep) x period on an empty server; a task that does not
    fit costs ``penalty`` times as much. alpha, beta and sleep are the server's powers. ``cost`` selects among the
    readings of the thesis' equation 9: fitted (as above), literal, fitfirst, or marginal (the additional energy of the
    period, times ``penalty`` if the task does not fit). ``method`` indexed finds the same server as looking at all of
    them (scan); with more than 64 types of server it also looks at all. With ``realloc`` all, running tasks are placed
    again together with the new ones. Ties: (rack, shelf) order. Cost per decision: O(server types x log servers);
    scan: O(servers).
    """

    name: ClassVar[str] = "bf"
    source: ClassVar[str] = "energy-aware scheduler thesis, sections 3.3 and 3.5"

    method: Literal["indexed", "scan"] = "indexed"

    def place(self, tasks: BatchTasks, servers: BatchServers) -> np.ndarray:
        from vinesim.policies.placement.kernels.best_fit import best_fit
        from vinesim.policies.placement.kernels.instance import Instance

        return best_fit(Instance.of(tasks, servers), self._cost(servers), self.method)


@dataclass(frozen=True)
class BestFitDecreasing(BestFit):
    """As bf, but the tasks with the largest demand come first.

    ``cost``, ``penalty`` and ``method`` as in bf. With ``realloc`` all, running tasks are placed again together with
    the new ones. Ties: the older task, (rack, shelf) order. Cost per decision: as bf.
    """

    name: ClassVar[str] = "bfd"
    source: ClassVar[str] = "best fit decreasing; energy-aware scheduler thesis, section 2.2"

    def place(self, tasks: BatchTasks, servers: BatchServers) -> np.ndarray:
        return place_decreasing(super().place, tasks, servers)
