"""Busy time per interval of groups of units, added up by the database: no task leaves it.

A unit is active from the moment a task is given to it until the task finishes, tasks at the same time once.
Source: VineSim report, section 5.4.1 (interval_active).
"""

import numpy as np

from vinesim.formats.result_tables import ResultTables

# Tasks of a unit that overlap or touch become one stretch.
_STRETCHES = """
CREATE OR REPLACE TEMP TABLE stretches AS
WITH given AS (
    SELECT unit, init_us AS b, coalesce(finish_us, $end_us) AS e FROM tasks WHERE unit >= 0 AND init_us IS NOT NULL
), marked AS (
    SELECT *, b > coalesce(
        max(e) OVER (PARTITION BY unit ORDER BY b, e ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), -1) AS opens
    FROM given
), numbered AS (
    SELECT *, sum(opens::INT) OVER (PARTITION BY unit ORDER BY b, e ROWS UNBOUNDED PRECEDING) AS stretch FROM marked
)
SELECT unit, min(b) AS b, max(e) AS e FROM numbered GROUP BY unit, stretch
"""

# A begin at t counts the rest of its interval and the whole of all later ones; an end takes the same away again.
_EVENTS = """
WITH events AS (
    SELECT unit, b AS t, 1 AS sign FROM stretches UNION ALL SELECT unit, e AS t, -1 AS sign FROM stretches
), placed AS (
    SELECT unit, t, sign, least(floor(t / $width)::BIGINT, $n - 1) AS k FROM events
)
SELECT grouped.number AS number, k, sum(sign * ((k + 1) * $width - t)) AS rest, sum(sign)::DOUBLE AS opened
FROM placed JOIN grouped USING (unit) GROUP BY grouped.number, k
"""


def find_stretches(result: ResultTables) -> None:
    """Make the temporary table ``stretches`` (unit, b, e): the times at which each unit was active, us."""
    result.rows(_STRETCHES, {"end_us": result.summary["makespan_us"]})


def busy_share(result: ResultTables, group: np.ndarray, n_groups: int, n_intervals: int) -> np.ndarray:
    """[n_groups, n_intervals]: the share of each interval for which the group's units were active, 0 to 1.

    Args:
        result: where :func:`find_stretches` was called.
        group: [U] the group of each unit, from 0.
        n_groups: how many groups there are.
        n_intervals: equal intervals from 0 to the makespan.
    """
    end_us = float(result.summary["makespan_us"])
    if end_us <= 0:
        return np.zeros((n_groups, n_intervals))
    result.connection.register("group_of_unit", {"unit": np.arange(len(group)), "number": group})
    result.rows("CREATE OR REPLACE TEMP TABLE grouped AS SELECT * FROM group_of_unit")
    width = end_us / n_intervals
    found = result.columns(_EVENTS, {"width": width, "n": n_intervals})
    rest, opened = np.zeros((n_groups, n_intervals)), np.zeros((n_groups, n_intervals))
    rest[found["number"], found["k"]] = found["rest"]
    opened[found["number"], found["k"]] = found["opened"]
    busy = rest + width * (np.cumsum(opened, axis=1) - opened)
    n_units = np.bincount(group, minlength=n_groups)
    return np.clip(busy / (width * np.maximum(n_units, 1)[:, None]), 0.0, 1.0)
