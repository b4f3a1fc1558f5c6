"""Distributions of times, binned and ranked by the database."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from vinesim.formats.results.tables import ResultTables
from vinesim.metrics.times import TIMES, Times
from vinesim.model.titles import number_title
from vinesim.report.rounding import rounded

N_BINS = 60
MAX_GROUPS = 8
PROBABILITIES = [*(i / 100 for i in range(100)), *(1 - 10 ** (-i / 5) for i in range(11, 31)), 1.0]
_ENDS = "SELECT min(x), max(x), min(x) FILTER (x > 0) FROM measured"
_COUNTS = """
WITH placed AS (
    SELECT CASE WHEN $is_log THEN ln(greatest(x, $least)) ELSE x END AS place FROM measured
    WHERE x IS NOT NULL AND ($code IS NULL OR task_type = $code)
)
SELECT greatest(0, least(floor((place - $low) / $width)::BIGINT, $n - 1)) AS bin, count(*) AS n
FROM placed GROUP BY bin
"""
_QUANTILES = "SELECT quantile_disc(x, $probabilities) FROM measured WHERE $code IS NULL OR task_type = $code"


def distributions(result: ResultTables) -> dict[str, Any]:
    """Return histograms (linear and logarithmic) and quantiles, for all rows and by task type; times in us."""
    types = result.task_types
    groups: list[tuple[int | None, str]] = [(None, "all")]
    if 1 < len(types) <= MAX_GROUPS:
        groups += types.items()
    found = [_distribution(result, times, groups) for times in TIMES.values()]
    return {"probabilities": rounded(PROBABILITIES, 8), "measures": [item for item in found if item is not None]}


def _distribution(
    result: ResultTables, times: Times, groups: Sequence[tuple[int | None, str]]
) -> dict[str, Any] | None:
    """Return one measure; None if no row has a value."""
    result.rows(f"CREATE OR REPLACE TEMP VIEW measured AS {times.query}")
    low, high, least = result.rows(_ENDS)[0]
    if low is None:
        return None
    linear = _bounds(low, high)
    log = _bounds(least, high) if least else None
    return {
        "title": number_title(times.name).words.capitalize(),
        "of": times.of,
        "meaning": times.meaning,
        "linear": linear,
        "log": log,
        "groups": [
            {
                "name": name,
                "linear": _counts(result, code, linear),
                "log": log and _counts(result, code, [math.log(bound) for bound in log], least),
                "quantiles": rounded(
                    result.rows(_QUANTILES, {"probabilities": PROBABILITIES, "code": code})[0][0] or []
                ),
            }
            for code, name in groups
        ],
    }


def _bounds(low: float, high: float) -> list[float]:
    """Return the ends of the bins; a single value gets a little room on each side."""
    if high - low > 1e-9 * abs(high):
        return [low, high]
    return [0.95 * low, 1.05 * high] if high > 0 else [0.0, 1.0]


def _counts(result: ResultTables, code: int | None, bounds: list[float], least: float | None = None) -> list[int]:
    """Count the rows in N_BINS equal bins, of their logarithms if ``least`` is given; the last bin includes its end."""
    low, width = bounds[0], (bounds[1] - bounds[0]) / N_BINS
    values = {"low": low, "width": width, "n": N_BINS, "code": code, "is_log": least is not None, "least": least or 1.0}
    found = result.columns(_COUNTS, values)
    counts = np.zeros(N_BINS, np.int64)
    counts[found["bin"]] = found["n"]
    return counts.tolist()
