"""The journal of an unfinished chunk: one line of JSON a finished run, kept until the chunk's Parquet file is there.

A line is written at once and whole, or torn by the end of the process, the machine or the disk; torn lines are passed
over, and their runs done again. Numbers are written so that they are read back to the last bit.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from vinesim.metrics.numbers import Numbers

FOLDER = "journal"


class Journal:
    """The journal of one chunk, for adding lines."""

    def __init__(self, folder: Path, chunk_id: str):
        (folder / FOLDER).mkdir(parents=True, exist_ok=True)
        self._file = os.open(folder / FOLDER / f"{chunk_id}.jsonl", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":  # a torn line must not tear the next one
            os.write(self._file, b"\n")

    def add(self, numbers: Mapping[str, Numbers], failed: Mapping[str, str]) -> None:
        """Add finished and failed runs by their ids."""
        lines: list[Any] = [{"run_id": run_id, "numbers": values} for run_id, values in numbers.items()]
        lines += [{"run_id": run_id, "failed": message} for run_id, message in failed.items()]
        data = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()
        while data:  # a full disk may take a part of it, and refuses the rest
            data = data[os.write(self._file, data) :]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)


def read_journals(folder: Path, chunk_id: str = "*") -> tuple[dict[str, Numbers], dict[str, str]]:
    """All lines that can be read, of one chunk or of all: numbers by run id, and messages of those that only failed."""
    numbers: dict[str, Numbers] = {}
    failed: dict[str, str] = {}
    for file in sorted((folder / FOLDER).glob(f"{chunk_id}.jsonl")):
        for run_id, found in _lines(file):
            if isinstance(found, str):
                failed[run_id] = found
            else:
                numbers[run_id] = found
    return numbers, {run_id: message for run_id, message in failed.items() if run_id not in numbers}


def _lines(file: Path) -> Iterator[tuple[str, Numbers | str]]:
    try:
        text = file.read_bytes()
    except FileNotFoundError:  # another process has just finished the chunk
        return
    for line in text.splitlines():
        try:
            found = json.loads(line)
            yield found["run_id"], found["numbers"] if "numbers" in found else found["failed"]
        except (ValueError, KeyError, TypeError):  # torn
            continue


def remove_journal(folder: Path, chunk_id: str) -> None:
    """Remove the journal of a finished chunk."""
    (folder / FOLDER / f"{chunk_id}.jsonl").unlink(missing_ok=True)
