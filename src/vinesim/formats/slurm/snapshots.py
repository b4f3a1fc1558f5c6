"""Snapshots of ``squeue``, ``sprio``, ``sshare`` or other commands, one after another in a file.

Each snapshot begins with a line ``## TIME``, s since 1970, which may continue with words. A file without such lines is
one snapshot of unknown time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vinesim.formats.slurm.lines import Unread, text_lines
from vinesim.formats.slurm.tables import WRONG_NUMBER, joined
from vinesim.formats.slurm.values import time_s as seconds


@dataclass(frozen=True)
class Snapshot:
    """The output of a command at one time."""

    time_s: float | None
    rows: list[dict[str, str]]


def read_snapshots(path: Path, unread: Unread, separator: str | None = "|") -> Iterator[Snapshot]:
    """Yield the snapshots of a table. The header is before the first, or in each. Separator ``None`` means spaces."""
    header: list[str] | None = None
    time_s, rows, is_begun = None, list[dict[str, str]](), False
    for number, line in enumerate(text_lines(path), 1):
        if line.startswith("## "):
            if is_begun:
                yield Snapshot(time_s, rows)
            time_s, rows, is_begun = seconds((*line.split(), "")[1]), [], True
            if time_s is None:
                unread["## and no time that can be read"].append(number)
            continue
        fields = [field.strip() for field in line.split(separator)]
        if not any(fields):
            continue
        if header is None or fields == header:
            header = fields
            continue
        if separator is None and len(fields) == len(header) - 1:
            fields.append("")  # the last column, which may be empty
        values = joined(fields, header)
        if values is None:
            unread[WRONG_NUMBER].append(number)
        else:
            rows.append(dict(zip(header, values, strict=True)))
            is_begun = True
    if is_begun:
        yield Snapshot(time_s, rows)
