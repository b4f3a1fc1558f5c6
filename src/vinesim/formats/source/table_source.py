"""A Parquet or CSV file as a DuckDB table: its columns by name, and the place of each cell for error messages."""

# ruff: noqa: S608 - DuckDB takes no parameters for file names; all text goes through text_of
import csv
import os
import re
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from vinesim.formats.source.csv_rows import csv_problem
from vinesim.formats.source.database import QueryError, connected, name_of, pattern_of, text_of
from vinesim.formats.source.files import opened, problem_of
from vinesim.model.errors import InputError, Problem

_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL", '"NULL"')
_NUMBER = re.compile(r"\s*[-+]?\d+(\.\d*)?\s*")
_DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class TableSource:
    """A file that can be queried. All columns of a CSV file are text, so DuckDB rejects none of its cells."""

    path: str
    sql: str  # the SQL after FROM
    columns: dict[str, str]  # name in the file -> its SQL
    texts: dict[str, str]  # columns without numbers, by the file's schema -> their types
    delimiter: str = ""  # the delimiter of a CSV file; empty for Parquet
    # columns whose SQL converts cells: the SQL of the original cell, and its expected form in words
    written: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def is_csv(self) -> bool:
        """Whether the file is a CSV file: an empty cell is a missing value, and rows have line numbers."""
        return bool(self.delimiter)

    def query(self, query: str) -> dict[str, Any]:
        """Return the columns of a query. Raises :class:`InputError`."""
        return run(self.path, query)

    def cells(self, found: Iterable[tuple[int, str, str, str | None]]) -> list[Problem]:
        """Return the problems of cells, given (row from 0, column, what was expected, the text found)."""
        wrong = list(found)
        if not self.is_csv:
            return [
                Problem(f"{self.path}: {column}[{row}]", e, "null" if t is None else t) for row, column, e, t in wrong
            ]
        line = self._lines({row for row, *_ in wrong})
        return [
            Problem(f"{self.path}:{line.get(row, '?')}", f"{column}: {e}", "nothing" if t is None else repr(t)[:40])
            for row, column, e, t in wrong
        ]

    def place(self, row: int) -> str:
        """Return the place of a row: its line, or its number in a file without lines."""
        return f"{self.path}:{self._lines({row}).get(row, '?')}" if self.is_csv else f"{self.path}: row {row}"

    def texts_of(self, column: str, rows: Iterable[int]) -> dict[int, str | None]:
        """Return the text of a column's cell in each row."""
        listed = ", ".join(map(str, rows)) or "-1"
        numbered = f"(SELECT {self.columns[column]}::VARCHAR AS t, row_number() OVER () - 1 AS _row FROM {self.sql})"
        found = self.query(f"SELECT _row, t FROM {numbered} WHERE _row IN ({listed})")
        return dict(zip(found["_row"].tolist(), found["t"].tolist(), strict=True))

    def _lines(self, rows: set[int]) -> dict[int, int]:
        """Return the line of each row. A blank line is not a row, unless the table has a single column."""
        lines: dict[int, int] = {}
        row = -1  # the header
        with open(self.path, encoding="utf-8-sig", errors="replace", newline="") as stream, suppress(csv.Error):
            reader = csv.reader(stream, delimiter=self.delimiter)
            for fields in reader:
                if not fields and len(self.columns) > 1:
                    continue
                if row in rows:
                    lines[row] = reader.line_num
                    if len(lines) == len(rows):
                        break
                row += 1
        return lines


def open_table(path: str | os.PathLike[str]) -> TableSource:
    """Open a table, as CSV if its name ends in .csv, otherwise as Parquet. Raises :class:`InputError`."""
    with opened(path):
        pass  # reports a missing file, a folder or a missing permission
    try:
        file = text_of(pattern_of(path))
    except OSError as error:
        raise InputError([problem_of(path, "a file that can be read", error)]) from None
    if str(path).lower().endswith(".csv"):
        return _open_csv(str(path), file)
    sql = f"read_parquet({file})"
    described = run(path, f"DESCRIBE SELECT * FROM {sql}")
    kinds = dict(zip(described["column_name"].tolist(), described["column_type"].tolist(), strict=True))
    texts = {name: kind for name, kind in kinds.items() if not _holds_numbers(kind)}
    return TableSource(str(path), sql, {name: name_of(name) for name in kinds}, texts)


def _holds_numbers(kind: str) -> bool:
    return kind.removeprefix("U").startswith(_NUMBERS) and "[" not in kind


def _delimiter_of(header: str) -> str:
    return max(_DELIMITERS, key=header.count)


def _open_csv(path: str, file: str) -> TableSource:
    with open(path, encoding="utf-8-sig", errors="replace", newline="") as stream:
        header = stream.readline(100_000).strip("\r\n")
    if not header.strip():
        raise InputError([Problem(f"{path}:1", "a header and at least one row", "nothing")])
    delimiter = _delimiter_of(header)
    try:
        names = next(csv.reader([header], delimiter=delimiter))
    except csv.Error as error:
        raise InputError([csv_problem(path, 1, error)]) from None
    if 2 * len(numbers := [name for name in names if _NUMBER.fullmatch(name)]) >= len(names):
        found = f"numbers: {', '.join(numbers)}"[:100]
        remedy = "Has the file no header? Put a line with the names of its columns first."
        raise InputError([Problem(f"{path}:1", "the names of the columns", found, remedy)])
    names = [
        name if name.strip() else f"column_{i}" for i, name in enumerate(names, 1)
    ]  # pandas leaves that of an index empty
    twice = sorted(name for name, n in Counter(names).items() if n > 1)
    if twice:
        raise InputError([Problem(f"{path}:1", f"a column {n} once", "a second one", "Keep one.") for n in twice])
    kinds = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(names)))
    sql = (
        f"read_csv({file}, auto_detect = false, header = true, delim = {text_of(delimiter)}, quote = '\"', "
        f"escape = '\"', columns = {{{kinds}}})"
    )
    return TableSource(path, sql, {name: f"c{i}" for i, name in enumerate(names)}, {}, delimiter)


def run(
    path: str | os.PathLike[str], query: str, expected: str = "a table of a workload", **tables: Any
) -> dict[str, Any]:
    """Return a query's columns; ``tables`` are dicts of arrays. DuckDB's errors become :class:`InputError`."""
    try:
        with connected() as connection:
            connection.execute("SET TimeZone = 'UTC'")  # dates without a zone have the same meaning on every machine
            for name, columns in tables.items():
                connection.register(name, columns)
            return connection.execute(query).fetchnumpy()
    except OSError as error:
        raise InputError([problem_of(path, expected, error)]) from None
    except QueryError as error:
        raise InputError(_refusals(str(path), expected, error)) from None


def _refusals(path: str, expected: str, error: QueryError) -> list[Problem]:
    """Convert DuckDB's message to problems; about a CSV row, it starts with the line, then the reason."""
    first, *rest = str(error).split("\n")
    _, _, line = first.partition("CSV Error on Line: ")
    if not line.isdecimal():
        return [Problem(path, expected, error.reason)]
    reason = next((text for text in rest if text.strip() and not text.startswith("Original Line")), "another one")
    n_expected, _, n_found = reason.removeprefix("Expected Number of Columns: ").partition(" Found: ")
    if n_found:
        lengths = other_lengths(path, int(n_expected)) or {int(line): int(n_found)}
        return [Problem(f"{path}:{at}", f"{n_expected} fields, as in the header", f"{n}") for at, n in lengths.items()]
    return [Problem(f"{path}:{line}", "a row of a CSV file", reason)]


def other_lengths(path: str, n_fields: int) -> dict[int, int]:
    """Return the numbers of fields of the rows that have more or fewer, by line; DuckDB names only the first."""
    found = dict[int, int]()
    with open(path, encoding="utf-8-sig", errors="replace", newline="") as stream, suppress(csv.Error):
        reader = csv.reader(stream, delimiter=_delimiter_of(stream.readline()))
        for fields in reader:
            if fields and len(fields) != n_fields:
                found[1 + reader.line_num] = len(fields)
    return found
