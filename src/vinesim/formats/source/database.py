"""Open DuckDB, which reads and writes all tables."""

import errno
import glob
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Self

from vinesim.formats.source.files import problem_of
from vinesim.model.errors import InputError, Problem

_ERRNO = re.compile(r'"errno"\s*:\s*"?(\d+)')
_MESSAGE = re.compile(r'"exception_message"\s*:\s*"((?:[^"\\]|\\.)*)"')


class QueryError(Exception):
    """DuckDB cannot answer because of the query or of a file that it reads. The text is its complete message."""

    @property
    def reason(self) -> str:
        """The first line of DuckDB's message, without the JSON and the name of the exception around it."""
        line = str(self).partition("\n")[0]
        if found := _MESSAGE.search(line):
            return found[1].replace('\\"', '"')
        return re.sub(r"^([A-Z]\w*( [A-Z]\w*)* Error|\w+Exception): ", "", line)


@cache
def _database(threads: int | None, process: int) -> Any:
    """Return an empty in-memory database, cached because opening one (15 ms) takes longer than writing a file (5 ms).

    A forked process needs its own, because it does not inherit the threads of its parent's.
    """
    import duckdb

    return duckdb.connect(config={} if threads is None else {"threads": threads})


class Connection:
    """A connection for one thread, which converts the errors of DuckDB.

    They become OSError if the operating system refused something, such as space on the disk, KeyboardInterrupt after
    Ctrl-C, and otherwise :class:`QueryError`.
    """

    def __init__(self, threads: int | None = None):
        self._cursor = _database(threads, os.getpid()).cursor()

    def execute(self, query: str, values: Any = ()) -> Self:
        """Run a query; its rows are fetched next."""
        with _in_our_words():
            self._cursor.execute(query, values)
        return self

    def register(self, name: str, columns: Any) -> None:
        """Register columns of equal length as a table."""
        with _in_our_words():
            self._cursor.register(name, columns)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all rows."""
        with _in_our_words():
            return self._cursor.fetchall()

    def fetchmany(self, size: int) -> list[tuple[Any, ...]]:
        """Return the next rows; empty at the end."""
        with _in_our_words():
            return self._cursor.fetchmany(size)

    def fetchnumpy(self) -> dict[str, Any]:
        """Return all rows as columns."""
        with _in_our_words():
            return self._cursor.fetchnumpy()

    def arrow_stream(self, query: str, requested_schema: Any = None) -> Any:
        """Return all rows as an Arrow stream in a PyCapsule."""
        with _in_our_words():
            return self._cursor.sql(query).__arrow_c_stream__(requested_schema)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._cursor.close()


def connected(threads: int | None = None) -> Connection:
    """Return a connection to DuckDB; use it as a context manager.

    All connections share one database. Views and tables must be TEMP, so that they belong to one connection.
    """
    return Connection(threads)


@contextmanager
def reading(where: str | os.PathLike[str], expected: str) -> Iterator[Connection]:
    """Yield a connection for queries of files; its errors become :class:`InputError`."""
    with explained(where, expected), connected() as connection:
        yield connection


@contextmanager
def explained(where: str | os.PathLike[str], expected: str, remedy: str = "") -> Iterator[None]:
    """Raise :class:`InputError` if a query in the block fails, with what was expected and why it was not found.

    The remedy is for files that DuckDB cannot read; if the system refuses to open a file, it may be intact.
    """
    try:
        yield
    except OSError as error:
        raise InputError([problem_of(where, expected, error)]) from None
    except QueryError as error:
        raise InputError([Problem(str(where), expected, error.reason, remedy)]) from None


_FROM_THE_SYSTEM = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.ENOMEM),
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EIO),
)


@contextmanager
def _in_our_words() -> Iterator[None]:
    import duckdb

    try:
        yield
    except (duckdb.InternalException, duckdb.FatalException) as wrong:
        _database.cache_clear()  # after this error, it rejects all further queries
        raise QueryError(str(wrong)) from wrong
    except duckdb.OutOfMemoryException as wrong:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)) from wrong
    except duckdb.IOException as wrong:
        text = str(wrong)
        given = _ERRNO.search(text)
        code = int(given[1]) if given else next((code for code in _FROM_THE_SYSTEM if os.strerror(code) in text), 0)
        raise (OSError(code, os.strerror(code)) if code else QueryError(text)) from wrong
    except duckdb.Error as wrong:
        raise QueryError(str(wrong)) from wrong
    except UnicodeError as wrong:
        raise QueryError(f"text that is not UTF-8: {wrong}") from wrong
    except RuntimeError as wrong:  # after a signal, or because DuckDB's message is not valid text
        if "interrupt" in str(wrong).lower():
            raise KeyboardInterrupt from None
        raise QueryError(str(wrong)) from wrong


def file_of(path: str | os.PathLike[str]) -> str:
    """Return a file's name for DuckDB, which reads names as UTF-8 in any locale. Raises OSError."""
    try:
        return os.fsencode(path).decode()
    except UnicodeDecodeError:
        raise OSError(errno.EILSEQ, os.strerror(errno.EILSEQ)) from None


def pattern_of(path: str | os.PathLike[str]) -> str:
    """Return a pattern that matches only this file, for functions of DuckDB that take patterns. Raises OSError."""
    return glob.escape(file_of(path))


def text_of(value: str) -> str:
    """Quote a text for SQL."""
    return "'" + value.replace("'", "''") + "'"


def name_of(column: str) -> str:
    """Quote a column name for SQL."""
    return '"' + column.replace('"', '""') + '"'
