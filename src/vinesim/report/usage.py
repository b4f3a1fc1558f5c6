"""Utilisation over time by processor type, allocated and active: as sampled, or computed from the tasks."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vinesim.formats.results.tables import ResultTables
from vinesim.metrics.activity import Activity, Measure
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


def usage(result: ResultTables, run: Activity, types: list[str], type_of_unit: np.ndarray) -> dict[str, Any]:
    """Return the edges of at most MAX_INTERVALS intervals, us, and the allocated share in each, of all units and by
    type; if it can differ, also the active share.

    Args:
        result: The tables of the run.
        run: The activity of the same run.
        types: The names of the processor types in use.
        type_of_unit: [U] index into ``types``.
    """
    return (
        _sampled(result, types, run.measures) if "utilization" in result.names else usage_of(run, types, type_of_unit)
    )


def usage_of(
    run: Activity, types: list[str], type_of_unit: np.ndarray, n_intervals: int = MAX_INTERVALS
) -> dict[str, Any]:
    """Return what :func:`usage` does, computed from the tasks in ``n_intervals`` equal intervals."""
    edges = np.linspace(0.0, run.end_us, n_intervals + 1)
    of_type: dict[Measure, np.ndarray] = {}
    for measure in run.measures:
        shares = run.shares(measure, type_of_unit, len(types), n_intervals)
        weight = np.bincount(type_of_unit, run.weight(measure) * run.runs_tasks, minlength=len(types))
        every = np.average(shares, axis=0, weights=weight)
        of_type[measure] = np.concatenate([every[np.newaxis], shares])
    return _page(edges, ["all", *types], of_type, is_sampled=False)


def _sampled(result: ResultTables, types: list[str], measures: tuple[Measure, ...]) -> dict[str, Any]:
    samples = result.rows("SELECT count(*) FROM utilization WHERE \"group\" = 'all'")[0][0]
    found = result.columns(_SAMPLES, {"stride": max(1, -(-samples // MAX_INTERVALS))})
    every = found["name"] == "all"
    edges = np.r_[found["begin_us"][every], found["end_us"][every][-1:]]
    names = ["all", *types]
    of_type = {m: np.array([found[m][found["name"] == name] for name in names]) for m in measures}
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
