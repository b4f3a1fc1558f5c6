"""``python -m verification.slurm_start_times DIR [NAME ...]``: predicted starts against logs of real Slurm.

DIR has a folder for each configuration, with the files of its runs in r1, r2 ... (``--runs N``: the first N only);
of each run, every ``EACH``-th snapshot of the queue is predicted, from ``AFTER_S`` after its first job on and as long
as jobs are submitted for another ``BEFORE_S``: the queue of a site does not run dry, as those of the logs do at their
ends. A start that is predicted for a time behind the last submission of the log is judged by a queue that has run dry,
so a table without these follows that of all forecasts. Jobs that somebody holds are left out: nobody can know when they
are released. As many runs are predicted at the same time as there are processors.

A row for each lead time, from the snapshot to the start: true minus predicted start, mean and mean absolute error, of
the prediction and of what Slurm planned (``squeue --start``), for jobs that have both; the part of all true starts that
lie in the predicted intervals of 80 %, and the mean width of these in s, as simulated and as widened by what earlier
snapshots say; and how many of them were judged by earlier forecasts. First by the predicted lead, which is what a user
has; then by the true one: of jobs that are chosen because they waited long, more than 2 of 10 starts lie behind their
intervals. Then the same for the forecasts whose intervals were judged.
"""

import argparse
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vinesim.formats.importers.site_queue import snapshot_at
from vinesim.formats.importers.site_snapshot import NothingPending, SiteSnapshot
from vinesim.formats.slurm.site import read_site
from vinesim.studies.start_calibration import REPLICATIONS as OF_EARLIER
from vinesim.studies.start_calibration import earlier_times, joined, start_by, times_by_job, widened
from vinesim.studies.start_times import Simulations

EACH = 4
AFTER_S, BEFORE_S = 300.0, 240.0
REPLICATIONS = 20
LEADS_S = (0, 120, 300, 600, 1200, np.inf)


class Forecast(NamedTuple):
    """A pending job at a snapshot; s after it."""

    start_s: float  # the truth
    median_s: float
    low_s: float
    high_s: float
    wide_low_s: float  # widened by how earlier forecasts did
    wide_high_s: float
    planned_s: float  # by Slurm; NaN: no plan
    left_s: float  # for how long jobs are still submitted
    is_judged: float  # 1: by enough earlier forecasts


class Once(Simulations):
    """Simulates each snapshot once: most are earlier ones of several others."""

    def ends(self, at_s: float | None, n: int, submit_until_s: float = np.inf) -> tuple[SiteSnapshot, np.ndarray]:
        """Return what was found before."""
        found = self.__dict__.setdefault("found", {})
        if (at_s, n) not in found:
            found[at_s, n] = super().ends(at_s, n, submit_until_s)
        return found[at_s, n]


def main(arguments: list[str]) -> int:
    """Print the rows of each configuration, and of all."""
    parser = argparse.ArgumentParser(prog="slurm_start_times")
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--runs", type=int)
    asked = parser.parse_args(arguments)
    names = asked.names or sorted(path.name for path in asked.folder.iterdir() if path.is_dir())
    runs = {name: sorted(run for run in (asked.folder / name).glob("r*") if run.is_dir()) for name in names}
    everything: list[Forecast] = []
    with ProcessPoolExecutor() as pool:
        working = {name: [pool.submit(forecasts, run) for run in found[: asked.runs]] for name, found in runs.items()}
        for name, each in working.items():
            found = [one for future in each for one in future.result()]
            everything += found
            print_rows(name, found)
    if len(names) > 1:
        print_rows("all", everything)
    return 0


def forecasts(run: Path) -> list[Forecast]:
    """Return what was predicted for each pending job of each ``EACH``-th snapshot, and what happened."""
    return list(_forecasts(run))


def _forecasts(run: Path) -> Iterator[Forecast]:
    site = read_site(run)
    simulations = Once(site, engine="compiled")
    times = times_by_job(site)
    submits = [job.records[0].submit_s for job in site.jobs.jobs]
    for snapshot in site.queue[::EACH]:
        now_s, _ = snapshot_at(site, snapshot.time_s)
        if not min(submits) + AFTER_S <= now_s <= max(submits) - BEFORE_S:
            continue
        try:
            found, ends_s = simulations.ends(now_s, REPLICATIONS)
        except NothingPending:
            continue
        earlier = joined(simulations.earlier(earlier_times(site, now_s), OF_EARLIER, now_s))
        wide_s, is_judged = widened(ends_s, earlier)
        for j, job in enumerate(found.queue.jobs):
            if not job.reason or job.reason.startswith("JobHeld"):
                continue
            start_s, is_known = start_by(times, job.name, now_s, np.inf) or (np.inf, False)
            if is_known:
                low_s, median_s, high_s = ends_s[:, j].tolist()
                planned_s = np.nan if job.planned_s is None else job.planned_s - now_s
                yield Forecast(
                    start_s - now_s, median_s, low_s, high_s, float(wide_s[0, j]), float(wide_s[2, j]), planned_s,
                    max(submits) - now_s, float(is_judged[j]),
                )  # fmt: skip


def print_rows(name: str, found: list[Forecast]) -> None:
    """Print a row for each lead time, predicted and true."""
    print(f"{name}: {len(found):,} forecasts; error: true minus predicted start, s")
    table = np.array(found, float).reshape(-1, len(Forecast._fields))
    of = dict(zip(Forecast._fields, table.T, strict=True))
    inside, judged = table[of["median_s"] <= of["left_s"]], table[of["is_judged"] == 1]
    for words, rows, column in (
        ("predicted", table, 1), ("... inside", inside, 1), ("... judged", judged, 1), ("true", table, 0)
    ):  # fmt: skip
        ends = "never    in 80 %  width     wide  width  judged"
        print(f"{words:10} lead, min jobs   mean    mae   Slurm   mean    mae   {ends}")
        for low, high in pairwise(LEADS_S):
            lead_s = rows[:, column]
            mine = rows[(lead_s >= low) & ((lead_s < high) | np.isinf(high))]
            if len(mine):
                _print_row(f"{low / 60:.0f}-{high / 60:.0f}" if np.isfinite(high) else f"{low / 60:.0f} or more", mine)


def _print_row(label: str, mine: np.ndarray) -> None:
    of = dict(zip(Forecast._fields, mine.T, strict=True))
    start_s = of["start_s"]
    both = np.isfinite(of["median_s"]) & np.isfinite(of["planned_s"])
    mean, slurm = (_mean_and_absolute((start_s - of[name])[both]) for name in ("median_s", "planned_s"))
    n_never = int(np.isinf(of["median_s"]).sum())
    drawn = _covered(start_s, of["low_s"], of["high_s"])
    wide = _covered(start_s, of["wide_low_s"], of["wide_high_s"])
    judged = f"{np.mean(of['is_judged']) * 100:4.0f} %"
    print(
        f"{label:18} {len(mine):6} {mean}  {both.sum():6} {slurm}  {n_never:6}  {drawn}  {wide}  {judged}", flush=True
    )


def _covered(start_s: np.ndarray, low_s: np.ndarray, high_s: np.ndarray) -> str:
    part = np.mean((low_s - 1 <= start_s) & (start_s <= high_s + 1))  # whole seconds
    widths = (high_s - low_s)[np.isfinite(high_s)]
    return f"{part * 100:6.0f} % " + (f"{np.mean(widths):6.0f}" if len(widths) else "     -")


def _mean_and_absolute(errors: np.ndarray) -> str:
    return f"{errors.mean():6.0f} {np.abs(errors).mean():6.0f}" if len(errors) else "     -      -"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
