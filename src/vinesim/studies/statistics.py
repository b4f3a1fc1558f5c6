"""Confidence intervals over independent replications.

There is one value per replication, never one per job, because the jobs of a run wait for each other and are dependent.
Source: Law, Simulation Modeling and Analysis, 5th edition, chapter 9 (replications, Student's t).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from vinesim.formats.results.table import Table
from vinesim.model.arrays import as_numbers
from vinesim.model.errors import InputError, Problem
from vinesim.studies.points import check_columns, group, numbers_of

Values = Sequence[float | None] | np.ndarray
NOWHERE = math.nan


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval, which contains the true value in a share ``confidence`` of all experiments."""

    low: float  # NaN if there is no interval; `note` says why
    estimate: float
    high: float
    confidence: float
    n: int  # replications with a value
    missing: int = 0  # replications without one: NaN, None or infinite
    note: str = ""  # why there is no interval, or what was left out

    @property
    def half_width(self) -> float:
        """(high - low) / 2."""
        return (self.high - self.low) / 2

    @property
    def relative_half_width(self) -> float:
        """Half width / size of the estimate: 0 if all values are equal, infinite for an estimate of 0, NaN for none."""
        if self.half_width == 0:
            return 0.0
        return self.half_width / abs(self.estimate) if self.estimate else self.half_width * math.inf


def mean_interval(values: Values, confidence: float = 0.95) -> Interval:
    """Return the mean of one number per replication, with Student's t interval of its expectation.

    Replications without a value (NaN or None, because the event in question never happened) are left out and counted in
    ``missing``. A single value has a mean but no interval. Raises :class:`InputError` for a confidence outside (0, 1).
    """
    check_share("confidence", confidence)
    found, missing = finite(values)
    n = len(found)
    mean = float(found.mean()) if n else NOWHERE
    if n < 2:
        return Interval(NOWHERE, mean, NOWHERE, confidence, n, missing, _note(n, 2, missing))
    half = t_factor(confidence, n - 1) * float(found.std(ddof=1)) / math.sqrt(n)
    return Interval(mean - half, mean, mean + half, confidence, n, missing, _note(n, 2, missing))


def quantile_interval(values: Values, probability: float, confidence: float = 0.95) -> Interval:
    """Return a quantile over replications with its distribution-free interval, by binomial ranks.

    The interval contains the true quantile with at least ``confidence``, whatever the distribution; with too few values
    (for a median, fewer than 6 at 95 %) there is none. For a quantile within a run (the p99 of its jobs), apply
    :func:`mean_interval` to the p99 of each replication instead.
    Source: Conover, Practical Nonparametric Statistics, 3rd edition, section 3.2.
    """
    check_share("confidence", confidence)
    check_share("probability", probability)
    found, missing = finite(values)
    n = len(found)
    if not n:
        return Interval(NOWHERE, NOWHERE, NOWHERE, confidence, n, missing, _note(n, 2, missing))
    from scipy.stats import quantile_test

    bounds = quantile_test(found, p=probability).confidence_interval(confidence)
    low, high = float(bounds.low), float(bounds.high)
    if math.isnan(low) or math.isnan(high):
        low = high = NOWHERE
    estimate = float(np.quantile(found, probability))
    note = _note(n, n if low == low else n + 1, missing)
    return Interval(low, estimate, high, confidence, n, missing, note)


def summarize_points(table: Table, axes: Sequence[str], of: Sequence[str], confidence: float = 0.95) -> Table:
    """Return one row per point of a sweep: its labels, and for each number X the columns X.n, .mean, .low and .high.

    X.n counts the replications with a value. The bounds are those of :func:`mean_interval`.
    Raises :class:`InputError` for a name that is not a column, or not a number.
    """
    check_columns(table, axes, "axes")
    points = group(table, axes)
    columns: dict[str, np.ndarray] = {name: _column([key[i] for key in points]) for i, name in enumerate(axes)}
    for name in of:
        values = numbers_of(table, name)
        intervals = [mean_interval(values[rows], confidence) for rows in points.values()]
        columns[f"{name}.n"] = np.array([interval.n for interval in intervals])
        columns[f"{name}.mean"] = np.array([interval.estimate for interval in intervals])
        columns[f"{name}.low"] = np.array([interval.low for interval in intervals])
        columns[f"{name}.high"] = np.array([interval.high for interval in intervals])
    return Table(columns)


@cache
def t_factor(confidence: float, freedom: int) -> float:
    """Return the half width of Student's two-sided interval, in standard errors."""
    from scipy.special import stdtrit  # scipy.stats, which calls it, takes half a second to import

    return float(stdtrit(freedom, 0.5 + confidence / 2))


def finite(values: Values) -> tuple[np.ndarray, int]:
    """Return [n] the finite values and the number of those that are not; None counts as NaN."""
    found = as_numbers("values", values)
    kept = found[np.isfinite(found)]
    return kept, len(found) - len(kept)


def check_share(where: str, share: Any) -> None:
    """Raise :class:`InputError` unless the number is strictly between 0 and 1."""
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share < 1:
        raise InputError([Problem(where, "a number between 0 and 1, such as 0.95", repr(share))])


def _column(labels: list[Any]) -> np.ndarray:
    """Return labels as a column: numbers or text; a mixture becomes objects."""
    kinds = {type(label) for label in labels}
    return np.array(labels, None if len(kinds) == 1 or kinds <= {int, float} else object)


def _note(n: int, needed: int, missing: int) -> str:
    parts = []
    if n < needed:
        parts.append("no replication gives a value" if n == 0 else f"no interval from {n} replication" + "s" * (n > 1))
    if missing and n:
        parts.append(f"{missing} replication{'s' * (missing > 1)} without a value left out")
    return "; ".join(parts)
