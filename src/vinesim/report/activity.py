"""What was allocated of groups of units, and active, in each interval: added up by the database, no task leaves it.

A unit is active from the moment a task is given to it until the task finishes, tasks at the same time once. What is
allocated of it is the sum of the shares of its capacity that tasks hold, above 1 where it is over-committed.
Source: VineSim report, section 5.4.1 (interval_active).
"""

from typing import Literal

import numpy as np

from vinesim.formats.results.tables import ResultTables

Measure = Literal["allocated", "active"]

# Tasks of a unit that overlap or touch become one stretch.
_ACTIVE = """
CREATE OR REPLACE TEMP TABLE active AS
WITH given AS (
    SELECT unit, begin_us AS b, coalesce(end_us, $end_us) AS e FROM held
), marked AS (
    SELECT *, b > coalesce(
        max(e) OVER (PARTITION BY unit ORDER BY b, e ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), -1) AS opens
    FROM given
), numbered AS (
    SELECT *, sum(opens::INT) OVER (PARTITION BY unit ORDER BY b, e ROWS UNBOUNDED PRECEDING) AS stretch FROM marked
)
SELECT unit, min(b) AS b, max(e) AS e, 1.0::DOUBLE AS level FROM numbered GROUP BY unit, stretch
"""
_ALLOCATED = """
CREATE OR REPLACE TEMP TABLE allocated AS
SELECT unit, begin_us AS b, coalesce(end_us, $end_us) AS e, share AS level FROM held
"""

# A begin at t counts the rest of its interval and the whole of all later ones; an end takes the same away again.
_EVENTS = """
WITH events AS (
    SELECT unit, b AS t, level FROM {measure} UNION ALL SELECT unit, e AS t, -level FROM {measure}
), placed AS (
    SELECT unit, t, level, least(floor(t / $width)::BIGINT, $n - 1) AS k FROM events
)
SELECT grouped.number AS number, k, sum(weight * level * ((k + 1) * $width - t)) AS rest,
    sum(weight * level)::DOUBLE AS opened
FROM placed JOIN grouped USING (unit) GROUP BY grouped.number, k
"""


def find_stretches(result: ResultTables) -> None:
    """Make the temporary tables ``active`` and ``allocated`` (unit, b, e, level): from when to when, us, each unit was
    active, and held a share of its capacity."""
    end = {"end_us": result.summary["makespan_us"]}
    result.rows(_ACTIVE, end)
    if result.is_shared:
        result.rows(_ALLOCATED, end)
    else:  # whole units
        result.rows("CREATE OR REPLACE TEMP VIEW allocated AS SELECT * FROM active")


def weights_of(result: ResultTables, measure: Measure) -> np.ndarray:
    """[U] how much each unit counts in the mean of several: in what is allocated with its capacity, else as one."""
    capacity = result.columns("SELECT capacity FROM units ORDER BY unit")["capacity"]
    return capacity if measure == "allocated" else np.ones(len(capacity))


def shares_over_time(
    result: ResultTables, measure: Measure, group: np.ndarray, n_groups: int, n_intervals: int
) -> np.ndarray:
    """[n_groups, n_intervals]: the measure of the group's units in each interval, 0 or more, each with its weight.

    Args:
        result: where :func:`find_stretches` was called.
        measure: the share allocated, or the share of the time for which a unit was active.
        group: [U] the group of each unit, from 0.
        n_groups: how many groups there are.
        n_intervals: equal intervals from 0 to the makespan.
    """
    end_us = float(result.summary["makespan_us"])
    if end_us <= 0:
        return np.zeros((n_groups, n_intervals))
    weight = weights_of(result, measure)
    columns = {"unit": np.arange(len(group)), "number": group, "weight": weight}
    result.connection.register("group_of_unit", columns)
    result.rows("CREATE OR REPLACE TEMP TABLE grouped AS SELECT * FROM group_of_unit")
    width = end_us / n_intervals
    found = result.columns(_EVENTS.format(measure=measure), {"width": width, "n": n_intervals})
    rest, opened = np.zeros((n_groups, n_intervals)), np.zeros((n_groups, n_intervals))
    rest[found["number"], found["k"]] = found["rest"]
    opened[found["number"], found["k"]] = found["opened"]
    busy = rest + width * (np.cumsum(opened, axis=1) - opened)
    sizes = np.bincount(group, weight, minlength=n_groups)
    return np.maximum(0.0, busy / (width * np.where(sizes > 0, sizes, 1.0)[:, None]))
