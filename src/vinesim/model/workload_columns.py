"""How a column of a workload is declared: once, at its field in ``Workload``.

Its conversion and check, its column of a table (CSV and Parquet, read and written) with the names that other logs have
for it, its part of the content id, how it follows jobs that are chosen, and its row of the reference page all follow.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vinesim.model.digest import IF_GIVEN

SHOWN = 5  # problems of a column


@dataclass(frozen=True)
class Values:
    """The numbers that a column may have."""

    expected: str  # the same in words, for errors
    least: float = 0.0
    is_above: bool = False  # more than the least, not the least itself
    may_be_infinite: bool = False
    may_be_nan: bool = False

    def wrong(self, values: np.ndarray) -> np.ndarray:
        """Return the first places with wrong values."""
        is_right = values > self.least if self.is_above else values >= self.least
        if not self.may_be_infinite:
            is_right &= np.isfinite(values)
        if self.may_be_nan:
            is_right |= np.isnan(values)
        return np.flatnonzero(~is_right)[:SHOWN]


NOT_NEGATIVE = Values("a finite number, 0 or more")
ANY_NUMBER = Values("a finite number", least=-math.inf)
COUNT = Values("1 or more", least=1)
NOT_NEGATIVE_OR_INFINITE = Values("a finite number, 0 or more", may_be_infinite=True)
TIME = Values("a finite time, 0 or more")
ABOVE_0_OR_NONE = Values("a time above 0, or infinite for none", is_above=True, may_be_infinite=True)
ABOVE_0_OR_ANY = Values("a time above 0, or infinite for any", is_above=True, may_be_infinite=True)


@dataclass(frozen=True)
class Column:
    """A column of a workload: its array, and its column of a table."""

    dtype: type[np.generic]
    of: str  # what it has a value for: "jobs", "jobs + 1" (where each begins, and the end), "tasks"; "" for neither
    meaning: str  # with its unit, and in a table what an empty cell means
    right: Values | None = None  # None: checked with other columns
    cell: Values | None = None  # in a table, if not the same
    table: str | None = ""  # its name in a table: "" for the same; None if a table has no such column
    is_name: bool = False  # a table has names in place of codes
    names: str = ""  # the field with the names, if they are the workload's
    words: tuple[str, ...] = ()  # the only names that a table may have
    absent: str = ""  # the cell that each row of a table without the column has
    empty: float | None = None  # what an empty cell means in a table with others; None: it means no value
    infinity: str = ""  # the word for infinity in a table
    is_point: bool = False  # a point in time, which moves with the arrival of its job
    aliases: str = ""  # what other logs call it, in small letters
    group: str = ""  # columns that are read and written together

    @property
    def kind(self) -> str:
        """The SQL type of its column of a table."""
        numbers = {np.float64: "DOUBLE", np.int64: "BIGINT", np.int32: "INTEGER"}
        return "VARCHAR" if self.is_name else numbers[self.dtype]


def column(
    dtype: type[np.generic], of: str, meaning: str, always_counts: bool = False, **about: Any
) -> Mapping[str, Any]:
    """Return what a field of a dataclass says about its column; ``about`` is the rest of :class:`Column`.

    ``always_counts``: the content id also says that it is not given, as for columns of the first version.
    """
    return {"column": Column(dtype, of, meaning, **about), **({} if always_counts else IF_GIVEN)}
