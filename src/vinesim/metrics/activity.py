"""What was allocated and active of groups of units in each interval: of a stored run, computed inside the database, or
of one in memory.

A unit is active from the moment a task is given to it until the task finishes; tasks that overlap count once. What is
allocated of a unit is the sum of the shares of its capacity that tasks hold, above 1 if it is over-committed.
Source: VineSim report, section 5.4.1 (interval_active).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from vinesim.formats.results.tables import ResultTables
from vinesim.metrics.segments import Stretches
from vinesim.metrics.tables import Tables
from vinesim.metrics.utilization import busy_intervals, loads, shares_by_group

Measure = Literal["allocated", "active"]
Shares = Callable[[Measure, np.ndarray, int, int], np.ndarray]  # as shares_over_time, of a run
_UNITS = "SELECT unit_type, rack, shelf, capacity, utilization, active FROM units ORDER BY unit"

# Tasks of a unit that overlap or touch become one stretch. Equal times count once: the rows are put in order twice, and
# which of equal ones comes first may differ.
_ACTIVE = """
CREATE OR REPLACE TEMP TABLE active AS
WITH given AS (
    SELECT DISTINCT unit, begin_us AS b, coalesce(end_us, $end_us) AS e FROM held
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

# A start at t adds the rest of its interval and all later ones; an end subtracts the same.
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


@dataclass(frozen=True)
class Activity:
    """What pictures of a run's units are drawn from, wherever the run is."""

    units: Mapping[str, np.ndarray]  # [U] unit_type, rack, shelf, capacity, utilization and active
    runs_tasks: np.ndarray  # [U]; only such units count in overall figures
    is_shared: bool  # allocated and active can differ
    end_us: float
    shares: Shares

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures that can differ."""
        return ("allocated", "active") if self.is_shared else ("allocated",)

    def weight(self, measure: Measure) -> np.ndarray:
        """Return [U], the weight of each unit in a mean: its capacity for what is allocated, otherwise 1."""
        capacity = self.units["capacity"]
        return capacity if measure == "allocated" else np.ones(len(capacity))


def stored_activity(result: ResultTables) -> Activity:
    """Return the activity of a stored run, which must have been passed to :func:`find_stretches`."""
    shares = partial(shares_over_time, result)
    end_us = float(result.summary["makespan_us"])
    return Activity(result.columns(_UNITS), result.runs_tasks, result.is_shared, end_us, shares)


def activity_of(tables: Tables) -> Activity:
    """Return the activity of a run in memory."""
    names = ("unit_type", "rack", "shelf", "capacity")
    units = {name: getattr(tables, name) for name in names}
    units |= {"utilization": tables.unit_utilization, "active": tables.unit_active}
    is_shared = tables.outcome.shares_units or len(np.unique(tables.capacity)) > 1
    end_us, known = float(tables.makespan_us), dict[Measure, Stretches]()

    def shares(measure: Measure, group: np.ndarray, n_groups: int, n_intervals: int) -> np.ndarray:
        if measure not in known:
            known[measure] = _stretches(tables, measure)
        weight = activity.weight(measure)
        return shares_by_group(known[measure], group, n_groups, weight, end_us, n_intervals)

    activity = Activity(units, tables.runs_tasks, is_shared, end_us, shares)
    return activity


def _stretches(tables: Tables, measure: Measure) -> Stretches:
    if measure == "allocated":
        return loads(tables.segments)
    unit, begin, end = busy_intervals(tables.segments)
    return unit, begin, end, np.ones(len(unit))


def find_stretches(result: ResultTables) -> None:
    """Create the temporary tables ``active`` and ``allocated`` (unit, b, e, level): when (us) each unit was active, and
    when it held a share of its capacity."""
    end = {"end_us": result.summary["makespan_us"]}
    result.rows(_ACTIVE, end)
    if result.is_shared:
        result.rows(_ALLOCATED, end)
    else:  # every task takes a whole unit
        result.rows("CREATE OR REPLACE TEMP VIEW allocated AS SELECT * FROM active")


def weights_of(result: ResultTables, measure: Measure) -> np.ndarray:
    """Return [U], the weight of each unit in a mean: its capacity for what is allocated, otherwise 1."""
    capacity = result.columns("SELECT capacity FROM units ORDER BY unit")["capacity"]
    return capacity if measure == "allocated" else np.ones(len(capacity))


def shares_over_time(
    result: ResultTables, measure: Measure, group: np.ndarray, n_groups: int, n_intervals: int
) -> np.ndarray:
    """Return [n_groups, n_intervals]: the weighted mean of the measure over a group's units in each interval.

    Args:
        result: must have been passed to :func:`find_stretches`.
        measure: the share allocated, or the share of the time during which a unit was active.
        group: [U] the group of each unit, from 0; -1: none.
        n_groups: number of groups.
        n_intervals: number of equal intervals from 0 to the makespan.
    """
    end_us = float(result.summary["makespan_us"])
    if end_us <= 0:
        return np.zeros((n_groups, n_intervals))
    weight = weights_of(result, measure)
    members = np.flatnonzero(group >= 0)
    columns = {"unit": members, "number": group[members], "weight": weight[members]}
    result.connection.register("group_of_unit", columns)
    result.rows("CREATE OR REPLACE TEMP TABLE grouped AS SELECT * FROM group_of_unit")
    width = end_us / n_intervals
    found = result.columns(_EVENTS.format(measure=measure), {"width": width, "n": n_intervals})
    rest, opened = np.zeros((n_groups, n_intervals)), np.zeros((n_groups, n_intervals))
    rest[found["number"], found["k"]] = found["rest"]
    opened[found["number"], found["k"]] = found["opened"]
    busy = rest + width * (np.cumsum(opened, axis=1) - opened)
    sizes = np.bincount(group[members], weight[members], minlength=n_groups)
    return np.maximum(0.0, busy / (width * np.where(sizes > 0, sizes, 1.0)[:, None]))
