"""When the jobs of a generated workload arrive: at given times, or by a random process.

A process has independent times between arrivals with a mean and a coefficient of variation. Its rate may change between
random states (bursts), and follow a cycle (days, weeks, a series of counts).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vinesim.model.errors import InputError, Problem
from vinesim.workloads.distributions import Distribution, Gamma, Hyperexponential, Lognormal, Weibull
from vinesim.workloads.modulation import Cycle, States

BY_CV: dict[str, type[Distribution]] = {
    "gamma": Gamma,
    "weibull": Weibull,
    "lognormal": Lognormal,
    "hyperexponential": Hyperexponential,
}
KINDS = ("constant", "poisson", *BY_CV, "list")


@dataclass(frozen=True)
class Arrivals:
    """The arrival process. The first job arrives at 0, except in a list.

    Source: VineSim report, section 5.2.1 (constant inter-arrival times); the other processes are VineSim's.
    """

    kind: str = "constant"
    iat_us: float = 7.0  # inter-arrival time or its mean, us; unused by a list
    times_us: Sequence[float] | np.ndarray = ()  # [J] for a list: the arrival times, us, not decreasing
    cv: float = 1.0  # coefficient of variation of the inter-arrival times, where the kind has one
    states: States | None = None  # random states of the rate
    cycle: Cycle | None = None  # a cycle of the rate

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError([Problem(("arrivals",), "one of " + ", ".join(KINDS), repr(self.kind))])
        if not (self.iat_us >= 0 and math.isfinite(self.iat_us)):
            raise InputError([Problem(("iat_us",), "a finite time in us, 0 or more", f"{self.iat_us}")])
        if self.kind in BY_CV:
            self._gaps()

    @property
    def is_even(self) -> bool:
        """Whether the jobs arrive at constant intervals."""
        return self.kind == "constant" and self.states is None and self.cycle is None

    @property
    def is_random(self) -> bool:
        """Whether the times depend on the seed."""
        return self.kind not in ("constant", "list") or self.states is not None

    def _gaps(self) -> Distribution:
        return BY_CV[self.kind](self.iat_us, self.cv)  # type: ignore[call-arg]

    def draw(self, n_jobs: int, rng: np.random.Generator) -> np.ndarray:
        """Return the arrival time of each job, [J] float64, us."""
        if self.kind == "list":
            if len(self.times_us) != n_jobs:
                raise InputError([Problem(("arrival_us",), f"{n_jobs} times, one per job", f"{len(self.times_us)}")])
            return np.asarray(self.times_us, np.float64)
        with np.errstate(over="ignore"):  # infinite times are rejected by the workload
            times = self._steady(n_jobs, rng)
            if self.states is not None:
                times = self.states.moved(times, rng.spawn(1)[0])
            return times if self.cycle is None else self.cycle.moved(times)

    def _steady(self, n_jobs: int, rng: np.random.Generator) -> np.ndarray:
        """Return [J] the arrival times at a steady rate, before states and cycle move them."""
        if self.kind == "constant":
            return np.arange(n_jobs) * self.iat_us
        gaps = rng.exponential(self.iat_us, n_jobs) if self.kind == "poisson" else self._gaps().draw(n_jobs, rng)
        gaps[0] = 0.0
        return np.cumsum(gaps)
