"""Utilisation over time by processor type, allocated and active: as sampled, or computed from the tasks."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vinesim.formats.results.tables import ResultTables
from vinesim.metrics.activity import Measure, shares_over_time, weights_of
from vinesim.report.rounding import rounded

MAX_INTERVALS = 500

# Neighbouring samples are merged, each weighted by its length.
_SAMPLES = """
WITH numbered AS (
    SELECT *, row_number() OVER (PARTITION BY "group" ORDER BY t_start_us) - 1 AS i FROM utilization
)
SELECT "group" AS name, i // $stride AS k, min(t_start_us) AS begin_us, max(t_end_us) AS end_us,
    sum(utilization * (t_end_us - t_start_us)) / sum(t_end_us - t_start_us) AS allocated,
    sum(active * (t_end_us - t_start_us)) / sum(t_end_us - t_start_us) AS active
FROM numbered GROUP BY "group", i // $stride ORDER BY k
"""


def usage(result: ResultTables, types: list[str], type_of_unit: np.ndarray) -> dict[str, Any]:
    """Return the edges of at most MAX_INTERVALS intervals, us, and what was allocated in each, of all units and of each
    type; if it can differ, also the share of the time during which they were active.

    Args:
        result: must have been passed to :func:`~vinesim.metrics.activity.find_stretches`.
        types: the names of the processor types in use.
        type_of_unit: [U] index into ``types``.
    """
    if "utilization" in result.names:
        return _sampled(result, types)
    edges = np.linspace(0.0, float(result.summary["makespan_us"]), MAX_INTERVALS + 1)
    of_type: dict[Measure, np.ndarray] = {}
    for measure in _measures(result):
        shares = shares_over_time(result, measure, type_of_unit, len(types), MAX_INTERVALS)
        weight = np.bincount(type_of_unit, weights_of(result, measure) * result.runs_tasks, minlength=len(types))
        every = np.average(shares, axis=0, weights=weight)
        of_type[measure] = np.concatenate([every[np.newaxis], shares])
    return _page(edges, ["all", *types], of_type, is_sampled=False)


def _measures(result: ResultTables) -> tuple[Measure, ...]:
    return ("allocated", "active") if result.is_shared else ("allocated",)


def _sampled(result: ResultTables, types: list[str]) -> dict[str, Any]:
    samples = result.rows("SELECT count(*) FROM utilization WHERE \"group\" = 'all'")[0][0]
    found = result.columns(_SAMPLES, {"stride": max(1, -(-samples // MAX_INTERVALS))})
    every = found["name"] == "all"
    edges = np.r_[found["begin_us"][every], found["end_us"][every][-1:]]
    names = ["all", *types]
    of_type = {m: np.array([found[m][found["name"] == name] for name in names]) for m in _measures(result)}
    return _page(edges, names, of_type, is_sampled=True)


def _page(
    edges: np.ndarray, names: list[str], of_type: Mapping[Measure, np.ndarray], is_sampled: bool
) -> dict[str, Any]:
    return {
        "edges_us": rounded(edges, 7),
        "groups": [
            {"name": name, **{measure: rounded(shares[i], 4) for measure, shares in of_type.items()}}
            for i, name in enumerate(names)
        ],
        "is_sampled": is_sampled,
    }
