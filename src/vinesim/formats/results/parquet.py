"""Result tables as Parquet files, through DuckDB: zstd, one file a table, straight from the NumPy columns."""

import glob
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np


@cache
def _database(threads: int | None) -> Any:
    """An empty database in memory; to open one costs more (15 ms) than to write a small file (5 ms)."""
    import duckdb

    return duckdb.connect(config={} if threads is None else {"threads": threads})


def connected(threads: int | None = None) -> Any:
    """A connection to DuckDB for one thread, to be closed, or used as a context."""
    return _database(threads).cursor()


def write_table(
    path: str | Path,
    columns: Mapping[str, np.ndarray],
    threads: int | None = None,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write columns of equal length as one Parquet file; NaN, and None in a column of objects, is written as NULL.

    ``threads`` is how many DuckDB uses; None: all. ``metadata`` are texts by name, kept in the file's footer.
    Raises OSError where the file cannot be written.
    """
    import duckdb

    fields = []
    for name, values in columns.items():
        quoted = '"' + name.replace('"', '""') + '"'
        plain = f"CASE WHEN isnan({quoted}) THEN NULL ELSE {quoted} END AS {quoted}"
        is_nothing = values.dtype.kind == "O" and all(value is None for value in values)
        text = f"CAST({quoted} AS VARCHAR) AS {quoted}"  # or DuckDB takes nothing for integers
        fields.append(plain if values.dtype.kind == "f" else text if is_nothing else quoted)
    options = "FORMAT parquet, COMPRESSION zstd"
    if metadata:
        options += f", KV_METADATA {{{', '.join(f'{name}: {_text(text)}' for name, text in metadata.items())}}}"
    connection = connected(threads)
    try:
        table = {name: np.ascontiguousarray(values) for name, values in columns.items()}
        connection.register("columns", table)
        connection.execute(
            f"COPY (SELECT {', '.join(fields)} FROM columns) TO {_text(str(path))} ({options})"  # noqa: S608
        )
    except (duckdb.IOException, duckdb.Error) as wrong:
        raise OSError(f"{path}: {str(wrong).splitlines()[0]}") from wrong
    finally:
        connection.close()


def read_metadata(paths: Sequence[str | Path], name: str) -> dict[str, str]:
    """The text of that name in the footers of these files, by path, where there is one."""
    if not paths:
        return {}
    query = "SELECT file_name, decode(value) FROM parquet_kv_metadata(?) WHERE decode(key) = ?"
    with connected() as connection:
        return dict(connection.execute(query, [plain_names(paths), name]).fetchall())


def plain_names(paths: Iterable[str | Path]) -> list[str]:
    """The names of files for a query, in which ``[``, ``*`` and ``?`` stand for themselves."""
    return [glob.escape(str(path)) for path in paths]


def _text(value: str) -> str:
    """A text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


def read_table(path: str | Path) -> dict[str, np.ndarray]:
    """The columns of a Parquet file; NULL in a float column is NaN."""
    with connected() as connection:
        found = connection.execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchnumpy()
    return {
        name: np.ma.filled(values, np.nan) if values.dtype.kind == "f" else np.ma.getdata(values)
        for name, values in found.items()
    }
