"""Open a log with one row per job as a table: CSV, tab-separated text, JSON Lines or Parquet, plain or gzip."""

import csv
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from vinesim.formats.source.files import GZIP, lines_of, opened, read_text
from vinesim.formats.source.limits import FIELD_CHARACTERS
from vinesim.formats.source.table_source import TableSource, open_table, other_lengths
from vinesim.model.errors import MAX_PROBLEMS, InputError, Problem

AS_CSV, JSON_LINES, PARQUET = (".csv", ".tsv", ".txt"), (".jsonl", ".ndjson"), ".parquet"
MOST_UNEVEN = 0.1  # at most this share of the lines may have a wrong number of cells
Found = TypeVar("Found")
_COUNTED = "SELECT count(COLUMNS(*)) FROM {}"  # a query of all cells
REMEDY = "For other logs, see vinesim import --help."


@contextmanager
def folder_for(log: Path) -> Iterator[Path]:
    """Provide a folder for copies of a log; errors about a copy are raised as errors about the log."""
    with tempfile.TemporaryDirectory() as folder:
        begins = f"{folder}{os.sep}"
        shift = int(Path(log.name.removesuffix(".gz")).suffix.lower() in JSON_LINES)  # the copy has a header

        def where(problem: Problem) -> str:
            if not problem.where.startswith(begins):
                return problem.where
            _, *place = problem.where.removeprefix(begins).split(":", 1)
            line, *rest = place[0].split(":", 1) if place else ("",)
            line = str(int(line) - shift) if line.isdecimal() and int(line) > shift else line
            return ":".join([str(log), *([line] if place else []), *rest])

        try:
            yield Path(folder)
        except InputError as error:
            raise InputError([replace(one, at=where(one)) for one in error.problems], error.n_problems) from None


def read_log(log: Path, folder: Path, read: Callable[[TableSource, int], Found]) -> Found:
    """Return what ``read`` finds in the table of a log, given the line of its first row; ``folder`` takes copies.

    Lines of other lengths than the header are looked for only if ``read`` fails, which it does if there are any; it is
    then called again without their cells. Raises :class:`InputError`.
    """
    table, first_line = _open(log, folder)
    try:
        return read(table, first_line)
    except InputError as error:
        return read(_with_even_rows(table, folder, error), first_line)


def open_log(log: Path, folder: Path) -> tuple[TableSource, int]:
    """Return the table of a log without the cells of lines of other lengths, and the line of its first row.

    Raises :class:`InputError`.
    """
    return read_log(log, folder, _whole)


def _whole(table: TableSource, first_line: int) -> tuple[TableSource, int]:
    if table.is_csv:
        table.query(_COUNTED.format(table.sql))
    return table, first_line


def _open(log: Path, folder: Path) -> tuple[TableSource, int]:
    with opened(log) as stream:
        is_gzip = stream.read(2) == GZIP
    name = log.name.removesuffix(".gz") if is_gzip else log.name
    kind = Path(name).suffix.lower()
    if kind not in (*AS_CSV, *JSON_LINES, PARQUET) or (is_gzip and kind == PARQUET):
        endings = ", ".join((*AS_CSV, *JSON_LINES))
        raise InputError(
            [Problem(str(log), f"a name that ends in {endings} (also .gz) or {PARQUET}", log.name, REMEDY)]
        )
    if kind in JSON_LINES:
        copy = folder / "log.csv"
        _write_rows(log, copy)
        return open_table(copy), 1
    if not is_gzip and kind in (".csv", PARQUET):
        return open_table(log), 2
    copy = folder / f"{Path(name).stem}.csv"
    copy.write_text(read_text(log), encoding="utf-8")
    return open_table(copy), 2


def _with_even_rows(source: TableSource, folder: Path, error: InputError) -> TableSource:
    """Return a table in which lines that have more or fewer cells than the header are empty, as where a log is cut off.

    Raises ``error`` if there are no such lines, and another :class:`InputError` if there are too many: the header then
    belongs to another table.
    """
    lengths = other_lengths(source.path, len(source.columns)) if source.is_csv else {}
    if not lengths:
        raise error
    if len(lengths) > max(1, MOST_UNEVEN * sum(1 for _ in lines_of(Path(source.path)))):
        source.query(_COUNTED.format(source.sql))  # raises an error with all of them
        raise error
    copy = folder / f"even_{Path(source.path).stem}.csv"
    with (
        open(source.path, encoding="utf-8-sig", newline="") as stream,
        open(copy, "w", encoding="utf-8", newline="") as even,
    ):
        reader = csv.reader(stream, delimiter=source.delimiter)
        writer = csv.writer(even, delimiter=source.delimiter, lineterminator="\n")
        for fields in reader:
            writer.writerow(fields if len(fields) in (0, len(source.columns)) else [""] * len(source.columns))
    return open_table(copy)


def in_log(error: InputError, log: Path, copy: str, line_of: Callable[[int], int]) -> InputError:
    """Convert an error about the copy of a log to one about the log; ``line_of`` gives the line of a row, from 0."""

    def where(problem: Problem) -> str:
        name, _, line = problem.where.rpartition(":")
        if name == copy and line.isdecimal():
            return f"{log}:{line_of(int(line) - 2)}"
        return problem.where.replace(copy, str(log))

    return InputError([replace(one, at=where(one)) for one in error.problems], error.n_problems)


def _write_rows(log: Path, copy: Path) -> None:
    """Write the objects of a JSON Lines file as the rows of a CSV file. Raises :class:`InputError`."""
    names = dict[str, None]()
    for row in _objects(log):
        names |= dict.fromkeys(row)
    if not names:
        raise InputError([Problem(str(log), 'an object in each line, such as {"submit": 0, "duration": 60}', "none")])
    with open(copy, "w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(names), restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(_objects(log))


def _objects(log: Path) -> Iterator[dict[str, str]]:
    """Yield a row of texts for each line; an empty line is an empty row. Raises :class:`InputError`."""
    problems, n_problems = list[Problem](), 0
    for number, line in enumerate(lines_of(log), 1):
        found: Any = None
        try:
            found = json.loads(line.decode("utf-8") or "{}", parse_float=str, parse_int=str) if line.strip() else {}
        except UnicodeDecodeError:
            reason = "bytes that are not UTF-8 text"
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", str(error))
        else:
            reason = f"a {type(found).__name__}"
        if isinstance(found, dict):
            yield dict(_cells(found))
            continue
        n_problems += 1
        if len(problems) < MAX_PROBLEMS:
            remedy = "Write one object per line, for example with: jq -c .[]" if number == 1 else ""
            problems.append(Problem(f"{log}:{number}", "a JSON object", reason, remedy))
    if problems:
        raise InputError(problems, n_problems)


def _cells(found: dict[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield the values of an object as texts; nested keys are joined by a point."""
    for key, value in found.items():
        if isinstance(value, dict):
            yield from _cells(value, f"{above}{key}.")
        elif value is not None:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield f"{above}{key}", text[:FIELD_CHARACTERS]
