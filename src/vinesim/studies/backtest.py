"""A back-test: compare the waits that a policy predicts with those that happened.

The actual start of a job is in the attribute ``start_s``, and the time at which it became eligible in ``eligible_s``,
both in seconds from the beginning of the workload. Any table may have them, as columns ``attribute.start_s`` and
``attribute.eligible_s``; without the latter, a wait counts from the arrival. The policy runs several times with
different seeds, so that the prediction has its own band, or once if every seed gives the same. If all actual starts are
whole seconds, the log rounded them down, as Slurm's logs do, and the predicted starts are rounded down too.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from vinesim.engine.engine_choice import Engine
from vinesim.engine.simulate import simulate
from vinesim.formats.source.clock import Clock
from vinesim.formats.source.quantities import format_time_us
from vinesim.metrics.tables import Tables
from vinesim.model.errors import InputError, Problem
from vinesim.model.scenario import Scenario
from vinesim.model.workload import NO_PARTITION, Workload
from vinesim.policies.registry import depends_on_seed
from vinesim.studies.eligible import eligible_s

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
MOST_FURTHEST = 10  # jobs shown
NEAR = 0.1  # a group's mean may lie this far outside the band, relative to its ends
ORDERED = ("CPUs", "hour", "day")  # groupings whose labels have a natural order
ROUNDING_S = 1e-6  # starts this close to a whole second count as whole seconds
SIZES = (1, 2, 8, 32, 128, 512, np.inf)  # CPUs
CPU = "CPU"  # the type of CPUs in imported scenarios


@dataclass(frozen=True)
class Backtest:
    """The waits of J jobs that really started, and that started in each of R runs; in s."""

    scenario: Scenario
    job: np.ndarray  # [J] index into the workload
    actual_s: np.ndarray  # [J]
    predicted_s: np.ndarray  # [R, J]
    begin_s: np.ndarray  # [R, J] their first start, s from the beginning
    run_s: np.ndarray  # [J] from their first start to their last end, the median of the runs
    n_actual: int  # jobs that really started
    groups: dict[str, np.ndarray]  # [J] labels, by grouping
    is_random: bool = True  # whether another seed gives another run; otherwise there is only one

    @property
    def mean_s(self) -> np.ndarray:
        """[J] the mean predicted wait over the runs."""
        return np.asarray(self.predicted_s.mean(axis=0))

    @property
    def error_s(self) -> float:
        """The mean absolute error of the mean of the runs."""
        return float(np.abs(self.mean_s - self.actual_s).mean())

    @property
    def error_of_one_s(self) -> float:
        """The mean absolute error of single runs."""
        return float(np.abs(self.predicted_s - self.actual_s).mean())

    @property
    def band_s(self) -> float:
        """The mean absolute difference of a job's waits in two runs; 0 if the seed changes nothing, NaN for one run."""
        if not self.is_random:
            return 0.0
        n = len(self.predicted_s)
        pairs = [np.abs(self.predicted_s[i] - self.predicted_s[k]).mean() for i in range(n) for k in range(i)]
        return float(np.mean(pairs)) if pairs else float("nan")

    @property
    def floor_s(self) -> float:
        """The error of a perfect model: that of each run, as if it were the truth, against the mean of the others."""
        if not self.is_random:
            return 0.0
        n = len(self.predicted_s)
        if n < 2:
            return float("nan")
        others = (self.predicted_s.sum(axis=0) - self.predicted_s) / (n - 1)
        return float(np.abs(self.predicted_s - others).mean())

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield actual and predicted means by group: sizes and times in their order, others by number of jobs."""
        for by, words in self.groups.items():
            names, code, counts = np.unique(words, return_inverse=True, return_counts=True)
            if len(names) < 2:
                continue
            for g in sorted(range(len(names)), key=_place_by(by, names, counts)):
                mine = code == g
                means = self.predicted_s[:, mine].mean(axis=1)
                actual = float(self.actual_s[mine].mean())
                low, high = float(means.min()), float(means.max())
                is_near = low * (1 - NEAR) <= actual <= high * (1 + NEAR)
                yield {
                    "by": by, "group": str(names[g]), "jobs": int(counts[g]), "actual_s": actual,
                    "predicted_s": float(means.mean()), "low_s": low, "high_s": high, "is_near": is_near,
                }  # fmt: skip

    def furthest(self) -> list[dict[str, Any]]:
        """Return the jobs with the largest errors."""
        work, mean_s = self.scenario.workload, self.mean_s
        found = []
        for i in np.argsort(-np.abs(mean_s - self.actual_s), kind="stable")[:MOST_FURTHEST]:
            job = int(self.job[i])
            number = job if work.job_id is None else int(work.job_id[job])
            one = {"job_id": number, "actual_s": float(self.actual_s[i]), "predicted_s": float(mean_s[i])}
            found.append(one | {by: str(words[i]) for by, words in self.groups.items()} | {"why": self.why(int(i))})
        return found

    def why(self, i: int) -> str:
        """Describe how the prediction of a job differs from its actual wait."""
        low, high, actual = self.predicted_s[:, i].min(), self.predicted_s[:, i].max(), self.actual_s[i]
        if low <= actual <= high:
            return f"runs differ: {low:,.0f} to {high:,.0f} s"
        return ("sooner" if high < actual else "later") + " in every run"

    def as_document(self) -> dict[str, Any]:
        """Return everything as plain data, for JSON."""
        quantiles = {name: float(np.quantile(self.actual_s, q)) for name, q in QUANTILES.items()}
        predicted = {name: float(np.quantile(self.predicted_s, q)) for name, q in QUANTILES.items()}
        means = self.predicted_s.mean(axis=1)
        return {
            "jobs": len(self.job),
            "jobs_started": self.n_actual,
            "replications": len(self.predicted_s),
            "is_random": self.is_random,
            "actual_s": {"mean": float(self.actual_s.mean()), **quantiles},
            "predicted_s": {"mean": float(means.mean()), **predicted},
            "predicted_means_s": means.tolist(),
            "error_s": self.error_s,
            "error_of_one_s": self.error_of_one_s,
            "band_s": finite(self.band_s),
            "floor_s": finite(self.floor_s),
            "order": order_of(self.actual_start_s, self.predicted_start_s),
            "groups": list(self.rows()),
            "furthest": self.furthest(),
            "trust": self.trust(),
            "is_dated": self.is_dated,
        }

    @property
    def is_dated(self) -> bool:
        """Whether the log has a start date; otherwise its hours and days count from its beginning."""
        return bool(start_s_of(self.scenario))

    @property
    def actual_start_s(self) -> np.ndarray:
        """[J] when the jobs really started, s from the beginning."""
        return np.array([float(text) for text in np.array(self.scenario.workload.words_of("start_s"))[self.job]])

    @property
    def predicted_start_s(self) -> np.ndarray:
        """[J] the time of eligibility in the log plus the mean predicted wait, s from the beginning."""
        return self.actual_start_s - self.actual_s + self.mean_s

    def trust(self) -> str:
        """Return a sentence about the questions that the model can answer."""
        mean_s = float(self.actual_s.mean())
        off = abs(float(self.predicted_s.mean()) - mean_s) / mean_s if mean_s else 0.0
        rows = list(self.rows())
        near = sum(row["is_near"] for row in rows)
        words = f"{_grade(off, 0.1, 0.25)} for means (off by {off * 100:.0f} %)"
        if rows:
            far = 1 - near / len(rows)
            count = f"{near} of {len(rows)} means are within 10 % of the range of the runs"
            words += f", {_grade(far, 0.1, 0.4)} for groups ({count})"
        if not self.band_s > 0:
            return f"The model is {words}; a single job is off by {format_time_us(self.error_s * 1e6)}."
        single = self.error_s / self.band_s
        return (
            f"The model is {words}, and {_grade(single, 1.2, 2.0)} for single jobs (off by {single:.1f} times what two "
            "runs differ by)."
        )


def _grade(off: float, good: float, fair: float) -> str:
    return "good" if off <= good else "fair" if off <= fair else "poor"


def backtest(
    scenario: Scenario, n: int = 10, *, engine: Engine = "auto", on_run: Callable[[int], None] | None = None
) -> Backtest:
    """Run the policy ``n`` times, or once if the seed changes nothing, and compare its waits with the actual ones.

    Raises :class:`InputError` if no actual starts are known.
    """
    work = scenario.workload
    starts = work.words_of("start_s")
    has = np.array([text != "" for text in starts])
    if not has.any():
        remedy = "Give the jobs a column attribute.start_s: when each started, s after the first arrival."
        raise InputError([Problem(("workload",), "jobs whose actual starts are known", "none", remedy)])
    arrival_s = work.arrival_us / 1e6
    given = work.words_of("eligible_s")
    known_s = np.array([float(text) if text else at for text, at in zip(given, arrival_s, strict=True)])
    start_s = np.array([float(text) if text else np.nan for text in starts])
    is_whole = bool((start_s[has] % 1.0 == 0.0).all())
    begins, ends, waits = [], [], []
    is_random = depends_on_seed(scenario)
    for i in range(n if is_random else 1):
        if on_run is not None:
            on_run(i)
        begin_s, end_s = begin_and_end_s(replace(scenario, seed=scenario.seed + i), engine)
        if is_whole:
            begin_s, end_s = np.floor(begin_s + ROUNDING_S), np.floor(end_s + ROUNDING_S)
        begins.append(begin_s)
        ends.append(end_s)
        waits.append(_waits_s(work, begin_s, end_s))
    waits_s = np.array(waits)
    chosen = np.flatnonzero(has & np.isfinite(waits_s).all(axis=0))
    if not len(chosen):
        raise InputError([Problem(("workload",), "a job that started in the log and starts in each run", "none")])
    groups = {by: words[chosen] for by, words in _groups(scenario).items()}
    begin_s, end_s = np.array(begins)[:, chosen], np.array(ends)[:, chosen]
    return Backtest(
        scenario, chosen, (start_s - known_s)[chosen], waits_s[:, chosen], begin_s, np.median(end_s - begin_s, axis=0),
        int(has.sum()), groups, is_random,
    )  # fmt: skip


def begin_and_end_s(scenario: Scenario, engine: Engine) -> tuple[np.ndarray, np.ndarray]:
    """Return the first start and the last end of each job in a run, [J] each, s; not finite where there is none."""
    result = simulate(scenario, engine=engine)
    segments = Tables(scenario, result.outcome).segments
    first = scenario.workload.job_first
    begin_us = np.full(scenario.workload.n_tasks, np.inf)
    np.fmin.at(begin_us, segments.task, np.where(np.isnan(segments.begin_us), np.inf, segments.begin_us))
    left_us = np.full(scenario.workload.n_tasks, -np.inf)
    np.fmax.at(left_us, segments.task, np.where(np.isnan(segments.finish_us), -np.inf, segments.finish_us))
    return np.minimum.reduceat(begin_us, first[:-1]) / 1e6, np.maximum.reduceat(left_us, first[:-1]) / 1e6


def _waits_s(work: Workload, begin_s: np.ndarray, end_s: np.ndarray) -> np.ndarray:
    """Return [J] how long each job waits in a run before its first start, s; NaN if it never starts."""
    waits_s = begin_s - eligible_s(work, begin_s, end_s)
    return np.where(np.isfinite(waits_s), np.maximum(waits_s, 0.0), np.nan)


def _groups(scenario: Scenario) -> dict[str, np.ndarray]:
    work = scenario.workload
    found: dict[str, list[str]] = {}
    if work.partition is not None:
        names = (*work.partition_names, "several")  # NO_PARTITION is -1
        assert NO_PARTITION == -1
        found["partition"] = [names[code] for code in work.partition.tolist()]
    for name in ("qos", "account"):
        found[name] = work.words_of(name)
    if work.user is not None:
        found["user"] = [work.user_names[code] for code in work.user.tolist()]
    found["CPUs"] = [_size(n) for n in cpus_of(work).tolist()]
    start_s = start_s_of(scenario)
    at_s = [start_s + us / 1e6 for us in work.arrival_us.tolist()]
    found["hour"] = [f"{int(s // 3600.0) % 24:02d}" for s in at_s]
    found["day"] = [f"{datetime.fromtimestamp(s, UTC):%Y-%m-%d}" if start_s else f"{int(s // 86400.0)}" for s in at_s]
    return {by: np.array(words, str) for by, words in found.items() if any(words)}


def start_s_of(scenario: Scenario) -> float:
    """Return when a log begins, s since 1970; 0 if it has no date."""
    return Clock(scenario.start_date).start_s or float((scenario.options or {}).get("start_s", 0.0))


def _place_by(by: str, names: np.ndarray, counts: np.ndarray) -> Callable[[int], tuple[int, str]]:
    """Return the sort key of a group, given its number, for the grouping ``by``."""
    if by not in ORDERED:
        return lambda g: (-int(counts[g]), "")
    first = [name.removeprefix("over ").split("-")[0] for name in names.tolist()]  # 3 for "3-8"
    return lambda g: (int(first[g]), str(names[g]))


def cpus_of(work: Workload) -> np.ndarray:
    """Return [J] the CPUs of each job, or its units if it takes GPUs without CPUs; a whole node counts as 1."""
    demand = np.ones(work.n_tasks) if work.demand is None else np.where(np.isfinite(work.demand), work.demand, 1.0)
    units = demand * (1 if work.units is None else work.units)
    cpus = (work.companions or {}).get(CPU, np.zeros(work.n_tasks))
    return np.add.reduceat(np.where(cpus > 0, cpus, units), work.job_first[:-1])


def owner_of(row: Mapping[str, Any]) -> str:
    """Return the user and the queue of a job as text, given its row among the largest errors; empty if unknown."""
    return ", ".join(str(row[by]).strip() for by in ("user", "partition", "qos") if row.get(by))


def _size(n: float) -> str:
    for low, high in zip((0, *SIZES), SIZES, strict=False):
        if n <= high:
            few, many = int(low) + 1, int(high) if high < np.inf else 0
            return f"{few}" if few == many else f"{few}-{many}" if many else f"over {few - 1}"
    return ""


def in_use(begin_s: np.ndarray, end_s: np.ndarray, weight: np.ndarray, edges_s: np.ndarray) -> np.ndarray:
    """Return [E - 1] the mean total weight in use in each interval between edges."""
    at = np.concatenate([begin_s, end_s])
    order = np.argsort(at, kind="stable")
    at, level = at[order], np.cumsum(np.concatenate([weight, -weight])[order])
    area = np.concatenate(([0.0], np.cumsum(level[:-1] * np.diff(at))))
    return np.diff(np.interp(edges_s, at, area)) / np.diff(edges_s)


def finite(value: float) -> float | None:
    """Return a number for JSON, with None for NaN and infinity, which JSON lacks."""
    return value if np.isfinite(value) else None


def order_of(one: np.ndarray, other: np.ndarray) -> float:
    """Return Spearman's rank correlation of two orders."""
    first, second = (np.argsort(np.argsort(values, kind="stable"), kind="stable") for values in (one, other))
    return float(np.corrcoef(first, second)[0, 1]) if len(one) > 1 else 1.0
