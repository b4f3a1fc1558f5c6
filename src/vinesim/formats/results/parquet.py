"""Result tables as Parquet files through DuckDB: zstd, one file per table, directly from the NumPy columns."""

import glob
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from vinesim.formats.source.database import connected, name_of, text_of


def write_table(
    path: str | Path,
    columns: Mapping[str, np.ndarray],
    threads: int | None = None,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write columns of equal length as one Parquet file. NaN, and None in a column of objects, become NULL.

    ``threads`` limits the threads that DuckDB uses; None means all. ``metadata`` holds named texts for the file's
    footer. Raises OSError if the file cannot be written.
    """
    import duckdb

    fields = []
    for name, values in columns.items():
        quoted = name_of(name)
        plain = f"CASE WHEN isnan({quoted}) THEN NULL ELSE {quoted} END AS {quoted}"
        is_nothing = values.dtype.kind == "O" and all(value is None for value in values)
        text = f"CAST({quoted} AS VARCHAR) AS {quoted}"  # else DuckDB makes a column of NULLs an integer column
        fields.append(plain if values.dtype.kind == "f" else text if is_nothing else quoted)
    options = "FORMAT parquet, COMPRESSION zstd"
    if metadata:
        options += f", KV_METADATA {{{', '.join(f'{name}: {text_of(text)}' for name, text in metadata.items())}}}"
    connection = connected(threads)
    try:
        table = {name: np.ascontiguousarray(values) for name, values in columns.items()}
        connection.register("columns", table)
        connection.execute(
            f"COPY (SELECT {', '.join(fields)} FROM columns) TO {text_of(str(path))} ({options})"  # noqa: S608
        )
    except (duckdb.IOException, duckdb.Error) as wrong:
        raise OSError(f"{path}: {str(wrong).splitlines()[0]}") from wrong
    finally:
        connection.close()


def read_metadata(paths: Sequence[str | Path], name: str) -> dict[str, str]:
    """Return the metadata text of that name, by path, of each file that has it."""
    if not paths:
        return {}
    query = "SELECT file_name, decode(value) FROM parquet_kv_metadata(?) WHERE decode(key) = ?"
    with connected() as connection:
        return dict(connection.execute(query, [plain_names(paths), name]).fetchall())


def plain_names(paths: Iterable[str | Path]) -> list[str]:
    """Return file names for a query, with ``[``, ``*`` and ``?`` escaped."""
    return [glob.escape(str(path)) for path in paths]


def read_table(path: str | Path) -> dict[str, np.ndarray]:
    """Return the columns of a Parquet file; NULL in a float column becomes NaN."""
    with connected() as connection:
        found = connection.execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchnumpy()
    return {
        name: np.ma.filled(values, np.nan) if values.dtype.kind == "f" else np.ma.getdata(values)
        for name, values in found.items()
    }
