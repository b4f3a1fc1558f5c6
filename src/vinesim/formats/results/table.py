"""Tables of results: columns of equal length, with exports to Parquet, Arrow and data frames."""

from collections.abc import Iterator, Mapping
from textwrap import shorten
from typing import Any

import numpy as np

from vinesim.formats.results.notebook import table_html
from vinesim.formats.results.parquet import arrow_stream, write_table


class Table(Mapping[str, np.ndarray]):
    """Columns of equal length by name, as NumPy arrays without a copy."""

    def __init__(self, columns: Mapping[str, np.ndarray]):
        self._columns = dict(columns)

    def __getitem__(self, name: str) -> np.ndarray:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self._columns.values())))

    def __repr__(self) -> str:
        return f"Table({self.n_rows} rows: {shorten(', '.join(self._columns), 80, placeholder=' ...')})"

    def _repr_html_(self) -> str:
        return table_html(self._columns, self.n_rows)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return the table as an Arrow stream for pandas, Polars, PyArrow or DuckDB; missing values are NULL.

        This is Arrow's PyCapsule interface.
        """
        return arrow_stream(self._columns, requested_schema)

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame (pandas must be installed)."""
        import pandas

        return pandas.DataFrame(self._columns)

    def to_polars(self) -> Any:
        """Return a Polars DataFrame (Polars must be installed); missing values are null."""
        import polars

        return polars.DataFrame(_Stream(self))

    def to_parquet(self, path: Any) -> None:
        """Write the table as one Parquet file."""
        write_table(path, self._columns)


class _Stream:
    """A wrapper that shows only a table's Arrow stream: Polars would read a mapping column by column, with NaN."""

    def __init__(self, table: Table):
        self.__arrow_c_stream__ = table.__arrow_c_stream__
