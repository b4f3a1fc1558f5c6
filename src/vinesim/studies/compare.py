"""Compare two labels of a sweep, pairing replications that share random numbers.

The runs of a pair have the same seed and therefore the same workload. What the two policies (or sizes, or networks)
have in common cancels in the difference. Intervals and p values are Student's for paired differences. Both are
corrected for the number of comparisons by the same rule, so an interval excludes 0 exactly when its p value calls the
difference significant. Holm's p values would be smaller, but have no such intervals. Source: Law, Simulation Modeling
and Analysis, 5th edition, sections 9.7 (Bonferroni), 10.2 and 11.2 (paired t, common random numbers).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np

from vinesim.formats.results.table import Table
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.model.errors import InputError, Problem
from vinesim.model.result import ExitReason
from vinesim.model.run_numbers import NUMBERS
from vinesim.studies.labels import axes_of_jobs, by_label, how_to_record, number_of_a_label
from vinesim.studies.points import check_columns, group, numbers_of
from vinesim.studies.statistics import NOWHERE, Interval, check_share, mean_interval

OF_ALL_JOBS = (  # prefixes of numbers that cover jobs that never finish too, or that do not depend on jobs
    *("jobs.count", "jobs.started", "jobs.finished", "jobs.refused", "jobs.withdrawn", "tasks.finished"),
    *("deadlines.missed", "serving.missed", "serving.goodput_pct", "cost.purchase"),
)
Correction = Literal["bonferroni", "none"]


@dataclass(frozen=True)
class Pair:
    """Two labels compared at one point of the other axes; differences are second - first."""

    point: dict[str, Any]  # the labels on the other axes
    first: Any
    second: Any
    first_mean: float  # over the matched replications, like everything below
    second_mean: float
    difference: Interval  # corrected: its confidence is raised so that all intervals hold simultaneously
    ratio: float  # second_mean / first_mean
    variance_ratio: float  # variance of the difference with independent runs / with the common random numbers
    p: float  # of the paired t test, uncorrected; NaN from one replication
    p_corrected: float  # corrected by the same rule as the interval
    significant: bool  # the interval excludes 0: p_corrected < 1 - confidence
    better: Any  # the better label; None if not significant, not comparable, or if no direction of the number is better
    stalled: tuple[Any, ...]  # labels with stalled runs: the number covers only a part of their jobs
    unmatched: tuple[str, ...]  # replications left out, and why

    @property
    def is_equal(self) -> bool:
        """Whether both labels gave the same in every replication."""
        return self.difference.low == self.difference.high == 0.0


@dataclass(frozen=True)
class Comparison:
    """All pairs of labels on one axis, at each point of the others."""

    by: str
    of: str
    direction: str  # "lower" or "higher" is better; "" if neither is declared
    confidence: float  # of all intervals simultaneously, or of each one if they are not corrected
    correction: Correction
    n_comparisons: int  # pairs that have an interval, used for the correction
    pairs: tuple[Pair, ...]

    def rows(self) -> list[dict[str, Any]]:
        """Return the pairs as plain mappings, for JSON."""
        return [asdict(pair) for pair in self.pairs]


def compare(
    sweep: Any,
    by: str,
    of: str,
    *,
    confidence: float = 0.95,
    baseline: Any = None,
    better: str | None = None,
    axes: Sequence[str] | None = None,
    correction: Correction = "bonferroni",
) -> Comparison:
    """Compare the labels on the axis ``by`` in the number ``of``, pair by pair, at each point of the other axes.

    ``sweep`` is a :class:`~vinesim.studies.sweep.Sweep`, or its table with the names of its ``axes``. With a
    ``baseline`` (a label of ``by``) each other label is compared only with it. ``better`` (``"lower"`` or ``"higher"``)
    overrides the number's own direction. ``correction`` accounts for the number of pairs: with ``"bonferroni"`` all
    intervals hold together with that confidence, with ``"none"`` each holds on its own.
    Runs are matched by seed. Raises :class:`InputError` for unknown names and for runs that cannot be distinguished.
    """
    check_share("confidence", confidence)
    if better not in (None, "lower", "higher"):
        raise InputError([Problem(("better",), "lower or higher", repr(better))])
    if correction not in get_args(Correction):
        raise InputError([Problem(("correction",), " or ".join(get_args(Correction)), repr(correction))])
    rows = sweep if isinstance(sweep, Table) else sweep.table
    if not len(rows) or not rows.n_rows:
        raise InputError([Problem("the sweep", "finished runs", "none")])
    table, others = _table_and_other_axes(sweep, by, axes)
    check_columns(table, [by, *others, "seed"], "by")
    values = numbers_of(table, of)
    direction = direction_of(of) if better is None else better
    is_partial = np.zeros(table.n_rows, bool)
    if "exit_reason" in table and not of.startswith(OF_ALL_JOBS):
        is_partial = table["exit_reason"] == ExitReason.STALLED
    chosen = _choose([label for (label,) in group(table, [by])], by, baseline)
    matches: list[_Match] = []
    for key, rows in group(table, others).items():
        here = Table({name: table[name][rows] for name in (by, "seed")})
        runs, stalled = dict[Any, dict[int, float]](), dict[Any, set[int]]()
        for (label,), own in group(here, [by]).items():
            runs[label] = _by_seed(here["seed"][own], values[rows[own]], by, label)
            stalled[label] = set(here["seed"][own][is_partial[rows[own]]].tolist())
        point = dict(zip(others, key, strict=True))
        for first, second in chosen:
            matches.append(_matched(point, first, second, runs, stalled))
    if not matches:
        raise InputError([Problem(("by",), "an axis with two labels or more", f"{by}, which has one")])
    n = sum(len(match.x) > 1 for match in matches)
    divisor = max(n, 1) if correction == "bonferroni" else 1
    judged = tuple(_judged(match, confidence, divisor, direction) for match in matches)
    return Comparison(by, of, direction, confidence, correction, n, judged)


def direction_of(number: str) -> str:
    """Return whether "lower" or "higher" values of a number are better; "" if nothing is declared."""
    number = number_of_a_label(number)
    return next((n.better for n in NUMBERS.values() if number == n.name or number.startswith(f"{n.name}.")), "")


def paired_p(differences: np.ndarray) -> float:
    """Return the two-sided p value of Student's t test that the mean difference is 0; NaN below two differences."""
    n = len(differences)
    if n < 2:
        return math.nan
    from scipy.special import stdtr

    mean, error = float(differences.mean()), float(differences.std(ddof=1)) / math.sqrt(n)
    if error == 0:  # all replications agree: the difference is exact
        return 1.0 if mean == 0 else 0.0
    return float(2 * stdtr(n - 1, -abs(mean) / error))


def _table_and_other_axes(sweep: Any, by: str, axes: Sequence[str] | None) -> tuple[Table, list[str]]:
    """Return the rows, and the columns of the axes other than the one that ``by`` belongs to."""
    if isinstance(sweep, Table):
        groups, remedy, more = [(name,) for name in axes or (by,)], "", []
    else:
        remedy, more = how_to_record(by), axes_of_jobs(sweep.study.record)
        sweep = by_label(sweep, by)
        sweep, groups = sweep.table, [axis.columns for axis in sweep.study.axes]
    if not any(by in columns for columns in groups):
        names = [*(name for columns in groups for name in columns), *more]
        remedy = did_you_mean(by, names) or remedy
        raise InputError([Problem(("by",), f"an axis: {', '.join(names)}", repr(by), remedy)])
    return sweep, [name for columns in groups if by not in columns for name in columns]


def _by_seed(seeds: np.ndarray, values: np.ndarray, by: str, label: Any) -> dict[int, float]:
    found = {int(seed): float(value) for seed, value in zip(seeds, values, strict=True)}
    if len(found) < len(values):
        raise InputError([Problem("the sweep", f"one run per seed for {by} = {label}", "several", "Name all axes.")])
    return found


def _choose(labels: list[Any], by: str, baseline: Any) -> list[tuple[Any, Any]]:
    if baseline is None:
        return list(combinations(labels, 2))
    known = {str(label): label for label in labels}
    found = [name for name in known if name == str(baseline)] or [
        name
        for name in known
        if name.endswith(f"/{baseline}")  # a file of another folder
    ]
    if len(found) != 1:
        remedy = did_you_mean(str(baseline), known)
        raise InputError([Problem(("baseline",), f"a label of {by}: {', '.join(known)}", repr(baseline), remedy)])
    own = known[found[0]]
    return [(own, label) for label in labels if label is not own]


@dataclass(frozen=True)
class _Match:
    """Two labels at one point, with the values [n] of the replications that both have."""

    point: dict[str, Any]
    first: Any
    second: Any
    x: np.ndarray
    y: np.ndarray
    stalled: tuple[Any, ...]
    unmatched: tuple[str, ...]


def _matched(
    point: dict[str, Any],
    first: Any,
    second: Any,
    runs: Mapping[Any, dict[int, float]],
    stalled: Mapping[Any, set[int]],
) -> _Match:
    a, b = (runs.get(label, {}) for label in (first, second))
    common = [seed for seed in a if seed in b and math.isfinite(a[seed]) and math.isfinite(b[seed])]
    x, y = np.array([a[seed] for seed in common]), np.array([b[seed] for seed in common])
    partial = tuple(label for label in (first, second) if not stalled.get(label, set()).isdisjoint(common))
    return _Match(point, first, second, x, y, partial, _unmatched(first, second, a, b))


def _judged(match: _Match, confidence: float, divisor: int, direction: str) -> Pair:
    """Return the pair with its interval and p value, corrected by ``divisor``, and which label is better."""
    x, y = match.x, match.y
    mean_x, mean_y = (float(v.mean()) if len(x) else NOWHERE for v in (x, y))
    difference, p = mean_interval(y - x, _each(confidence, divisor)), paired_p(y - x)
    is_significant = difference.low > 0 or difference.high < 0
    better = None
    if is_significant and direction and not match.stalled:
        better = match.second if (difference.estimate < 0) == (direction == "lower") else match.first
    return Pair(
        match.point,
        match.first,
        match.second,
        mean_x,
        mean_y,
        difference,
        mean_y / mean_x if mean_x else NOWHERE,
        _variance_ratio(x, y),
        p,
        min(1.0, p * divisor) if not math.isnan(p) else p,
        is_significant,
        better,
        match.stalled,
        match.unmatched,
    )


def _each(confidence: float, divisor: int) -> float:
    """Return the confidence that each interval needs so that all hold simultaneously with the given confidence."""
    return confidence if divisor == 1 else 1 - (1 - confidence) / divisor


def _variance_ratio(x: np.ndarray, y: np.ndarray) -> float:
    """Return the factor on the number of runs needed without common random numbers; NaN if nothing varies."""
    if len(x) < 2:
        return NOWHERE
    apart, together = float(x.var(ddof=1) + y.var(ddof=1)), float((y - x).var(ddof=1))
    if together == 0:
        return math.inf if apart else NOWHERE
    return apart / together


def _unmatched(first: Any, second: Any, a: dict[int, float], b: dict[int, float]) -> tuple[str, ...]:
    found = []
    for seed in sorted(a.keys() | b.keys()):
        for label, runs in ((first, a), (second, b)):
            if seed not in runs:
                found.append(f"seed {seed}: no run of {label}")
            elif not math.isfinite(runs[seed]):
                found.append(f"seed {seed}: no value of {label}")
    return tuple(found)
