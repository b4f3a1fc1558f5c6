"""Add replications to points whose number is not yet known precisely enough."""

import math
from collections.abc import Mapping

import numpy as np

from vinesim.formats.results.table import Table
from vinesim.studies.expand import Points
from vinesim.studies.run import Run
from vinesim.studies.statistics import mean_interval

GROWTH = 1.5  # factor on the replications of a point from round to round


def next_round(points: Points, counts: dict[int, int], table: Table) -> list[Run]:
    """Return the runs that the points' study needs beyond those in the table; none if every point is precise enough.

    ``counts`` are the replications of each point by its number, and are raised here. Each point stops on its own; the
    seeds continue, so that replication r has the same random numbers at all points. The schedule depends only on the
    rows. A point with a missing row (a run that failed) gets no more.
    """
    until = points.study.until
    assert until is not None
    before = dict(counts)
    for number, values in _values(until.of, table, counts).items():
        n = counts[number]
        if n < until.at_most and len(values) == n and not _is_known(np.array(values), until.ci_width, until.confidence):
            counts[number] = min(until.at_most, max(n + 1, math.ceil(GROWTH * n)))
    if counts == before:
        return []
    runs = points.all_runs(max(counts.values()))
    return [run for run in runs if before[run.point_number] <= run.replication < counts[run.point_number]]


def _values(of: str, table: Table, counts: Mapping[int, int]) -> Mapping[int, list[float]]:
    """Return the number in the replications that count up to now, by point; rows of later rounds may exist already."""
    values: dict[int, list[float]] = {number: [] for number in counts}
    column = table[of] if of in table else np.full(table.n_rows, np.nan)
    for number, replication, value in zip(table["point"].tolist(), table["replication"].tolist(), column, strict=True):
        if replication < counts[number]:
            values[number].append(value)
    return values


def _is_known(values: np.ndarray, width: float, confidence: float) -> bool:
    """Whether the interval is narrow enough, or nothing can be measured."""
    interval = mean_interval(values, confidence)
    return interval.n == 0 or interval.relative_half_width <= width
