"""The journal of an unfinished chunk: one line of JSON a finished run, kept until the chunk's part is there.

A line is written at once, and carries its checksum. The end of the process, the machine or the disk may tear the last
one, and its run is done again; any other line that is not as it was written is damage. Numbers are written so that they
are read back to the last bit.
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
    """The journal of one chunk, for adding lines; ``record`` are the numbers that the study keeps."""

    def __init__(self, folder: Path, chunk_id: str, record: Sequence[str]):
        (folder / FOLDER).mkdir(exist_ok=True)
        self._record = [*record]
        self._file = os.open(folder / FOLDER / f"{chunk_id}.jsonl", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            self._end_last_line(size)

    def _end_last_line(self, size: int) -> None:
        """End a last line that lacks its end alone, and remove a torn one: the next line must not be part of it."""
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
        while data:  # a full disk may take a part of it, and refuses the rest
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
    """What journals hold.

    Attributes:
        numbers: of the finished runs, by id.
        failed: messages of the runs that only failed, by id, in the order of the ids.
        records: the numbers that were kept, as studies say it.
        n_damaged: lines by file that are not as they were written; a torn last one does not count.
    """

    numbers: dict[str, Numbers] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    records: set[tuple[str, ...]] = field(default_factory=set)
    n_damaged: dict[Path, int] = field(default_factory=dict)


def read_journals(folder: Path, chunk_id: str = "*") -> Entries:
    """All lines that are whole, of one chunk or of all."""
    found = Entries()
    for file in sorted((folder / FOLDER).glob(f"{chunk_id}.jsonl")):
        for line in _lines(file):
            if not _take(line, found):
                found.n_damaged[file] = found.n_damaged.get(file, 0) + 1
    found.failed = {run_id: text for run_id, text in sorted(found.failed.items()) if run_id not in found.numbers}
    return found


def _lines(file: Path) -> Iterator[bytes]:
    """The lines of a file, without a torn last one."""
    try:
        *lines, last = file.read_bytes().split(b"\n")
    except FileNotFoundError:  # another process has just finished the chunk
        return
    yield from lines
    is_torn = last[: len(_BEGIN)] == _BEGIN[: len(last)] and re.fullmatch(rb"[ -~]*", last)
    if is_intact(last) or not is_torn:
        yield last


def _take(line: bytes, into: Entries) -> bool:
    """Add what a line holds, if it is one of a journal."""
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
    """The lines of a journal that are as they were written."""
    return b"".join(line + b"\n" for line in _lines(file) if _take(line, Entries()))


def remove_journal(folder: Path, chunk_id: str) -> None:
    """Remove the journal of a finished chunk."""
    (folder / FOLDER / f"{chunk_id}.jsonl").unlink(missing_ok=True)
