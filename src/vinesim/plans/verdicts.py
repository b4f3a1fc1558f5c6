"""Decide whether a limit holds: judge it at several numbers of replications, with the error divided among these looks.

Each look may err with (1 - confidence) / looks on either side. By the union bound, all looks together then wrongly say
*holds* in at most a share 1 - confidence of all cases, and likewise *fails*. Between the two, a limit is *undecided*.
The mean is judged by Student's t; a share of runs by the exact binomial bounds of Clopper and Pearson.

Latencies are skewed: a few runs seldom show the longest ones, and t alone would then say *holds* too often (17 %
instead of 5 % for exponential values). So *holds* must remain true even if one more run were worse than all seen, by a
margin that shrinks with their number. For exponential values, *holds* is then wrong in 4 % of cases; the margin was
found by simulation. Source: Law, Simulation Modeling and Analysis, 5th edition, section 9.4; Clopper and Pearson,
Biometrika 26 (1934).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from vinesim.model.plan import Limit
from vinesim.plans.ranges import range_of
from vinesim.studies.statistics import mean_interval

UNSEEN = 2.0  # how far beyond those seen another value may lie, in ranges of theirs / (sqrt(n) - 1)
FEWEST_EQUAL = 12  # replications that must agree before equal values of a random run are believed


class Verdict(StrEnum):
    """What is known about a limit."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Judgement:
    """A limit at a point: what was found, between which bounds, and the verdict.

    ``estimate`` is the mean or, for a limit on a share of runs, the share of runs that keep it; ``low`` and ``high``
    are bounds on the same, NaN where there are too few runs. Without ``is_random`` other seeds give the same values.
    """

    limit: Limit
    verdict: Verdict
    low: float
    estimate: float
    high: float
    n: int
    is_random: bool = True

    @property
    def shortfall(self) -> float:
        """How far the estimate is on the wrong side, relative to the limit; negative: within it."""
        if self.limit.share is not None:
            return self.limit.share - self.estimate
        scale = abs(self.limit.value) or 1.0
        return -float(self.limit.margin(self.estimate)) / scale

    @property
    def doubt(self) -> float:
        """How far the worse bound is on the wrong side, relative to the limit; NaN without bounds."""
        if self.limit.share is not None:
            return self.limit.share - self.low
        worse = self.high if self.limit.side == "below" else self.low
        return -float(self.limit.margin(worse)) / (abs(self.limit.value) or 1.0)


def judged(limit: Limit, values: np.ndarray, n_looks: float, is_random: bool = True) -> Judgement:
    """Judge a limit by one value per replication, [n]; a run without a value (NaN) breaks the limit.

    ``n_looks`` is how often the point may be judged, ``is_random`` whether other seeds can give other values.
    """
    error = (1 - limit.confidence) / n_looks
    if limit.share is not None:
        return _judged_share(limit, values, error, is_random)
    if not np.isfinite(values).all():
        return Judgement(limit, Verdict.FAILS, math.nan, math.nan, math.nan, len(values), is_random)
    mean, n = float(values.mean()), len(values)
    if not is_random:
        return Judgement(limit, _side(limit, mean, mean), mean, mean, mean, n, is_random)
    if n < 2:
        return Judgement(limit, Verdict.UNDECIDED, math.nan, mean, math.nan, n)
    if (values == values[0]).all() and n < FEWEST_EQUAL:
        return Judgement(limit, Verdict.UNDECIDED, mean, mean, mean, n)
    confidence = 1 - 2 * error
    found = mean_interval(values, confidence)
    worse = mean_interval(np.append(values, _worse(limit, values)), confidence)
    low, high = found.low, found.high
    if limit.side == "below":
        high = max(high, worse.high)
    else:
        low = min(low, worse.low)
    least, most = range_of(limit.number)
    low, high = max(low, least), min(high, most)
    return Judgement(limit, _side(limit, low, high), low, mean, high, n)


def _worse(limit: Limit, values: np.ndarray) -> float:
    """Return a value that one more run might have, worse than all seen."""
    spread = UNSEEN * float(np.ptp(values)) / (math.sqrt(len(values)) - 1)
    return float(values.max()) + spread if limit.side == "below" else float(values.min()) - spread


def _side(limit: Limit, low: float, high: float) -> Verdict:
    worst, best = (high, low) if limit.side == "below" else (low, high)
    if limit.margin(worst) >= 0:
        return Verdict.HOLDS
    return Verdict.FAILS if limit.margin(best) < 0 else Verdict.UNDECIDED


def _judged_share(limit: Limit, values: np.ndarray, error: float, is_random: bool) -> Judgement:
    n, kept = len(values), int(np.count_nonzero(limit.margin(values) >= 0))  # NaN is on neither side
    share = kept / n
    low, high = (share, share) if not is_random else share_bounds(kept, n, error)
    assert limit.share is not None
    verdict = Verdict.HOLDS if low >= limit.share else Verdict.FAILS if high < limit.share else Verdict.UNDECIDED
    return Judgement(limit, verdict, low, share, high, n, is_random)


def share_bounds(kept: int, n: int, error: float) -> tuple[float, float]:
    """Return bounds on a share after ``kept`` of ``n`` were observed; each errs with probability ``error`` or less."""
    from scipy.special import betaincinv

    low = 0.0 if kept == 0 else float(betaincinv(kept, n - kept + 1, error))
    high = 1.0 if kept == n else float(betaincinv(kept + 1, n - kept, 1 - error))
    return low, high


def together(judgements: Sequence[Judgement]) -> Verdict:
    """Return the verdict on all limits of a point."""
    verdicts = {judgement.verdict for judgement in judgements}
    if Verdict.FAILS in verdicts:
        return Verdict.FAILS
    return Verdict.UNDECIDED if Verdict.UNDECIDED in verdicts else Verdict.HOLDS
