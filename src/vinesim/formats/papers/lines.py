"""Read the papers' text files line by line: accept each field, or explain what is wrong with it.

One record per line, fields separated by spaces or tabs; ``#`` starts a comment, blank lines are skipped. This is the
slow twin of ``columns``: the same meaning in plain Python, with the place of every problem.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from vinesim.formats.source.files import not_text, opened
from vinesim.formats.source.limits import LINE_BYTES, in_words, too_much
from vinesim.model.errors import InputError, Problem

CHUNK_BYTES = 1 << 20  # 1 MiB was the fastest of 0.25, 1 and 4 MiB on 2 cores (2.0, 1.3, 1.4 s for 10 M lines)
LARGEST = 2**63 - 1
MAX_COUNTED = 100_000  # problems; reading stops at this number

_FIELD = re.compile(rb"[^ \t\r]+")
_COMMENT = re.compile(rb"#[^\n]*")
_RECORD = re.compile(rb"[^ \t\r\n][^\n]*")  # matches a line from its first field to its end
_WHOLE = re.compile(r"[0-9]+")
_NUMBER = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Column:
    """One field of a record: a whole number, or any number if ``is_number``; from 0 to 2^63 - 1."""

    name: str
    is_number: bool = False

    @property
    def expected(self) -> str:
        """What a value must be, for messages."""
        return f"{self.name}: a {'number' if self.is_number else 'whole number'}, 0 or more"


class Field(NamedTuple):
    """A field's text, and its line and column in the file, both from 1."""

    text: str
    line: int
    column: int


def chunks(path: str | os.PathLike[str]) -> Iterator[tuple[int, bytes]]:
    """Yield the file in pieces of whole lines of about 1 MiB, each with the number of its first line.

    Every piece ends in a newline. A byte order mark is dropped. A line over 1 MiB raises :class:`InputError`.
    """
    with opened(path) as stream:
        rest, line, block = b"", 1, stream.read(CHUNK_BYTES).removeprefix(b"\xef\xbb\xbf")
        while block:
            cut = block.rfind(b"\n") + 1
            if cut:
                chunk = rest + block[:cut]
                yield line, chunk
                line += chunk.count(b"\n")
                rest = block[cut:]
            else:
                rest += block
            if len(rest) > LINE_BYTES:
                _check_text(path, line, rest[:LINE_BYTES])
                raise InputError([too_much(f"{path}:{line}:1", f"{in_words(LINE_BYTES)} in a line")])
            block = stream.read(CHUNK_BYTES)
        if rest:
            yield line, rest + b"\n"


def records(path: str | os.PathLike[str], first_line: int, chunk: bytes) -> Iterator[list[Field]]:
    """Yield the fields of each non-blank line. Raises :class:`InputError` for bytes that are not UTF-8 text."""
    for number, line in enumerate(chunk.split(b"\n")[:-1], first_line):
        if not line.isascii() or b"\0" in line:
            _check_text(path, number, line)
        line = line.partition(b"#")[0]
        fields = [
            Field(m.group().decode(), number, 1 + (m.start() if line.isascii() else len(line[: m.start()].decode())))
            for m in _FIELD.finditer(line)
        ]
        if fields:
            yield fields


def all_records(path: str | os.PathLike[str]) -> Iterator[list[Field]]:
    """Yield the fields of each non-blank line of a file."""
    for first_line, chunk in chunks(path):
        yield from records(path, first_line, chunk)


def _check_text(path: str | os.PathLike[str], number: int, line: bytes) -> None:
    at = line.find(b"\0")
    try:
        line.decode()
    except UnicodeDecodeError as error:
        at = error.start if at < 0 else min(at, error.start)
    if at >= 0:
        raise InputError([not_text(path, number, at + 1)])


def parse(
    path: str | os.PathLike[str], lines: Iterable[list[Field]], columns: Sequence[Column]
) -> tuple[list[list[float]], list[Problem]]:
    """Return the values of each column, and every problem in the lines."""
    values: list[list[float]] = [[] for _ in columns]
    problems = []
    for fields in lines:
        if len(fields) != len(columns):
            at = fields[min(len(fields) - 1, len(columns))]
            problems.append(
                Problem(
                    f"{path}:{at.line}:{at.column}",
                    f"{len(columns)} fields ({' '.join(c.name for c in columns)})",
                    f"{len(fields)}",
                )
            )
            continue
        for field, column, into in zip(fields, columns, values, strict=True):
            value = to_number(path, field, column.expected, column.is_number)
            if isinstance(value, Problem):
                problems.append(value)
            else:
                into.append(value)
    return values, problems


def to_number(
    path: str | os.PathLike[str], field: Field, expected: str, is_number: bool = True
) -> int | float | Problem:
    """Return the value of a field, or the problem with it."""
    text, where = field.text, f"{path}:{field.line}:{field.column}"
    value: int | float
    if _WHOLE.fullmatch(text):
        digits = text.lstrip("0") or "0"
        value = int(digits) if len(digits) <= 19 else LARGEST + 1
    elif is_number and _NUMBER.fullmatch(text):
        value = float(text)
    else:
        return Problem(where, expected, repr(text[:40]))
    if value > LARGEST:
        return Problem(where, f"{expected}, up to 2^63 - 1", text[:40], "Choose a larger unit.")
    return float(value) if is_number else value


def locate(path: str | os.PathLike[str], places: Iterable[tuple[int, int]]) -> list[str]:
    """Return ``file:line:column`` of each (record, field), both counted from 0. Reads the file again."""
    wanted = list(places)
    fields_of: dict[int, set[int]] = {}
    for row, index in wanted:
        fields_of.setdefault(row, set()).add(index)
    found = {}
    last = max(fields_of, default=-1)
    first_row = 0
    for first_line, chunk in chunks(path):
        end = first_row + len(_RECORD.findall(_COMMENT.sub(b"", chunk)))
        if any(first_row <= row < end for row in fields_of):
            for row, fields in enumerate(records(path, first_line, chunk), first_row):
                for index in fields_of.get(row, ()):
                    found[row, index] = f"{path}:{fields[index].line}:{fields[index].column}"
        first_row = end
        if first_row > last:
            break
    return [found.get(place, str(path)) for place in wanted]
