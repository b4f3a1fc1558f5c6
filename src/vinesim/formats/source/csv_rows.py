"""Read the rows of a CSV file with a header line, plain or gzip, and collect every problem in them."""

import csv
import io
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from vinesim.formats.papers.lines import LARGEST
from vinesim.formats.source.files import read_text
from vinesim.formats.source.limits import FIELD_CHARACTERS, too_much
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.model.errors import InputError, Problem


@dataclass
class CsvRows:
    """The requested columns of a file's rows, each row with its line; check values with :meth:`number`."""

    path: str
    rows: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    problems: list[tuple[int, Problem]] = field(default_factory=list)  # each with its line
    unused: dict[str, int] = field(default_factory=dict)  # other columns: their number of rows with a value

    def number(
        self, line: int, column: str, text: str, *, least: float, most: float = LARGEST, is_whole: bool = False
    ) -> float:
        """Return the number in a field; NaN, with a problem added, if it is not a number from ``least`` to ``most``."""
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if least <= value <= most and (not is_whole or value.is_integer()):
            return value
        limits = f"{least:g} or more" if most == LARGEST else f"{least:g} to {most:,}"
        self.add(line, f"{column}: a {'whole ' if is_whole else ''}number, {limits}", repr(text)[:40])
        return math.nan

    def check_name(self, line: int, column: str, text: str) -> None:
        """Add a problem if a name is empty."""
        if not text:
            self.add(line, f"{column}: a name", "nothing")

    def add(self, line: int, expected: str, found: str, remedy: str = "") -> None:
        """Add a problem."""
        self.problems.append((line, Problem(f"{self.path}:{line}", expected, found, remedy)))

    def raise_problems(self) -> None:
        """Raise :class:`InputError` if there are problems, in the order of their lines."""
        if self.problems:
            raise InputError([problem for _, problem in sorted(self.problems, key=lambda pair: pair[0])])


def csv_records(path: str | os.PathLike[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the records of a CSV file, plain or gzip, each with its (last) line; blank lines are skipped.

    Line ends may be those of any system, CR included. Raises :class:`InputError` if it is not a CSV file.
    """
    reader = csv.reader(io.StringIO(read_text(path), newline=""))
    try:
        for fields in reader:
            if fields:
                yield reader.line_num, fields
    except csv.Error as error:
        raise InputError([csv_problem(path, reader.line_num, error)]) from None


def csv_problem(path: str | os.PathLike[str], line: int, error: csv.Error) -> Problem:
    """Convert an error of the csv module to a problem."""
    if "field larger" in str(error):
        return too_much(
            f"{path}:{line}", f"{FIELD_CHARACTERS:,} characters in a field", "Is a closing quotation mark missing?"
        )
    return Problem(f"{path}:{line}", "a CSV file", str(error))


def read_csv_rows(path: str | os.PathLike[str], columns: Sequence[str]) -> CsvRows:
    """Read the rows of a file; the columns that were not requested are only counted.

    Raises :class:`InputError` if a column is missing or there are no rows; a row that is too short adds a problem.
    """
    found = CsvRows(str(path))
    header, others, line = None, dict[int, str](), 0
    for line, fields in csv_records(path):
        if header is None:
            header = _header(path, line, fields, columns)
            others = {at: name.strip() for at, name in enumerate(fields) if name.strip() not in columns}
            found.unused = dict.fromkeys(others.values(), 0)
        elif len(fields) <= max(header.values()):
            found.add(line, f"a value of {', '.join(columns)}", f"{len(fields)} fields")
        else:
            found.rows.append((line, {name: fields[at].strip() for name, at in header.items()}))
            for at, name in others.items():
                found.unused[name] += at < len(fields) and bool(fields[at].strip())
    if not found.rows and not found.problems:
        found.add(line, f"rows below a header line with {', '.join(columns)}", "none")
    if not found.rows:
        found.raise_problems()
    return found


def _header(path: str | os.PathLike[str], line: int, fields: list[str], columns: Sequence[str]) -> dict[str, int]:
    names = [name.strip() for name in fields]
    problems = [
        Problem(f"{path}:{line}", f"a column {name}", ", ".join(names)[:80], did_you_mean(name, names))
        for name in columns
        if name not in names
    ]
    if problems:
        raise InputError(problems)
    return {name: names.index(name) for name in columns}
