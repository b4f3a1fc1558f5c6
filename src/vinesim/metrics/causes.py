"""Divide all waiting of a run by its causes, over time.

:func:`~vinesim.metrics.waiting.waiting_of` finds the causes of one job's wait, but is too slow for every job of a large
run. A large run is therefore sampled: with the jobs in order, every k-th microsecond of all waiting selects the job
that it belongs to (systematic sampling with probabilities proportional to the waits). Each selected microsecond stands
for an equal share of all waiting, so the estimate has no bias. In a run where few jobs waited, each of them is
explained. Source: Särndal, Swensson and Wretman, Model Assisted Survey Sampling, section 3.6.2.
"""

from dataclasses import dataclass

import numpy as np

from vinesim.formats.results.explain_record import ExplainRecord
from vinesim.formats.results.tables import ResultTables
from vinesim.metrics.blockers import BEHIND, RESERVED
from vinesim.metrics.gang_shortages import GANG
from vinesim.metrics.power_waits import POWER
from vinesim.metrics.quota_waits import QUOTA
from vinesim.metrics.reservation_waits import RESERVATION
from vinesim.metrics.run_columns import StoredColumns
from vinesim.metrics.shortages import BUSY, DOWN, IDLE, SCATTERED, Span, overlaid
from vinesim.metrics.wait import Waiting
from vinesim.metrics.waiting import explained, with_limits

MAX_EXPLAINED = 40
OVERTAKEN, IMPOSSIBLE = "overtaken", "impossible"
CAUSES = {
    BUSY: "all units that can run it were busy with older jobs",
    OVERTAKEN: "all were busy, after a younger job had taken one",
    SCATTERED: "room enough in all, but not on one unit or node",
    DOWN: "no room, while nodes were down",
    RESERVED: "room, but reserved for a job that came before",
    BEHIND: "room, but the policy starts jobs in order",
    IDLE: "a unit with room was left idle by the policy",
    POWER: "the power cap of its rack or of the datacenter left too little",
    RESERVATION: "room only on nodes whose reservations did not admit it",
    QUOTA: "a quota of its partition or user was used up",
    GANG: "no room for all tasks of its gang together",
    IMPOSSIBLE: "no unit can run it, or meets its requests",
}


@dataclass(frozen=True)
class Causes:
    """The total wait of a run's jobs, by cause. A job waits until the last of its tasks starts."""

    n_waited: int  # jobs
    n_explained: int
    waited_us: float  # all of it
    share: dict[str, float]  # of it, by cause; those that occurred
    by_type: dict[str, dict[str, float]]  # of all waiting, by type of task and cause
    over_time: dict[str, np.ndarray]  # cause -> [n] how many jobs waited for it, in the mean of each interval


def causes_of(result: ResultTables, record: ExplainRecord, edges: np.ndarray) -> Causes | None:
    """Return what the jobs of a recorded run waited for, with means between the ``edges``, us; None if none waited."""
    jobs, waits = _waits(result)
    if not len(waits):
        return None
    total = float(waits.sum())
    chosen, weights = _sample(waits)
    share: dict[str, float] = dict.fromkeys(CAUSES, 0.0)
    by_type: dict[str, dict[str, float]] = {}
    over_time = {cause: np.zeros(len(edges) - 1) for cause in CAUSES}
    for row, weight in zip(chosen, weights, strict=True):
        found = explained(result, record, int(jobs[row]))
        mine = by_type.setdefault(found.task_type, dict.fromkeys(CAUSES, 0.0))
        for span in parts(found):
            part = weight * (span.end_us - span.begin_us) / waits[row]
            share[span.state] += part
            mine[span.state] += part
            overlap = np.minimum(edges[1:], span.end_us) - np.maximum(edges[:-1], span.begin_us)
            n_jobs = np.maximum(0.0, overlap) / np.diff(edges)
            over_time[span.state] += n_jobs * weight * total / waits[row]
    there = [cause for cause in CAUSES if share[cause] > 0]
    return Causes(
        n_waited=len(waits),
        n_explained=len(chosen),
        waited_us=total,
        share={cause: share[cause] for cause in there},
        by_type={name: {cause: mine[cause] for cause in there} for name, mine in by_type.items()},
        over_time={cause: over_time[cause] for cause in there},
    )


def _waits(result: ResultTables) -> tuple[np.ndarray, np.ndarray]:
    """Return the jobs that waited, and how long, us. The wait of a job is that of its task that started last."""
    run = StoredColumns(result)
    given_up, given_up_us = run.given_up()
    job, init_us, eligible_us = run.of("tasks", "job", "init_us", "eligible_us")
    until_us = np.where(np.isnan(init_us), np.maximum(float(result.summary["makespan_us"]), eligible_us), init_us)
    until_us[given_up] = np.where(np.isnan(init_us[given_up]), given_up_us, init_us[given_up])
    order = np.lexsort((init_us, job))  # stable, with NaN last
    last = order[np.r_[np.flatnonzero(np.diff(job[order])), len(job) - 1]]
    wait_us = run.wait_until_us(until_us)[last]
    return job[last][wait_us > 0], wait_us[wait_us > 0]


def parts(found: Waiting) -> list[Span]:
    """Split the wait of a job into spans whose states are CAUSES."""
    kept = [Span(one.begin_us, one.end_us, one.why) for one in found.blockers]
    return with_limits(overlaid(_parts(found), kept, over=IDLE), found)


def _parts(found: Waiting) -> list[Span]:
    """Split the wait by the state of the units that could run the task, before policies and limits are considered."""
    if not found.spans:
        return [Span(begin, end, IMPOSSIBLE) for begin, end in found.waits]
    until_us = found.waits[-1][1]
    younger = [opening.taken_us for opening in found.openings if opening.by_older is False]
    passed_us = min((taken for taken in younger if taken is not None), default=until_us)
    spans = []
    for span in found.spans:
        if span.state != BUSY or span.end_us <= passed_us:
            spans.append(span)
            continue
        if span.begin_us < passed_us:
            spans.append(span._replace(end_us=passed_us))
        spans.append(Span(max(span.begin_us, passed_us), span.end_us, OVERTAKEN))
    return spans


def _sample(waits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows to explain, and the share of all waiting that each represents."""
    if len(waits) <= MAX_EXPLAINED:
        return np.arange(len(waits)), waits / waits.sum()
    at = (np.arange(MAX_EXPLAINED) + 0.5) / MAX_EXPLAINED * waits.sum()
    rows, counts = np.unique(np.searchsorted(np.cumsum(waits), at), return_counts=True)
    return rows, counts / MAX_EXPLAINED
