"""The data for the claims and figures of an item: the rows of its sweeps and the results of its single runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from vinesim.formats.results.table import Table


@dataclass(frozen=True)
class Curve:
    """A number along an axis: mean of the replications and its 95 % confidence interval (NaN for one); all [n]."""

    x: np.ndarray
    low: np.ndarray
    mean: np.ndarray
    high: np.ndarray


class Data:
    """Rows of sweeps by study name, and results of single runs by name, which run when first requested."""

    def __init__(self, tables: Mapping[str, Table], runs: Mapping[str, Callable[[], Any]] | None = None):
        self._tables = dict(tables)
        self._runs = {name: cache(run) for name, run in (runs or {}).items()}

    def table(self, study: str = "main") -> Table:
        """Return all rows of a study's sweep, in run order."""
        return self._tables[study]

    def result(self, name: str) -> Any:
        """Return the result of the item's single run of that name."""
        return self._runs[name]()

    def values(self, study: str, column: str, /, **where: Any) -> np.ndarray:
        """Return the values of a column in the rows that match ``where``; there must be at least one."""
        rows = self.rows(study, **where)
        if not rows.any():
            raise KeyError(f"no row of {study} has {where}")
        return self.table(study)[column][rows]

    def mean(self, study: str, column: str, /, **where: Any) -> float:
        """Return the mean of :meth:`values`: over the replications, if ``where`` names a point."""
        return float(np.mean(self.values(study, column, **where)))

    def rows(self, study: str, /, **where: Any) -> np.ndarray:
        """Return which rows match, [rows] bool; numbers are compared up to rounding."""
        table = self.table(study)
        chosen = np.ones(table.n_rows, bool)
        for column, value in where.items():
            found = table[column]
            is_number = isinstance(value, int | float) and np.issubdtype(found.dtype, np.number)
            chosen &= np.isclose(found, value, rtol=1e-9, atol=0) if is_number else found == value
        return chosen

    def labels(self, study: str, column: str) -> list[Any]:
        """Return the distinct values of a column, in the order of the rows."""
        return list(dict.fromkeys(self.table(study)[column].tolist()))

    def curve(self, study: str, column: str, /, along: str, **where: Any) -> Curve:
        """Return ``column`` along the axis ``along`` in the rows that match ``where``, averaged over replications."""
        from vinesim.studies.statistics import mean_interval

        x = np.unique(self.values(study, along, **where))
        found = [mean_interval(self.values(study, column, **{along: at}, **where)) for at in x.tolist()]
        low, mean, high = (np.array([getattr(f, part) for f in found]) for part in ("low", "estimate", "high"))
        return Curve(x, low, mean, high)
