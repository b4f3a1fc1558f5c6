"""DuckDB, through which tables are read and written."""

import os
from functools import cache
from typing import Any


@cache
def _database(threads: int | None, process: int) -> Any:
    """An empty in-memory database, kept because opening one (15 ms) costs more than writing a small file (5 ms).

    A forked process needs its own, as the threads of its parent's stay behind.
    """
    import duckdb

    return duckdb.connect(config={} if threads is None else {"threads": threads})


def connected(threads: int | None = None) -> Any:
    """Return a connection to DuckDB for one thread; close it, or use it as a context manager.

    All share one database: make views and tables TEMP, so that they are of one connection.
    """
    return _database(threads, os.getpid()).cursor()


def text_of(value: str) -> str:
    """Quote a text for SQL."""
    return "'" + value.replace("'", "''") + "'"


def name_of(column: str) -> str:
    """Quote a column name for SQL."""
    return '"' + column.replace('"', '""') + '"'
