"""``python -m verification.slurm_start_times DIR [NAME ...]``: predicted starts against logs of real Slurm.

DIR has a folder for each configuration, with the files of its runs in r1, r2 ...; of each run, every ``EACH``-th
snapshot of the queue is predicted, from ``AFTER_S`` after its first job on and as long as jobs are submitted for
another ``BEFORE_S``: the queue of a site does not run dry, as those of the logs do at their ends. A start that is
predicted for a time behind the last submission of the log is judged by a queue that has run dry, so a table without
these follows that of all forecasts. All is done without what earlier snapshots say of the intervals, with it, and
without it again with simulated users who stop when those of the log did. Jobs that somebody holds are left out: nobody
can know when they are released.

A row for each lead time, from the snapshot to the start: true minus predicted start, mean and mean absolute error, of
the prediction and of what Slurm planned (``squeue --start``), for jobs that have both; and the part of all true starts
that lie in the predicted intervals of 80 %, the mean width of these in s, and how many of them were judged by earlier
forecasts. First by the predicted lead, which is what a user has; then by the true
one: of jobs that are chosen because they waited long, more than 2 of 10 starts lie behind their intervals.
"""

import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vinesim.formats.importers.site_queue import snapshot_at
from vinesim.formats.importers.site_snapshot import NothingPending
from vinesim.formats.slurm.site import read_site
from vinesim.studies.start_calibration import start_by, times_by_job
from vinesim.studies.start_times import start_times

EACH = 4
AFTER_S, BEFORE_S = 300.0, 240.0
REPLICATIONS = 20
LEADS_S = (0, 120, 300, 600, 1200, np.inf)
KINDS = {  # whether submissions end with the log, and whether earlier forecasts widen the intervals
    "as simulated": (False, False),
    "widened": (False, True),
    "submissions end with the log": (True, False),
}


class Forecast(NamedTuple):
    """A pending job at a snapshot; s after it."""

    start_s: float  # the truth
    median_s: float
    low_s: float
    high_s: float
    planned_s: float  # by Slurm; NaN: no plan
    left_s: float  # for how long jobs are still submitted
    calibrated: bool


def main(arguments: list[str]) -> int:
    """Print the rows of each configuration, and of all."""
    folder = Path(arguments[0])
    names = arguments[1:] or sorted(path.name for path in folder.iterdir() if path.is_dir())
    everything: dict[str, list[Forecast]] = {kind: [] for kind in KINDS}
    for name in names:
        runs = [run for run in sorted((folder / name).glob("r*")) if run.is_dir()]
        for kind, (ends, calibrate) in KINDS.items():
            found = [one for run in runs for one in forecasts(run, ends, calibrate)]
            everything[kind] += found
            print_rows(f"{name}, {kind}", found)
    for kind, found in everything.items() if len(names) > 1 else ():
        print_rows(f"all, {kind}", found)
    return 0


def forecasts(run: Path, ends: bool = False, calibrate: bool = True) -> Iterator[Forecast]:
    """Yield what was predicted for each pending job of each ``EACH``-th snapshot, and what happened; ``ends``: nobody
    submits jobs after the last one of the log."""
    site = read_site(run)
    times = times_by_job(site)
    submits = [job.records[0].submit_s for job in site.jobs.jobs]
    until_s = max(submits) if ends else np.inf
    for snapshot in site.queue[::EACH]:
        now_s, _ = snapshot_at(site, snapshot.time_s)
        if not min(submits) + AFTER_S <= now_s <= max(submits) - BEFORE_S:
            continue
        try:
            predicted = start_times(
                run, now_s, REPLICATIONS, submit_until_s=until_s, calibrate=calibrate, engine="compiled"
            )
        except NothingPending:
            continue
        for job in predicted.jobs:
            if job.reason.startswith("JobHeld"):
                continue
            start_s, is_known = start_by(times, job.job, now_s, np.inf) or (np.inf, False)
            if is_known:
                planned_s = np.nan if job.planned_s is None else job.planned_s - now_s
                yield Forecast(
                    start_s - now_s, job.median_s - now_s, job.low_s - now_s, job.high_s - now_s, planned_s,
                    max(submits) - now_s, job.calibrated,
                )  # fmt: skip


def print_rows(name: str, found: list[Forecast]) -> None:
    """Print a row for each lead time, predicted and true."""
    print(f"{name}: {len(found):,} forecasts; error: true minus predicted start, s")
    table = np.array(found, float).reshape(-1, len(Forecast._fields))
    inside = table[table[:, 1] <= table[:, 5]]
    for words, rows, column in (("predicted", table, 1), ("... inside", inside, 1), ("true", table, 0)):
        print(f"{words:10} lead, min jobs   mean    mae   Slurm   mean    mae   in 80 %  never   width  judged")
        for low, high in pairwise(LEADS_S):
            lead_s = rows[:, column]
            mine = rows[(lead_s >= low) & ((lead_s < high) | np.isinf(high))]
            if len(mine):
                _print_row(f"{low / 60:.0f}-{high / 60:.0f}" if np.isfinite(high) else f"{low / 60:.0f} or more", mine)


def _print_row(label: str, mine: np.ndarray) -> None:
    both = mine[np.isfinite(mine[:, 1]) & np.isfinite(mine[:, 4])]
    numbers = [_mean_and_absolute(both[:, 0] - both[:, column]) for column in (1, 4)]
    inside = np.mean((mine[:, 2] - 1 <= mine[:, 0]) & (mine[:, 0] <= mine[:, 3] + 1))  # whole seconds
    n_never = int(np.isinf(mine[:, 1]).sum())
    widths = [high - low for low, high in mine[:, 2:4] if np.isfinite(high)]
    width = f"{np.mean(widths):6.0f}" if widths else "     -"
    ends = f"{inside * 100:6.0f} %  {n_never:5}  {width}  {mine[:, 6].mean() * 100:4.0f} %"
    print(f"{label:18} {len(mine):6} {numbers[0]}  {len(both):6} {numbers[1]}  {ends}", flush=True)


def _mean_and_absolute(errors: np.ndarray) -> str:
    return f"{errors.mean():6.0f} {np.abs(errors).mean():6.0f}" if len(errors) else "     -      -"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
