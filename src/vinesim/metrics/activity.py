"""The allocated and active share of groups of units per interval, for a stored run or a run in memory.

A unit is active from when a task gets it until the task finishes; overlapping tasks count once. The allocated part of a
unit is the sum of the shares of its capacity that tasks hold; it exceeds 1 if the unit is over-committed. Source:
VineSim report, section 5.4.1 (interval_active).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from vinesim.formats.results.tables import ResultTables
from vinesim.metrics.run_columns import StoredColumns
from vinesim.metrics.segments import Segments, Stretches
from vinesim.metrics.tables import Tables
from vinesim.metrics.utilization import busy_intervals, loads, shares_by_group

Measure = Literal["allocated", "active"]
Shares = Callable[[Measure, np.ndarray, int, int], np.ndarray]
_UNITS = "SELECT unit_type, rack, shelf, capacity, utilization, active FROM units ORDER BY unit"


@dataclass(frozen=True)
class Activity:
    """The unit columns and shares from which the pictures of a run's units are drawn."""

    units: Mapping[str, np.ndarray]  # [U] unit_type, rack, shelf, capacity, utilization and active
    runs_tasks: np.ndarray  # [U]; only such units count in overall figures
    is_shared: bool  # allocated and active can differ
    end_us: float
    shares: Shares  # of a measure, [U] the group of each unit, groups, intervals: as shares_by_group returns them

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures that can differ."""
        return ("allocated", "active") if self.is_shared else ("allocated",)

    def weight(self, measure: Measure) -> np.ndarray:
        """Return [U] the weight of each unit in a mean: its capacity for allocated shares, 1 for active ones. share."""
        capacity = self.units["capacity"]
        return capacity if measure == "allocated" else np.ones(len(capacity))


def stored_activity(result: ResultTables) -> Activity:
    """Return the activity of a stored run. The first request for shares loads the segments into memory."""
    units, end_us = result.columns(_UNITS), float(result.summary["makespan_us"])
    return _activity(units, result.runs_tasks, result.is_shared, end_us, StoredColumns(result).segments)


def activity_of(tables: Tables) -> Activity:
    """Return the activity of a run in memory."""
    names = ("unit_type", "rack", "shelf", "capacity")
    units = {name: getattr(tables, name) for name in names}
    units |= {"utilization": tables.unit_utilization, "active": tables.unit_active}
    is_shared = tables.outcome.shares_units or len(np.unique(tables.capacity)) > 1
    return _activity(units, tables.runs_tasks, is_shared, float(tables.makespan_us), lambda: tables.segments)


def _activity(
    units: Mapping[str, np.ndarray],
    runs_tasks: np.ndarray,
    is_shared: bool,
    end_us: float,
    segments: Callable[[], Segments],
) -> Activity:
    known: dict[Measure, Stretches] = {}

    def shares(measure: Measure, group: np.ndarray, n_groups: int, n_intervals: int) -> np.ndarray:
        if not known:
            own = segments()
            known["allocated"] = loads(own)
            known["active"] = _stretches(own) if is_shared else known["allocated"]
        weight = activity.weight(measure)
        return shares_by_group(known[measure], group, n_groups, weight, end_us, n_intervals)

    activity = Activity(units, runs_tasks, is_shared, end_us, shares)
    return activity


def _stretches(segments: Segments) -> Stretches:
    unit, begin, end = busy_intervals(segments)
    return unit, begin, end, np.ones(len(unit))
