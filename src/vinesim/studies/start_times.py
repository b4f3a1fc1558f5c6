"""Predict when the pending jobs of a Slurm queue will start, with intervals.

Each replication draws what is unknown: the phases of the daemons' clocks, the part of its limit that each job uses, and
who will submit jobs. The part is drawn from jobs that had ended before the snapshot, and from ten more that used 5 %,
15 % ... 95 %, which keeps a site with few ended jobs from being taken literally. For a job that already runs, only
parts that it has not passed yet are drawn.

The jobs of the day before the snapshot arrive again behind the queue, beginning at a drawn moment of that day and
continuing with its start. This preserves their rate, their bursts and who submits what. Without ``later``, nobody
submits further jobs, as in Slurm's own forecast. It is not known when nodes that are down return, so they stay down.

The spread of the draws does not include errors of the model, so the interval is widened according to earlier
forecasts: :mod:`~vinesim.studies.start_calibration`.
"""

import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.engine.engine_choice import Engine
from vinesim.formats.importers.site_jobs import BEYOND_S
from vinesim.formats.importers.site_snapshot import NothingPending, SiteSnapshot, write_snapshot
from vinesim.formats.slurm.site import Site, read_site
from vinesim.model.errors import InputWarning
from vinesim.model.scenario import Scenario
from vinesim.model.workload import Workload
from vinesim.policies.documents import read_scenario
from vinesim.studies.backtest import begin_and_end_s
from vinesim.studies.start_calibration import (
    REPLICATIONS,
    TAIL,
    Earlier,
    earlier_times,
    joined,
    start_by,
    times_by_job,
    widened,
)
from vinesim.workloads.select_jobs import select_jobs

FURTHER_PARTS = np.arange(0.05, 1.0, 0.1)


@dataclass(frozen=True)
class StartTime:
    """When a pending job is expected to start, s since 1970; infinite if it does not start in the forecast."""

    job: str  # its JobID
    user: str
    partition: str
    cpus: int
    reason: str  # Slurm's reason for its wait
    submit_s: float
    low_s: float
    median_s: float
    high_s: float
    planned_s: float | None  # Slurm's own forecast, ``squeue --start``
    calibrated: bool  # whether earlier forecasts calibrated the interval; otherwise it is that of the draws


@dataclass(frozen=True)
class StartTimes:
    """The pending jobs of a snapshot in the order of their expected starts."""

    time_s: float
    jobs: list[StartTime]
    n_running: int
    n_past: int  # ended jobs, whose use of their limits is known
    n_replications: int
    n_snapshots: int  # earlier snapshots that were predicted to calibrate the intervals
    n_earlier: int  # forecasts of these with known actual starts
    dropped: dict[str, int]  # jobs that are left out, by reason

    def as_document(self) -> dict[str, Any]:
        """Return the forecasts as plain data, for JSON; None for never."""
        jobs = [
            {name: None if value == np.inf else value for name, value in vars(one).items()}
            | {"wait_s": None if one.median_s == np.inf else one.median_s - self.time_s}
            for one in self.jobs
        ]
        return {name: value for name, value in vars(self).items() if name != "jobs"} | {"jobs": jobs}


def start_times(
    folder: str | Path,
    at_s: float | None = None,
    n: int = 20,
    *,
    seed: int = 0,
    later: bool = True,
    submit_until_s: float = np.inf,
    calibrate: bool = True,
    engine: Engine = "auto",
    on_run: Callable[[int], None] | None = None,
) -> StartTimes:
    """Predict when the pending jobs in a snapshot of ``squeue`` will start: the last snapshot, or the last by ``at_s``.

    ``folder`` holds the files of a site. The forecast assumes that nobody submits jobs after ``submit_until_s``
    (s since 1970). With ``calibrate``, forecasts of earlier snapshots decide how wide the intervals are. ``on_run`` is
    called with the number of each simulation. Raises :class:`~vinesim.model.errors.InputError` if there is no snapshot.
    """
    site = read_site(Path(folder))
    for reason, lines in site.unread.get("queue", {}).items():
        text = f"{site.files['queue']}: {reason}: {len(lines):,} lines are left out, from line {lines[0]} on"
        warnings.warn(text, InputWarning, stacklevel=2)
    simulations = Simulations(site, seed, later, engine, on_run)
    found, ends_s = simulations.ends(at_s, n, submit_until_s)
    now_s = found.queue.time_s
    times = earlier_times(site, now_s) if calibrate else []
    earlier = joined(simulations.earlier(times, min(n, REPLICATIONS), now_s))
    ends_s, calibrated = widened(ends_s, earlier)
    jobs = [
        StartTime(
            one.name, one.site_job.job.user, ",".join(one.site_job.job.partitions), one.site_job.request.n_cpus,
            one.reason, one.submit_s, *_three(ends_s[:, j] + now_s), one.planned_s, bool(calibrated[j]),
        )
        for j, one in enumerate(found.queue.jobs)
        if one.reason
    ]  # fmt: skip
    jobs.sort(key=lambda one: one.median_s)
    n_running = len(found.queue.jobs) - len(jobs)
    return StartTimes(
        now_s, jobs, n_running, len(found.used_parts), n, len(times), earlier.n_known, dict(found.queue.dropped)
    )


@dataclass
class Simulations:
    """Simulates a site from its snapshots on."""

    site: Site
    seed: int = 0
    later: bool = True
    engine: Engine = "auto"
    on_run: Callable[[int], None] | None = None
    n_runs: int = 0

    def ends(self, at_s: float | None, n: int, submit_until_s: float = np.inf) -> tuple[SiteSnapshot, np.ndarray]:
        """Return a snapshot, and [3, jobs] the low end, median and high end of each start, s after the snapshot."""
        with tempfile.TemporaryDirectory() as made:
            found = write_snapshot(self.site, Path(made) / "queue.parquet", at_s, later=self.later)
            scenario = read_scenario(found.scenario)
        begins, left_us = [], (submit_until_s - found.queue.time_s) * 1e6
        for i in range(n):
            if self.on_run is not None:
                self.on_run(self.n_runs)
            self.n_runs += 1
            random = np.random.default_rng(self.seed + i)
            work = _with_other_later_jobs(scenario.workload, len(found.queue.jobs), found.later_s, random, left_us)
            drawn = replace(scenario, seed=self.seed + i, workload=work)
            drawn = _with_run_times(drawn, np.array([*found.used_parts, *FURTHER_PARTS]), random)
            begin_s = begin_and_end_s(drawn, self.engine)[0][: len(found.queue.jobs)]
            begins.append(np.where(np.isnan(begin_s), np.inf, begin_s))
        return found, np.sort(np.array(begins), axis=0)[_ends(n)]

    def earlier(self, times: list[float], n: int, now_s: float) -> Iterator[Earlier]:
        """Yield the forecasts of snapshots at these times, with the starts known at ``now_s``."""
        known = times_by_job(self.site)
        for time_s in times:
            try:
                found, ends_s = self.ends(time_s, n)
            except NothingPending:
                continue
            starts = [start_by(known, one.name, time_s, now_s) for one in found.queue.jobs]
            jobs = [j for j, one in enumerate(found.queue.jobs) if one.reason and starts[j] is not None]
            true = np.array([starts[j] for j in jobs], float).reshape(-1, 2)
            low_s, median_s, high_s = ends_s[:, jobs]
            yield Earlier(low_s, median_s, high_s, true[:, 0] - time_s, true[:, 1] == 1.0)


def _ends(n: int) -> list[int]:
    """Return the indices of the low end, the middle and the high end of a prediction interval among ``n`` sorted draws.

    One more draw is as likely in each of the n + 1 gaps; with too few draws the interval is all that there are.
    """
    low = max(0, int((n + 1) * TAIL) - 1)
    return [low, (n - 1) // 2, n - 1 - low]


def _three(values: np.ndarray) -> tuple[float, float, float]:
    low, middle, high = values.tolist()
    return low, middle, high


def _with_other_later_jobs(
    work: Workload, n_queued: int, later_s: float, random: np.random.Generator, left_us: float = np.inf
) -> Workload:
    """Rotate the arrivals of later jobs, which repeat the day before the snapshot, to begin at a random moment of it.

    Jobs that would arrive after ``left_us``, when nobody submits any more, are left out.
    """
    if later_s == 0.0:
        return work
    later_us = (work.arrival_us[n_queued:] - random.random() * later_s * 1e6) % (later_s * 1e6)
    order = np.argsort(later_us, kind="stable")
    order = order[later_us[order] <= left_us]
    jobs = np.concatenate([np.arange(n_queued), n_queued + order])
    return select_jobs(work, jobs, np.concatenate([work.arrival_us[:n_queued], later_us[order]]))


def _with_run_times(scenario: Scenario, parts: np.ndarray, random: np.random.Generator) -> Scenario:
    """Draw how long each job still runs. The policy kills a job that would use its whole limit."""
    work = scenario.workload
    assert work.estimate_us is not None
    limit_us = work.estimate_us[work.job_first[:-1]]
    ran_us = np.array([float(text or 0) * 1e6 for text in work.words_of("ran_s")])
    parts = np.sort(parts)
    passed = np.searchsorted(parts, ran_us / limit_us, side="right")
    drawn = passed + (random.random(work.n_jobs) * (len(parts) - passed)).astype(np.int64)
    part = np.append(parts, 1.0)[drawn]  # a job that has passed all of them uses its whole limit
    over_us = float((scenario.options or {}).get("over_time_limit", 0.0)) * 60e6 + BEYOND_S * 1e6
    left_us = np.maximum(part * limit_us - ran_us, 1e6) + np.where(part >= 1.0, over_us, 0.0)
    return replace(scenario, workload=replace(work, operations=np.repeat(left_us, np.diff(work.job_first))))
