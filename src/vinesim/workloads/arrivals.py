"""When the jobs of a generated workload arrive: at constant intervals, as a Poisson process, or at given times."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vinesim.model.errors import InputError, Problem

KINDS = ("constant", "poisson", "list")


@dataclass(frozen=True)
class Arrivals:
    """The arrival process. The first job arrives at 0, except in a list.

    Source: VineSim report, section 5.2.1: a constant inter-arrival time (IAT); the others are options.
    """

    kind: str = "constant"
    iat_us: float = 7.0  # inter-arrival time, or its mean, us; a list ignores it
    times_us: Sequence[float] = ()  # [J] for a list: when each job arrives, us, increasing (equal times allowed)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError([Problem("arrivals", "one of " + ", ".join(KINDS), repr(self.kind))])
        if not (self.iat_us >= 0 and math.isfinite(self.iat_us)):
            raise InputError([Problem("iat_us", "a finite time in us, 0 or more", f"{self.iat_us}")])

    def draw(self, n_jobs: int, rng: np.random.Generator) -> np.ndarray:
        """Return the arrival time of each job, [J] float64, us."""
        with np.errstate(over="ignore"):  # the workload rejects infinite times
            if self.kind == "constant":
                return np.arange(n_jobs) * self.iat_us
            if self.kind == "poisson":
                gaps = rng.exponential(self.iat_us, n_jobs)
                gaps[0] = 0.0
                return np.cumsum(gaps)
        if len(self.times_us) != n_jobs:
            raise InputError([Problem("arrival_us", f"{n_jobs} times, one per job", f"{len(self.times_us)}")])
        return np.asarray(self.times_us, np.float64)
