"""The parts of a sweep's data set: ``runs/<chunk>.parquet``, the rows of one chunk, written completely or not at all.

A part has a checksum, and a header that says which chunk it is and what its columns mean.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from vinesim.formats.results.checksums import BLANK, add_checksum, is_intact
from vinesim.formats.results.parquet import read_metadata, write_table
from vinesim.formats.source.drafts import draft_of
from vinesim.formats.source.files import read_bytes
from vinesim.metrics.numbers import Numbers
from vinesim.model.errors import InputError, Problem
from vinesim.studies import journal
from vinesim.studies.chunks import Chunk
from vinesim.studies.layout import Layout
from vinesim.studies.rows import columns_of

RUNS = "runs"
PARQUET = b"PAR1"  # the first bytes of a Parquet file
_HEADER = "vinesim"


@dataclass(frozen=True)
class Header:
    """The header of a part: its chunk and the meaning of its rows."""

    chunk: str
    axes: tuple[str, ...]
    points: str
    record: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Self:
        """Read the header from its JSON."""
        found = json.loads(text)
        return cls(found["chunk"], tuple(found["axes"]), found["points"], tuple(found["record"]))

    def has_layout(self, layout: Layout) -> bool:
        """Whether the rows have the meaning that the layout describes."""
        return (self.axes, self.points, self.record) == (tuple(layout.kinds), layout.points, layout.record)


def run_files(folder: Path) -> list[Path]:
    """Return the files of the parts. Raises :class:`InputError` if their folder does not exist."""
    if not (folder / RUNS).is_dir():
        raise InputError([Problem(str(folder / RUNS), "the parts of a sweep", "no such folder: was it moved?")])
    return sorted((folder / RUNS).glob("*.parquet"))


def is_whole(file: Path) -> bool:
    """Whether a part is intact. Raises :class:`InputError` if it cannot be read."""
    data = read_bytes(file)
    return data.startswith(PARQUET) and is_intact(data)


def headers(files: Sequence[Path]) -> dict[Path, Header]:
    """Read the headers of these intact parts."""
    return {file: Header.of(text) for file, text in read_metadata(files, _HEADER).items()}


def write_chunk(folder: Path, chunk: Chunk, numbers: Mapping[str, Numbers], layout: Layout, is_done: bool) -> None:
    """Write the part of a chunk, completely or not at all; remove its journal when all its runs are done.

    A chunk without any numbers gets no file; the same rows give the same bytes. Raises OSError if the folder cannot be
    written or does not exist.
    """
    if not any(run.run_id in numbers for run in chunk.runs):
        return
    target = folder / RUNS / f"{chunk.id}.parquet"
    draft = draft_of(folder / journal.FOLDER / chunk.id)  # not among the parts, which are read by their pattern
    for place in (draft, target):  # but do not create the sweep's folder: it may have been moved
        place.parent.mkdir(exist_ok=True)
    metadata = {_HEADER: layout.header(chunk.id), "checksum": BLANK}
    try:
        write_table(draft, columns_of(chunk.runs, numbers, layout.kinds), threads=1, metadata=metadata)
        with open(draft, "r+b") as stream:
            add_checksum(stream)
            stream.flush()
            os.fsync(stream.fileno())  # otherwise a crash of the machine may leave the name without the bytes
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)
    if is_done:
        journal.remove_journal(folder, chunk.id)
