"""The journal of an unfinished chunk: one line of JSON per finished run, kept until the chunk's part is written.

A line is written at once and carries its checksum. If the process, the machine or the disk fails, the last line may be
incomplete; its run is then repeated. Any other changed line counts as damage. Numbers are written with enough digits to
be read back exactly.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from vinesim.formats.results.checksums import BLANK, is_intact, with_checksum
from vinesim.metrics.numbers import Numbers

FOLDER = "journal"
_BEGIN = b'{"run_id":"'


class Journal:
    """The journal of one chunk, open for adding lines; ``record`` selects the numbers that the study keeps."""

    def __init__(self, folder: Path, chunk_id: str, record: Sequence[str]):
        (folder / FOLDER).mkdir(exist_ok=True)
        self._record = [*record]
        self._file = os.open(folder / FOLDER / f"{chunk_id}.jsonl", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            self._end_last_line(size)

    def _end_last_line(self, size: int) -> None:
        """Before a line is added, complete a last line that lacks only its newline, or remove an incomplete one."""
        end = os.pread(self._file, size, 0).rfind(b"\n") + 1
        if is_intact(os.pread(self._file, size - end, end)):
            os.write(self._file, b"\n")
        else:
            os.ftruncate(self._file, end)

    def add(self, numbers: Mapping[str, Numbers], failed: Mapping[str, str]) -> None:
        """Add finished and failed runs by their ids."""
        lines = [_line(run_id, {"record": self._record, "numbers": values}) for run_id, values in numbers.items()]
        lines += [_line(run_id, {"failed": message}) for run_id, message in failed.items()]
        data = b"".join(lines)
        while data:  # a full disk may store a part of the line
            data = data[os.write(self._file, data) :]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)


def _line(run_id: str, content: Mapping[str, Any]) -> bytes:
    text = json.dumps({"run_id": run_id, "checksum": BLANK, **content}, separators=(",", ":"))
    return with_checksum(text.encode()) + b"\n"


@dataclass
class Entries:
    """The contents of journals.

    Attributes:
        numbers: those of the finished runs, by id.
        failed: messages of the runs that failed without succeeding later, by id, in the order of the ids.
        records: the selections of numbers that were kept, as in the study.
        n_damaged: number of damaged lines by file; an incomplete last line does not count.
    """

    numbers: dict[str, Numbers] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    records: set[tuple[str, ...]] = field(default_factory=set)
    n_damaged: dict[Path, int] = field(default_factory=dict)


def read_journals(folder: Path, chunk_id: str = "*") -> Entries:
    """Read all intact lines, of one chunk or of all."""
    found = Entries()
    for file in sorted((folder / FOLDER).glob(f"{chunk_id}.jsonl")):
        for line in _lines(file):
            if not _take(line, found):
                found.n_damaged[file] = found.n_damaged.get(file, 0) + 1
    found.failed = {run_id: text for run_id, text in sorted(found.failed.items()) if run_id not in found.numbers}
    return found


def _lines(file: Path) -> Iterator[bytes]:
    """Yield the lines of a file, without an incomplete last one."""
    try:
        *lines, last = file.read_bytes().split(b"\n")
    except FileNotFoundError:  # another process has just finished the chunk
        return
    yield from lines
    is_torn = last[: len(_BEGIN)] == _BEGIN[: len(last)] and re.fullmatch(rb"[ -~]*", last)
    if is_intact(last) or not is_torn:
        yield last


def _take(line: bytes, into: Entries) -> bool:
    """Add the contents of a line to ``into`` and return whether it is a valid line of a journal."""
    if not is_intact(line):
        return False
    try:
        match json.loads(line):
            case {"run_id": str(run_id), "record": [*record], "numbers": dict(numbers)} if _are_numbers(numbers):
                into.numbers[run_id] = numbers
                into.records.add(tuple(map(str, record)))
                return True
            case {"run_id": str(run_id), "failed": str(message)}:
                into.failed[run_id] = message
                return True
    except ValueError:
        pass
    return False


def _are_numbers(values: Mapping[str, Any]) -> bool:
    return all(isinstance(value, str | int | float) for value in values.values())


def intact_lines(file: Path) -> bytes:
    """Return the intact lines of a journal."""
    return b"".join(line + b"\n" for line in _lines(file) if _take(line, Entries()))


def remove_journal(folder: Path, chunk_id: str) -> None:
    """Remove the journal of a finished chunk."""
    (folder / FOLDER / f"{chunk_id}.jsonl").unlink(missing_ok=True)
