"""Result tables as Parquet files, through DuckDB: zstd, one file a table, straight from the NumPy columns."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np


def write_table(path: str | Path, columns: Mapping[str, np.ndarray]) -> None:
    """Write columns of equal length as one Parquet file; NaN is written as NULL.

    Raises OSError where the file cannot be written.
    """
    import duckdb

    fields = []
    for name, values in columns.items():
        plain = f'CASE WHEN isnan("{name}") THEN NULL ELSE "{name}" END AS "{name}"'
        fields.append(plain if values.dtype.kind == "f" else f'"{name}"')
    target = str(path).replace("'", "''")
    connection = duckdb.connect()
    try:
        table = {name: np.ascontiguousarray(values) for name, values in columns.items()}
        connection.register("columns", table)
        connection.execute(
            f"COPY (SELECT {', '.join(fields)} FROM columns) TO '{target}' (FORMAT parquet, COMPRESSION zstd)"  # noqa: S608
        )
    except (duckdb.IOException, duckdb.Error) as wrong:
        raise OSError(f"{path}: {str(wrong).splitlines()[0]}") from wrong
    finally:
        connection.close()


def read_table(path: str | Path) -> dict[str, np.ndarray]:
    """The columns of a Parquet file; NULL in a float column is NaN."""
    import duckdb

    with duckdb.connect() as connection:
        found = connection.execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchnumpy()
    return {
        name: np.ma.filled(values, np.nan) if values.dtype.kind == "f" else np.ma.getdata(values)
        for name, values in found.items()
    }
