"""Describe a log of jobs by distributions of arrivals and sizes, and measure how far these are from the log."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vinesim.model.errors import InputError, Problem
from vinesim.model.time import US_PER_HOUR
from vinesim.workloads.arrivals import BY_CV
from vinesim.workloads.fitting import POOR, SIZES, Fitted, fit_distributions, judged, positive, without_warnings
from vinesim.workloads.mmpp import fit_mmpp
from vinesim.workloads.modulation import DAY_US, Cycle, cycle_of

GAPS = ("exponential", *BY_CV, "on_off")
LAGS = (1, 2, 5, 10, 100)
LEAST_JOBS = 20
_CHANCE = 0.001  # below this probability that equal hours or days would differ so strongly, there is a cycle
US_PER_YEAR = 8766 * US_PER_HOUR
LONGEST_US = 150 * US_PER_YEAR  # 150 years: the time for a fit grows with the hours of the log
LEAST_DAYS = 3
LEAST_WEEKS = 3


@dataclass(frozen=True, eq=False)
class LogFit:
    """A fitted log. ``daily`` and ``weekly`` are relative rates from the first arrival on; () means no cycle."""

    n_jobs: int
    span_us: float
    n_ties: int  # arrivals at the same time as the previous one
    gaps: Sequence[Fitted]  # times between arrivals, at a steady rate; an mmpp that fits first, then the best first
    gap_correlations: dict[int, float]  # lag -> autocorrelation of these times
    chance_correlation: float  # the largest autocorrelation that chance explains, 95 %
    daily: tuple[float, ...]
    weekly: tuple[float, ...]
    sizes: Sequence[Fitted]  # best first; () if the log has none
    size_correlations: dict[int, float]  # lag -> autocorrelation of the sizes' normal scores
    n_users: int
    user_correlation: float  # of the normal scores of one user's sizes

    @property
    def is_correlated(self) -> bool:
        """Whether the times between arrivals are correlated more strongly than chance explains."""
        return max(self.gap_correlations.values()) > max(0.02, 2 * self.chance_correlation)


def fit_log(arrival_us: np.ndarray, sizes: np.ndarray | None = None, user: np.ndarray | None = None) -> LogFit:
    """Fit increasing arrival times [J] and, if there are any, sizes [J] and users [J]. Raises :class:`InputError`."""
    n_jobs = len(arrival_us)
    times = arrival_us - arrival_us[0]
    if n_jobs < LEAST_JOBS or not times[-1] > 0:
        found = f"{n_jobs} jobs in {times[-1] if n_jobs else 0:g} us"
        raise InputError([Problem("the log", f"at least {LEAST_JOBS} jobs at different times", found)])
    check_span(arrival_us)
    if sizes is not None and not (sizes > 0).any():
        sizes = None
    cycle, daily, weekly = _cycle(times)
    gaps = np.diff(times if cycle is None else cycle.steadied(times))
    gaps = np.maximum(gaps, 0.0)
    n_users, of_user = _users(sizes, user)
    fit = LogFit(
        n_jobs=n_jobs,
        span_us=float(times[-1]),
        n_ties=int((np.diff(times) == 0).sum()),
        gaps=fit_distributions(gaps, GAPS),
        gap_correlations=autocorrelations(gaps),
        chance_correlation=1.96 / math.sqrt(len(gaps)),
        daily=daily,
        weekly=weekly,
        sizes=() if sizes is None else fit_distributions(sizes, SIZES),
        size_correlations={} if sizes is None else autocorrelations(_scores(sizes)),
        n_users=n_users,
        user_correlation=of_user,
    )
    bursts = _bursts(fit, gaps) if fit.is_correlated else None
    return fit if bursts is None else replace(fit, gaps=[bursts, *fit.gaps])


def check_span(arrival_us: np.ndarray, last: str = "the log") -> None:
    """Raise :class:`InputError` if the arrivals span more than 150 years; ``last`` says where the last one is."""
    span_us = arrival_us[-1] - arrival_us[0] if len(arrival_us) else 0.0
    if not span_us <= LONGEST_US:
        expected = f"an arrival within {LONGEST_US / US_PER_YEAR:.0f} years of the first"
        remedy = "Is it in another unit than the others?"
        raise InputError([Problem(last, expected, f"one after {span_us / US_PER_YEAR:.3g} years", remedy)])


def _bursts(fit: LogFit, gaps: np.ndarray) -> Fitted | None:
    """Return a process of two states fitted to these times between arrivals; None if it does not fit."""
    with without_warnings():
        process = fit_mmpp(gaps, fit.gap_correlations)
        if process is None:
            return None
        found = judged("mmpp", process, 3, np.sort(positive(gaps)))
    return found if found.ks <= max(POOR, fit.gaps[0].ks) else None


def autocorrelations(values: np.ndarray) -> dict[int, float]:
    """Return the autocorrelation at each lag below a quarter of the number of values; 0 if all values are equal."""
    centred, n = values - values.mean(), len(values)
    variance = float((centred**2).mean())
    return {
        lag: float((centred[lag:] * centred[:-lag]).mean()) / variance if variance > 0 else 0.0
        for lag in LAGS
        if lag <= n // 4
    }


def _cycle(times: np.ndarray) -> tuple[Cycle | None, tuple[float, ...], tuple[float, ...]]:
    """Return the cycle of days and weeks, and its relative rates; None and () if there is none.

    The counts of equal hours of the day on different days are compared by an analysis of variance, and so are days.
    """
    by_hour = _counts(times, US_PER_HOUR, 24)
    daily: tuple[float, ...] = ()
    if len(by_hour) >= LEAST_DAYS and _differ(by_hour):
        daily = _relative(by_hour)
    by_day = _counts(times, DAY_US, 7)
    weekly: tuple[float, ...] = ()
    if len(by_day) >= LEAST_WEEKS and _differ(by_day):
        weekly = _relative(by_day)
    return (cycle_of(daily, weekly) if daily or weekly else None), daily, weekly


def _counts(times: np.ndarray, length_us: float, n: int) -> np.ndarray:
    """Return the arrivals in each part of whole cycles, [cycles, n]."""
    n_cycles = int(times[-1] // (length_us * n))
    part = (times // length_us).astype(np.int64)
    return np.bincount(part[part < n_cycles * n], minlength=n_cycles * n).reshape(n_cycles, n)


def _differ(counts: np.ndarray) -> bool:
    from scipy import stats

    columns = np.sqrt(counts).T  # square roots of counts have nearly equal variances
    if (columns.max(axis=1) == columns.min(axis=1)).all():  # every cycle is the same
        return bool(counts.min() < counts.max())
    return bool(stats.f_oneway(*columns).pvalue < _CHANCE)


def _relative(counts: np.ndarray) -> tuple[float, ...]:
    """Return the mean of each column relative to that of all; never 0, because further cycles might have arrivals."""
    means = (counts.sum(axis=0) + 0.5) / len(counts)
    return tuple(float(f"{mean:.3g}") for mean in means / means.mean())


def _scores(sizes: np.ndarray) -> np.ndarray:
    """Return the normal scores of the sizes' ranks."""
    from scipy import special, stats

    return special.ndtri((stats.rankdata(sizes) - 0.5) / len(sizes))


def _users(sizes: np.ndarray | None, user: np.ndarray | None) -> tuple[int, float]:
    """Return the number of users and the correlation of their sizes: analysis of variance of the normal scores."""
    if user is None:
        return 1, 0.0
    names, code = np.unique(user, return_inverse=True)
    n_users, n = len(names), len(user)
    if sizes is None or n_users < 2 or n <= n_users:
        return n_users, 0.0
    score, counts = _scores(sizes), np.bincount(code)
    means = np.bincount(code, score) / counts
    between = float((counts * (means - score.mean()) ** 2).sum()) / (n_users - 1)
    within = float(((score - means[code]) ** 2).sum()) / (n - n_users)
    each = (n - float((counts**2).sum()) / n) / (n_users - 1)
    of_user = (between - within) / each
    return n_users, min(max(of_user / (of_user + within), 0.0), 1.0) if of_user + within > 0 else 0.0
