"""Utilisation over time by processor type: as sampled, or from the tasks."""

from typing import Any

import numpy as np

from vinesim.formats.result_tables import ResultTables
from vinesim.report.activity import busy_share
from vinesim.report.rounding import rounded

MAX_INTERVALS = 500

# Neighbouring samples together, each with the weight of its length.
_SAMPLES = """
WITH numbered AS (
    SELECT *, row_number() OVER (PARTITION BY "group" ORDER BY t_start_us) - 1 AS i FROM utilization
)
SELECT "group" AS name, i // $stride AS k, min(t_start_us) AS begin_us, max(t_end_us) AS end_us,
    sum(utilization * (t_end_us - t_start_us)) / sum(t_end_us - t_start_us) AS share
FROM numbered GROUP BY "group", i // $stride ORDER BY k
"""


def usage(result: ResultTables, types: list[str], type_of_unit: np.ndarray) -> dict[str, Any]:
    """Edges of at most MAX_INTERVALS intervals, us, and the utilisation of all units and of each type in them.

    Args:
        result: where :func:`~vinesim.report.activity.find_stretches` was called.
        types: the names of the processor types in use.
        type_of_unit: [U] index into ``types``.
    """
    if "utilization" in result.names:
        return _sampled(result, types)
    share = busy_share(result, type_of_unit, len(types), MAX_INTERVALS)
    every = np.average(share, axis=0, weights=np.bincount(type_of_unit, minlength=len(types)))
    edges = np.linspace(0.0, float(result.summary["makespan_us"]), MAX_INTERVALS + 1)
    return _page(edges, {"all": every, **dict(zip(types, share, strict=True))}, is_sampled=False)


def _sampled(result: ResultTables, types: list[str]) -> dict[str, Any]:
    samples = result.rows("SELECT count(*) FROM utilization WHERE \"group\" = 'all'")[0][0]
    found = result.columns(_SAMPLES, {"stride": max(1, -(-samples // MAX_INTERVALS))})
    every = found["name"] == "all"
    edges = np.r_[found["begin_us"][every], found["end_us"][every][-1:]]
    return _page(edges, {name: found["share"][found["name"] == name] for name in ["all", *types]}, is_sampled=True)


def _page(edges: np.ndarray, shares: dict[str, np.ndarray], is_sampled: bool) -> dict[str, Any]:
    return {
        "edges_us": rounded(edges, 7),
        "groups": [{"name": name, "share": rounded(share, 4)} for name, share in shares.items()],
        "is_sampled": is_sampled,
    }
