"""Distributions of times as histograms and quantiles."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from vinesim.formats.results.tables import ResultTables
from vinesim.metrics.run_columns import ColumnsInMemory, RunColumns, StoredColumns
from vinesim.metrics.tables import Tables
from vinesim.metrics.times import Times, times_with
from vinesim.model.arrays import distinct
from vinesim.model.titles import number_title
from vinesim.report.rounding import rounded

N_BINS = 60
MAX_GROUPS = 8
PROBABILITIES = [*(i / 100 for i in range(100)), *(1 - 10 ** (-i / 5) for i in range(11, 31)), 1.0]


class _Measured:
    """The values of one time in a run, with the task type of each. The code None stands for all types."""

    def __init__(self, times: Times, run: RunColumns):
        values, (task_type,) = times.values(run), run.of(times.table, "task_type")
        known = np.isfinite(values)
        self._values = values if known.all() else values[known]
        self._type = task_type if known.all() else task_type[known]

    def _of(self, code: int | None) -> np.ndarray:
        return self._values if code is None else self._values[self._type == code]

    def ends(self) -> tuple[float | None, float | None, float | None]:
        """Return the smallest value, the largest, and the smallest above 0; None where there is none."""
        if not len(self._values):
            return None, None, None
        low, high = float(self._values.min()), float(self._values.max())
        if low > 0:
            return low, high, low
        return low, high, float(self._values[self._values > 0].min()) if high > 0 else None

    def bins(self, code: int | None, low: float, width: float, least: float | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the indices of bins that hold values, and how many values each holds.

        With ``least``, the bins are of logarithms, and smaller values count as ``least``.
        """
        values = self._of(code)
        place = values if least is None else np.log(np.maximum(values, least))
        counts = np.bincount(np.clip(np.floor((place - low) / width).astype(np.int64), 0, N_BINS - 1))
        return np.flatnonzero(counts), counts[counts > 0]

    def quantiles(self, code: int | None) -> list[float]:
        """Return the quantiles at PROBABILITIES; empty without values."""
        ordered = np.sort(self._of(code))
        n = len(ordered)  # a rank that is whole except for rounding is that rank
        return [float(ordered[max(0, math.ceil(n * p - 1e-9 * n) - 1)]) for p in PROBABILITIES] if n else []


_Group = tuple[_Measured, int | None, str]  # the code of the task type, None: all; the name


def distributions(result: ResultTables) -> dict[str, Any]:
    """Return histograms (linear and logarithmic) and quantiles of a stored run, overall and by task type; in us."""
    types = result.task_types
    found = times_with(result.has("tasks", "first_token_us")).values()
    run = StoredColumns(result)
    return _page(_distribution(times, _by_type(_Measured(times, run), types)) for times in found)


def distributions_of(tables: Tables) -> dict[str, Any]:
    """Return the histograms and quantiles of a run in memory, as ``distributions`` does for a stored one."""
    work = tables.scenario.workload
    types = {int(code): work.task_types[code].name for code in distinct(work.job_task_type)}
    found = times_with(tables.outcome.serving is not None).values()
    run = ColumnsInMemory(tables)
    return _page(_distribution(times, _by_type(_Measured(times, run), types)) for times in found)


def distributions_of_runs(results: Mapping[str, ResultTables]) -> dict[str, Any]:
    """Return histograms and quantiles of several stored runs by name, in the same bins; each run is a group."""
    common = times_with(all(run.has("tasks", "first_token_us") for run in results.values())).values()
    runs = {name: StoredColumns(run) for name, run in results.items()}
    found = (_distribution(t, [(_Measured(t, run), None, name) for name, run in runs.items()]) for t in common)
    return _page(found) | {"of_runs": True}


def _page(found: Iterable[dict[str, Any] | None]) -> dict[str, Any]:
    measures = [item for item in found if item is not None]
    return {"probabilities": rounded(PROBABILITIES, 8), "measures": measures}


def _by_type(measured: _Measured, types: Mapping[int, str]) -> list[_Group]:
    of_types = types.items() if 1 < len(types) <= MAX_GROUPS else ()
    return [(measured, None, "all"), *((measured, code, name) for code, name in of_types)]


def _distribution(times: Times, groups: Sequence[_Group]) -> dict[str, Any] | None:
    """Return the histograms and quantiles of one time; None if a run has no values."""
    ends = [measured.ends() for measured in dict.fromkeys(measured for measured, _, _ in groups)]
    lows, highs = [low for low, _, _ in ends if low is not None], [high for _, high, _ in ends if high is not None]
    if len(lows) < len(ends) or len(highs) < len(ends):
        return None
    low, high = min(lows), max(highs)
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
                "linear": _counts(measured, code, linear),
                "log": log and _counts(measured, code, [math.log(bound) for bound in log], least),
                "quantiles": rounded(measured.quantiles(code)),
            }
            for measured, code, name in groups
        ],
    }


def _bounds(low: float, high: float) -> list[float]:
    """Return the bounds of the bins; a single value gets some room on each side."""
    if high - low > 1e-9 * abs(high):
        return [low, high]
    return [0.95 * low, 1.05 * high] if high > 0 else [0.0, 1.0]


def _counts(measured: _Measured, code: int | None, bounds: list[float], least: float | None = None) -> list[int]:
    """Count the values in N_BINS equal bins, or with ``least`` their logarithms; the last bin includes its end."""
    bins, n = measured.bins(code, bounds[0], (bounds[1] - bounds[0]) / N_BINS, least)
    counts = np.zeros(N_BINS, np.int64)
    counts[bins] = n
    return counts.tolist()
