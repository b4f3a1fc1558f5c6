"""Result tables as Parquet files through DuckDB: zstd, one file per table, directly from the NumPy columns."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.formats.source.database import QueryError, connected, file_of, name_of, pattern_of, reading, text_of
from vinesim.model.errors import InputError, Problem


def write_table(
    path: str | Path,
    columns: Mapping[str, np.ndarray],
    threads: int | None = None,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write columns of equal length as one Parquet file. NaN, and None in a column of objects, become NULL.

    ``threads`` limits the threads that DuckDB uses; None means all. ``metadata`` holds named texts for the file's
    footer. Raises OSError if the file cannot be written, and :class:`InputError` for names that differ only in case.
    """
    options = "FORMAT parquet, COMPRESSION zstd"
    if metadata:
        options += f", KV_METADATA {{{', '.join(f'{name}: {text_of(text)}' for name, text in metadata.items())}}}"
    target = text_of(file_of(path))
    try:
        with connected(threads) as connection:
            connection.register("columns", _whole(columns))
            connection.execute(f"COPY ({_query_of(columns)}) TO {target} ({options})")
    except QueryError as wrong:
        raise OSError(f"{path}: {wrong.reason}") from wrong
    except OSError as wrong:
        raise OSError(wrong.errno, wrong.strerror, os.fspath(path)) from wrong


def arrow_stream(columns: Mapping[str, np.ndarray], requested_schema: Any = None) -> Any:
    """Return columns of equal length as an Arrow stream in a PyCapsule, with NULL for what is missing.

    Raises :class:`InputError` for names that differ only in case.
    """
    connection = connected()  # not closed here, because the stream reads from it later
    connection.register("columns", _whole(columns))
    return connection.arrow_stream(_query_of(columns), requested_schema)


def _whole(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the columns as DuckDB takes them. Raises :class:`InputError` for names that it takes as one."""
    known: dict[str, str] = {}
    for name in columns:
        if (other := known.setdefault(name.lower(), name)) != name:
            expected = "columns whose names differ in more than case"
            raise InputError([Problem("the table", expected, f"{other} and {name}", "Rename one.")])
    return {name: np.ascontiguousarray(values) for name, values in columns.items()}


def _query_of(columns: Mapping[str, np.ndarray]) -> str:
    """Return the query of all columns. DuckDB itself treats NaN in an array as NULL; a query for that took as long as
    everything else, because a sweep has 200 columns."""
    fields = []
    for name, values in columns.items():
        quoted = name_of(name)
        is_nothing = values.dtype.kind == "O" and all(value is None for value in values)
        text = f"CAST({quoted} AS VARCHAR) AS {quoted}"  # otherwise DuckDB makes a column of NULLs an integer column
        fields.append(text if is_nothing else quoted)
    return f"SELECT {', '.join(fields)} FROM columns"  # noqa: S608


def read_metadata(paths: Sequence[Path], name: str) -> dict[Path, str]:
    """Return the metadata text with this name of each file that has one, by path. Raises :class:`InputError`."""
    if not paths:
        return {}
    query = "SELECT file_name, decode(value) FROM parquet_kv_metadata(?) WHERE decode(key) = ?"
    with reading(paths[0].parent, "Parquet files") as connection:
        found = connection.execute(query, [[*map(pattern_of, paths)], name]).fetchall()
    return {Path(os.fsdecode(file.encode())): text for file, text in found}


def read_table(path: str | Path) -> dict[str, np.ndarray]:
    """Return the columns of a Parquet file; NULL in a float column becomes NaN. Raises :class:`InputError`."""
    with reading(path, "a Parquet file") as connection:
        found = connection.execute("SELECT * FROM read_parquet(?)", [pattern_of(path)]).fetchnumpy()
    return {
        name: np.ma.filled(values, np.nan) if values.dtype.kind == "f" else np.ma.getdata(values)
        for name, values in found.items()
    }
