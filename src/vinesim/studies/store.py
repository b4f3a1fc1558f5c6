"""The folder of a sweep. It keeps finished runs, and never uses incomplete or damaged files as data.

``study.yaml`` is the study with its scenario. ``runs/`` holds the parts, with the rows of finished chunks. ``journal/``
holds the runs of unfinished chunks, and files that are being written. ``damaged/`` holds damaged files. The ids of the
runs say what is done, so the parts of several machines form one sweep when they are put into one folder.
"""

import errno
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vinesim.formats.results.checksums import BLANK, with_checksum
from vinesim.formats.results.folder import INPUTS, ORIGIN, STUDY
from vinesim.formats.source.drafts import is_draft
from vinesim.formats.source.files import problem_of, replacing
from vinesim.formats.study.file import read_study
from vinesim.metrics.numbers import Numbers
from vinesim.model.errors import InputError, Problem
from vinesim.model.study import Study
from vinesim.studies import journal
from vinesim.studies.chunks import Chunk
from vinesim.studies.damage import DAMAGED, find_damage, intact_parts, refuse_damage, set_aside
from vinesim.studies.journal import Journal, read_journals
from vinesim.studies.layout import Layout
from vinesim.studies.parts import RUNS, Header, headers, run_files, write_chunk
from vinesim.studies.rows import stored_ids, stored_numbers

_OWN = {RUNS, journal.FOLDER, DAMAGED, INPUTS.name, ORIGIN}
KEPT = "kept"  # the name of the journal with rows of a smaller study, until their chunks of the grown study take them


class Store:
    """The folder of one sweep, open for adding to it.

    Attributes:
        folder: the folder.
        layout: the meaning of its rows.
        part: name of the part that has a run's row, by the run's id.
        known: numbers of finished runs in unfinished chunks.
    """

    def __init__(self, folder: Path, text: str, chunks: Sequence[Chunk], all_ids: set[str], layout: Layout):
        """Open or create the folder of a study: ``text`` is the study, ``chunks`` are its first ones.

        ``all_ids`` are those of all runs that the study may ever have. A study that has grown takes over what is done.
        Damaged files are set aside, with a warning, and their runs must be repeated.
        Raises :class:`InputError` for a folder that holds something else, or cannot be used.
        """
        self.folder, self.layout = folder, layout
        study = with_checksum(f"{text}# {BLANK}\n".encode())
        self._make()
        damages = find_damage(folder)
        damaged = {damage.file for damage in damages}
        files = [file for file in run_files(folder) if file not in damaged]
        part_headers, entries = headers(files), read_journals(folder)
        self._check_ids(files, all_ids, self._has_study(study))
        self._check_record(entries.records | {header.record for header in part_headers.values()})
        set_aside(folder, damages)
        self.known = entries.numbers
        if not self._has_study(study) or not self._are_mine(files, part_headers):
            self._take_over(chunks, files, part_headers)
            if text:
                with replacing(folder / STUDY) as draft:
                    draft.write_bytes(study)
        self.part = {run_id: name for name, ids in stored_ids(run_files(folder)).items() for run_id in ids}

    def n_found(self, chunk: Chunk) -> int:
        """Return how many runs of a chunk are finished, whether in a part or in a journal."""
        return sum(run.run_id in self.part or run.run_id in self.known for run in chunk.runs)

    def missing(self, chunk: Chunk) -> bool:
        """Whether some runs of a chunk have no row."""
        return not all(run.run_id in self.part for run in chunk.runs)

    def known_of(self, chunk: Chunk) -> dict[str, Numbers]:
        """Return the numbers of the finished runs of an unfinished chunk."""
        ids = {run.run_id for run in chunk.runs}
        found = {run_id: self.known[run_id] for run_id in ids & self.known.keys()}
        names = {self.part[run_id] for run_id in ids & self.part.keys() - found.keys()}
        if names:  # rows of a part that lacks failed runs, or that another machine wrote
            rows = stored_numbers([self.folder / RUNS / name for name in sorted(names)], self.layout.kinds)
            found |= {run_id: rows[run_id] for run_id in ids & rows.keys()}
        return found

    def in_journal(self, chunk: Chunk) -> dict[str, Numbers]:
        """Return the numbers that workers have added to a chunk's journal."""
        return read_journals(self.folder, chunk.id).numbers

    def add(self, chunk: Chunk, numbers: Mapping[str, Numbers], failed: Mapping[str, str]) -> None:
        """Write the results of a worker that does not see this folder."""
        with Journal(self.folder, chunk.id, self.layout.record) as lines:
            lines.add({}, failed)
            write_chunk(self.folder, chunk, numbers, self.layout, is_done=not failed)

    def record_chunk(self, chunk: Chunk, failed: Mapping[str, str]) -> None:
        """Record that a chunk's part is in place, except for the runs that failed."""
        self.part |= {run.run_id: f"{chunk.id}.parquet" for run in chunk.runs if run.run_id not in failed}

    def close(self, run_ids: set[str]) -> set[str]:
        """Remove duplicates and, if all these runs have rows, the journals; return the runs without a row.

        The parts are read from disk again, and must be intact. Raises :class:`InputError`.
        """
        files = intact_parts(self.folder)
        self._remove_doubles(files)
        missing = run_ids - set().union(*stored_ids(run_files(self.folder)).values())
        if not missing:
            shutil.rmtree(self.folder / journal.FOLDER, ignore_errors=True)
        return missing

    def _remove_doubles(self, parts: Sequence[Path]) -> None:
        """Remove files whose rows are all in a larger file, so that a query of all files counts each run once."""
        files = {file.name: file for file in parts}
        ids = stored_ids(list(files.values()))
        homes: dict[str, list[str]] = {}
        for name, own in ids.items():
            for run_id in own:
                homes.setdefault(run_id, []).append(name)
        for name, own in ids.items():
            others = homes[next(iter(own))] if own else []
            if any(own < ids[other] for other in others):
                files[name].unlink(missing_ok=True)

    def _has_study(self, study: bytes) -> bool:
        """Whether the study in the folder has exactly these bytes; never for a sweep in memory."""
        file = self.folder / STUDY
        return file.read_bytes() == study if file.exists() else False

    def _make(self) -> None:
        where = f"--out {self.folder}"
        try:
            if self.folder.exists() and not self.folder.is_dir():
                raise InputError([Problem(where, "a folder", "a file", "Give another name.")])
            names = {entry.name for entry in self.folder.iterdir()} if self.folder.is_dir() else set()
            names = {name for name in names if not is_draft(name, [STUDY, ORIGIN])}
            if names and not (RUNS in names and (STUDY in names or names <= _OWN)):
                found = ", ".join(sorted(names)[:3])
                raise InputError([Problem(where, "a new or empty folder, or that of the same sweep", found)])
            (self.folder / RUNS).mkdir(parents=True, exist_ok=True)
            if not os.access(self.folder / RUNS, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as wrong:
            raise InputError([problem_of(where, "a writable folder", wrong)]) from None

    def _check_ids(self, files: Sequence[Path], all_ids: set[str], is_same: bool) -> None:
        stored = set().union(*stored_ids(files).values())
        if other := len(stored - all_ids):
            found = f"{other} of {len(stored)} runs there that are not in this study"
            if is_same:
                remedy = (
                    "The study is the same, but a file that it names, a policy's code or VineSim's version changed: "
                    "give another folder, or remove this one."
                )
            else:
                remedy = "Give another folder. (A study that has grown can continue in its folder.)"
            raise InputError([Problem(f"--out {self.folder}", "a new folder, or that of this study", found, remedy)])

    def _check_record(self, records: set[tuple[str, ...]]) -> None:
        """Check that the runs in the folder have the numbers that the study keeps."""
        for other in sorted(records - {self.layout.record}):
            expected, found = (", ".join(record) or "all numbers" for record in (other, self.layout.record))
            remedy = "Give another folder: the runs in this one lack the other numbers."
            raise InputError([Problem(("record",), f"as in the folder: {expected}", found, remedy)])

    def _are_mine(self, files: Sequence[Path], part_headers: Mapping[Path, Header]) -> bool:
        """Whether the parts have their original names, and their rows have this study's meaning."""
        return all(
            part_headers[file].chunk == file.stem and part_headers[file].has_layout(self.layout) for file in files
        )

    def _take_over(self, chunks: Sequence[Chunk], files: Sequence[Path], part_headers: Mapping[Path, Header]) -> None:
        """Move the rows of the study's earlier version into the chunks of its present version.

        At any time each row is in a file or in a journal, so this can be interrupted and repeated.
        """
        if not files and not self.known:
            return
        axes = {name for header in part_headers.values() for name in header.axes}
        self.known = stored_numbers(files, axes) | self.known
        with Journal(self.folder, KEPT, self.layout.record) as kept:
            kept.add(self.known, {})
        whole = [chunk for chunk in chunks if all(run.run_id in self.known for run in chunk.runs)]
        for chunk in whole:
            write_chunk(self.folder, chunk, self.known, self.layout, is_done=True)
        names = {f"{chunk.id}.parquet" for chunk in whole}
        for file in files:
            if file.name not in names:
                file.unlink()


@dataclass(frozen=True)
class Opened:
    """A sweep's folder, open for reading: its study, its parts, and the messages of failed runs by id."""

    study: Study
    parts: list[Path]
    failed: dict[str, str]


def open_folder(folder: Path) -> Opened:
    """Read the folder of a sweep; damage or parts of another study raise :class:`InputError`."""
    if not (folder / STUDY).is_file():
        found = "a file" if folder.exists() else "no such folder"
        found = "a folder without study.yaml" if folder.is_dir() else found
        raise InputError([Problem(str(folder), "the folder of a sweep", found, "vinesim sweep STUDY.yaml --out DIR")])
    refuse_damage(folder)
    study, parts = read_study(folder / STUDY), run_files(folder)
    layout = Layout.of(study)
    others = [file for file, header in headers(parts).items() if not header.has_layout(layout)]
    if others:
        remedy = f"Run vinesim sweep again with --out {folder}: it puts them in order."
        expected, found = f"rows of the study in {STUDY}", "rows of another study, or of this one before it grew"
        raise InputError([Problem(str(file), expected, found, remedy) for file in others])
    return Opened(study, parts, read_journals(folder).failed)
