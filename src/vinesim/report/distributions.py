"""Distributions of times, binned and ranked by the database."""

import math
from collections.abc import Mapping, Sequence
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


_Group = tuple[ResultTables, int | None, str]  # the run, the code of the task type (None: all), the group's name


def distributions(result: ResultTables) -> dict[str, Any]:
    """Return histograms (linear and logarithmic) and quantiles, for all rows and by task type; times in us."""
    types = result.task_types
    groups: list[tuple[int | None, str]] = [(None, "all")]
    if 1 < len(types) <= MAX_GROUPS:
        groups += types.items()
    return _distributions([(result, code, name) for code, name in groups])


def distributions_of_runs(results: Mapping[str, ResultTables]) -> dict[str, Any]:
    """Return the same for several runs by name, in equal bins; the groups are the runs."""
    return _distributions([(result, None, name) for name, result in results.items()]) | {"of_runs": True}


def _distributions(groups: Sequence[_Group]) -> dict[str, Any]:
    found = [_distribution(times, groups) for times in TIMES.values()]
    return {"probabilities": rounded(PROBABILITIES, 8), "measures": [item for item in found if item is not None]}


def _distribution(times: Times, groups: Sequence[_Group]) -> dict[str, Any] | None:
    """Return one measure; None if a run has no row with a value."""
    ends = []
    for result in dict.fromkeys(result for result, _, _ in groups):
        result.rows(f"CREATE OR REPLACE TEMP VIEW measured AS {times.query}")
        ends += result.rows(_ENDS)
    if any(low is None for low, _, _ in ends):
        return None
    low, high = min(low for low, _, _ in ends), max(high for _, high, _ in ends)
    least = min((least for _, _, least in ends if least), default=None)
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
            for result, code, name in groups
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
