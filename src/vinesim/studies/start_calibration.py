"""How much wider the intervals of predicted starts must be, judged by earlier forecasts of the same site.

Forecasts from earlier snapshots are compared with the starts that are known by now. Both ends of an interval move, as a
part of the time from the snapshot, until the intervals would have contained 8 of 10 of these starts and a new start is
as likely to lie within: split conformal prediction with quantiles (Romano, Patterson and Candes, 2019), for each end
and each range of lead times. A job that has not started yet will start later than now; such a start is censored, and
the quantiles are Kaplan and Meier's.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from vinesim.formats.slurm.jobs import keys_of
from vinesim.formats.slurm.site import Site

SNAPSHOTS = 6  # earlier snapshots that are predicted
WITHIN_S = 86400.0  # seconds before the snapshot
REPLICATIONS = 10  # simulations of each snapshot
LEAST = 30  # earlier forecasts with known starts that an interval needs
LEADS_S = (0.0, 120.0, 300.0, 600.0, 1200.0, np.inf)  # ranges of lead times in which forecasts are comparable
CLOCKS_S = 30.0  # added to all lead times, s: the phases of the daemons' clocks shift short ones by this
TAIL = 0.1  # the share of starts before the interval, and after it

Times = dict[tuple[int, int | None], tuple[list[float], float]]  # by job: all its starts, and its end


class Earlier(NamedTuple):
    """Earlier forecasts, an element for each; s after their snapshots."""

    low_s: np.ndarray
    median_s: np.ndarray
    high_s: np.ndarray
    start_s: np.ndarray  # the actual start, or the time until which the job has not started
    is_known: np.ndarray  # whether the job has started

    @property
    def n_known(self) -> int:
        """Return the number of forecasts whose actual start is known."""
        return int(self.is_known.sum())


def earlier_times(site: Site, now_s: float) -> list[float]:
    """Return the times of snapshots in the day before ``now_s``, evenly spaced."""
    times = sorted(
        {one.time_s for one in site.queue if one.time_s is not None and now_s - WITHIN_S < one.time_s < now_s}
    )
    if len(times) <= SNAPSHOTS:
        return times
    return [times[i] for i in np.linspace(0, len(times) - 1, SNAPSHOTS).round().astype(int)]


def times_by_job(site: Site) -> Times:
    """Return when the jobs of the log started and ended, s since 1970; an end is infinite if it has not happened."""
    found: Times = {}
    for job in site.jobs.jobs:
        starts, end_s = [one.start_s for one in job.records if one.start_s is not None], job.records[-1].end_s
        found[job.key] = starts, np.inf if end_s is None else end_s
    return found


def start_by(times: Times, name: str, after_s: float, now_s: float) -> tuple[float, bool] | None:
    """Return (first start of a job after a time, True), as known at ``now_s``; or (time until which it has not started,
    False). None if the log lacks the job."""
    found = [times[key] for key in keys_of(name) if key in times]
    starts = [at for starts, _ in found for at in starts if after_s < at <= now_s]
    if starts or not found:
        return (min(starts), True) if starts else None
    return min([now_s, *(end_s for _, end_s in found if end_s > after_s)]), False


def widened(ends_s: np.ndarray, earlier: Earlier) -> tuple[np.ndarray, np.ndarray]:
    """Return intervals wide enough to have contained the starts of earlier forecasts, and which could be judged.

    ``ends_s`` [3, jobs] are low, median and high, s after the snapshot. If too few earlier forecasts have a lead time
    comparable to a job's, those with shorter ones count too; if they are still too few, the interval stays.
    """
    found, is_judged = ends_s.copy(), np.zeros(ends_s.shape[1], bool)
    for place, (least_s, most_s) in enumerate(pairwise(LEADS_S)):
        jobs = np.flatnonzero((ends_s[1] >= least_s) & (ends_s[1] < most_s))
        alike = _alike(earlier, place)
        if len(jobs) and alike is not None:
            factors = _factors(alike)
            for row, factor in zip((0, 2), factors, strict=True):
                found[row, jobs] = np.maximum((ends_s[row, jobs] + CLOCKS_S) * factor - CLOCKS_S, 0.0)
            is_judged[jobs] = True
    return found, is_judged


def _alike(earlier: Earlier, place: int) -> Earlier | None:
    """Return the earlier forecasts in a range of lead times, with shorter ones if needed; None if still too few."""
    for least_s in LEADS_S[place::-1]:
        taken = (earlier.median_s >= least_s) & (earlier.median_s < LEADS_S[place + 1])
        if earlier.is_known[taken].sum() >= LEAST:
            return Earlier._make(values[taken] for values in earlier)
    return None


def _factors(alike: Earlier) -> tuple[float, float]:
    """Return the factors on the two ends of intervals: at most 1 for the low end, at least 1 for the high end."""
    n = alike.n_known
    tail = max(0.0, 1 - (1 - TAIL) * (n + 1) / n)
    ratios = [(alike.start_s + CLOCKS_S) / (end_s + CLOCKS_S) for end_s in (alike.low_s, alike.high_s)]
    low, high = (_quantile(one, alike.is_known, p) for one, p in zip(ratios, (tail, 1 - tail), strict=True))
    return min(low, 1.0), max(high, 1.0)


def _quantile(values: np.ndarray, is_known: np.ndarray, p: float) -> float:
    """Return a quantile of right-censored values (Kaplan-Meier); at most the largest value."""
    order = np.argsort(values, kind="stable")
    left = np.cumprod(1 - is_known[order] / np.arange(len(values), 0, -1))
    reached = np.flatnonzero(1 - left > max(p - 1e-9, 0.0))
    return float(values[order[reached[0] if len(reached) else -1]])


def joined(found: Iterator[Earlier]) -> Earlier:
    """Concatenate the forecasts of several snapshots."""
    none = np.zeros((4, 0))
    return Earlier._make(np.concatenate(columns) for columns in zip((*none, none[0] > 0), *found, strict=True))
