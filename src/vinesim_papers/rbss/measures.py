"""The measurements of the claims about RBSS: gains workload by workload, their mean, and its interval."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.reproduction.criteria import Criterion, Share, Within, number
from vinesim.reproduction.data import Data

if TYPE_CHECKING:
    from vinesim.studies.statistics import Interval

FIFO, SJF, LJF, BA, OCL = "FIFO", "SJF", "LJF", "BA", "OCL"
OTHERS = (FIFO, SJF, LJF, BA)  # compared with OCL
OPTIMUM, EARLIEST = "optimum", "earliest finish"
SYSTEMS = ("S1", "S2")
DEFAULT = "default"
TIME, ENERGY = "makespan_us", "energy_j"
ABOUT_12 = Within(12, 0.25)  # percent


def gains(data: Data, study: str, number: str, of: str, against: tuple[str, ...], **where: Any) -> np.ndarray:
    """Percent by which ``of`` is below the best of ``against``, workload by workload, [n]; negative if above."""
    best = np.min([data.values(study, number, scheduler=name, **where) for name in against], axis=0)
    found: np.ndarray = 100 * (1 - data.values(study, number, scheduler=of, **where) / best)
    return found


def ocl_gains(data: Data, number: str, system: str, assumptions: str) -> np.ndarray:
    """:func:`gains` of OCL over the best of the four other heuristics in group A."""
    return gains(data, "a", number, OCL, OTHERS, system=system, assumptions=assumptions)


def ba_gains(data: Data, assumptions: str) -> np.ndarray:
    """:func:`gains` of BA over FIFO in group B."""
    return gains(data, "b", TIME, BA, (FIFO,), assumptions=assumptions)


def gaps(data: Data, system: str, assumptions: str) -> np.ndarray:
    """Percent by which OCL is above the proven bound on every schedule, workload by workload, [n]."""
    where = {"system": system, "assumptions": assumptions}
    bound = data.values("optimum", "bound.bound_us", scheduler=OPTIMUM, **where)
    found: np.ndarray = 100 * (data.values("a", TIME, scheduler=OCL, **where) / bound - 1)
    return found


def interval(values: np.ndarray) -> "Interval":
    """Return the mean of the values with its 95 % interval."""
    from vinesim.studies.statistics import mean_interval

    return mean_interval(values)


@dataclass(frozen=True)
class Mean:
    """A mean over the workloads with its 95 % interval, as a claim shows it."""

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{number(self.estimate)} ({number(self.low)} to {number(self.high)})"

    @classmethod
    def of(cls, values: np.ndarray) -> "Mean":
        """Return the mean of values, one per workload [n]."""
        found = interval(values)
        return cls(found.estimate, found.low, found.high)


def by_assumptions(data: Data, study: str, measure: Callable[[str], Any]) -> dict[str, Any]:
    """Return what ``measure`` gives under each set of assumptions of a study."""
    return {name: measure(name) for name in data.labels(study, "assumptions")}


def in_part(criterion: Criterion) -> Share:
    """Return when a claim about all assumptions holds in part: under a quarter of them."""
    return Share(0.25, criterion)


@dataclass(frozen=True)
class MeanIs:
    """A :class:`Mean` whose estimate meets ``criterion``."""

    criterion: Criterion

    def holds(self, measured: Mean) -> bool:
        """Whether it does."""
        return self.criterion.holds(measured.estimate)

    def __str__(self) -> str:
        return f"mean {self.criterion}"


@dataclass(frozen=True)
class IntervalAbove:
    """A :class:`Mean` whose whole interval is above ``limit``."""

    limit: float

    def holds(self, measured: Mean) -> bool:
        """Whether it is."""
        return measured.low > self.limit

    def __str__(self) -> str:
        return f"interval above {number(self.limit)}"
