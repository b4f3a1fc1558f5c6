"""A point that has been run: what is known about its limits and objectives."""

import math
from dataclasses import dataclass, field

import numpy as np

from vinesim.plans.verdicts import Judgement, Verdict, together
from vinesim.studies.statistics import Interval, mean_interval

SAME = 1e-12  # relative


@dataclass(frozen=True, eq=False)
class Candidate:
    """A point after ``n`` replications.

    ``objectives`` [K, n] are the objectives' values with the sign that makes less better; ``why`` says why no limit can
    hold: a run that failed, stalled or did not finish. ``is_fixed``: the seed decides nothing, so that one replication
    stands for all.
    """

    point: int
    n: int
    judgements: tuple[Judgement, ...] = ()
    objectives: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    why: str = ""
    is_fixed: bool = False

    @property
    def verdict(self) -> Verdict:
        """Whether all limits hold."""
        if self.why:
            return Verdict.FAILS
        if self.objectives.size and not np.isfinite(self.objectives).all():
            return Verdict.FAILS
        return together(self.judgements)

    @property
    def is_random(self) -> bool:
        """Whether its replications differ in an objective."""
        return bool(self.objectives.size) and bool((self.objectives != self.objectives[:, :1]).any())

    def value(self, k: int = 0) -> float:
        """Return the mean of an objective, with the sign that makes less better; infinite if there is none."""
        if self.why or not self.objectives.size:
            return math.inf
        mean = float(self.objectives[k].mean())
        return mean if math.isfinite(mean) else math.inf

    def interval(self, k: int = 0, confidence: float = 0.95) -> Interval:
        """Return the objective's mean and its interval."""
        return mean_interval(self.objectives[k], confidence)

    @property
    def shortfall(self) -> float:
        """How far the worst limit is missed, relative to the limit; infinite for runs that failed."""
        if self.why:
            return math.inf
        missed = [judgement.shortfall for judgement in self.judgements]
        return max((math.inf if math.isnan(miss) else miss for miss in missed), default=0.0)

    @property
    def doubt(self) -> float:
        """How far the bounds of the least certain limit still are from holding; infinite without bounds."""
        return max((math.inf if math.isnan(j.doubt) else j.doubt for j in self.judgements), default=0.0)


def paired(one: Candidate, other: Candidate) -> tuple[np.ndarray, np.ndarray]:
    """Return the objectives [K, n] of two points over the replications that both have (same seeds)."""
    n = min((each.n for each in (one, other) if not each.is_fixed), default=1)
    first, second = (
        np.repeat(each.objectives[:, :1], n, axis=1) if each.is_fixed else each.objectives[:, :n]
        for each in (one, other)
    )
    return first, second


def difference(one: Candidate, other: Candidate, k: int = 0, confidence: float = 0.95) -> Interval:
    """Return how much greater an objective is at ``other``, over the replications that both have (same seeds).

    What only rounding tells apart is the same: the order of units decides in which order energies are added up.
    """
    before, after = (values[k] for values in paired(one, other))
    is_same = np.isfinite(before) & np.isclose(before, after, rtol=SAME, atol=0.0)
    return mean_interval(np.where(is_same, 0.0, after - before), confidence)


def are_same(one: Candidate, other: Candidate) -> bool:
    """Whether two points have equal objectives, up to rounding, in all replications that both have."""
    return bool(np.isclose(*paired(one, other), rtol=SAME, atol=0.0).all())
