"""The folder of a sweep: what is done stays done, and nothing half written is ever read.

``study.yaml`` is the study with its scenario; ``runs/<chunk>.parquet`` holds the rows of finished chunks, each file put
in place whole; ``journal/`` what unfinished chunks have got so far, and files being written. What is done is judged by
the ids of the runs, so the files of several machines make one sweep when they lie in one folder.
"""

import errno
import os
import shutil
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from vinesim.formats.files import problem_of, read_text, replacing
from vinesim.formats.study_file import read_study
from vinesim.metrics.numbers import Numbers
from vinesim.model.errors import InputError, Problem
from vinesim.studies import journal
from vinesim.studies.chunks import Chunk
from vinesim.studies.journal import Journal, read_journals, remove_journal
from vinesim.studies.rows import Kinds, stored_ids, stored_numbers, write_rows

STUDY, RUNS = "study.yaml", "runs"
KEPT = "kept"  # the journal of numbers that wait for their chunk after the study has grown


def run_files(folder: Path) -> list[Path]:
    """The files of finished rows."""
    return sorted((folder / RUNS).glob("*.parquet"))


def write_chunk(folder: Path, chunk: Chunk, numbers: Mapping[str, Numbers], kinds: Kinds, is_done: bool) -> None:
    """Put the rows of a chunk in place, whole; its journal goes when all its runs are done.

    A chunk without any numbers gets no file. Raises OSError where the folder cannot be written.
    """
    if not any(run.run_id in numbers for run in chunk.runs):
        return
    target = folder / RUNS / f"{chunk.id}.parquet"
    draft = folder / journal.FOLDER / f"{chunk.id}.{socket.gethostname()}.{os.getpid()}.tmp"
    draft.parent.mkdir(parents=True, exist_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_rows(draft, chunk.runs, numbers, kinds)
        with open(draft, "rb") as stream:
            os.fsync(stream.fileno())  # or a crash of the machine may leave the name without the bytes
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)
    if is_done:
        remove_journal(folder, chunk.id)


class Store:
    """The folder of one sweep, for adding to it.

    Attributes:
        folder: the folder.
        done: ids of the runs whose rows are in place.
        known: numbers of runs that are finished, their chunks not.
    """

    def __init__(self, folder: Path, text: str, chunks: Sequence[Chunk], all_ids: set[str], kinds: Kinds):
        """Open or make the folder of a study: ``text`` tells the study, ``chunks`` are its first ones.

        ``all_ids`` are of all runs that the study may come to. A study that has grown takes over what is done.
        Raises :class:`InputError` for a folder that holds something else, or cannot be used.
        """
        self.folder, self.kinds = folder, kinds
        self._check_and_make(text, all_ids)
        self.known, _ = read_journals(folder)
        if self._text() != text:
            self._take_over(chunks)
            with replacing(folder / STUDY) as draft:
                draft.write_text(text, encoding="utf-8")
        self.done = set().union(*stored_ids(run_files(folder)).values())

    def n_found(self, chunk: Chunk) -> int:
        """How many runs of a chunk are finished, with a row or in a journal."""
        return sum(run.run_id in self.done or run.run_id in self.known for run in chunk.runs)

    def missing(self, chunk: Chunk) -> bool:
        """Whether some runs of a chunk have no row."""
        return not all(run.run_id in self.done for run in chunk.runs)

    def known_of(self, chunk: Chunk) -> dict[str, Numbers]:
        """The numbers of the runs of an unfinished chunk that are there already."""
        ids = {run.run_id for run in chunk.runs}
        found = {run_id: self.known[run_id] for run_id in ids & self.known.keys()}
        if ids & self.done - found.keys():  # rows beside failed runs, or of another machine's
            rows = stored_numbers(run_files(self.folder), self.kinds)
            found |= {run_id: rows[run_id] for run_id in ids & rows.keys()}
        return found

    def in_journal(self, chunk: Chunk) -> dict[str, Numbers]:
        """The numbers that workers have left of a chunk."""
        return read_journals(self.folder, chunk.id)[0]

    def add(self, chunk: Chunk, numbers: Mapping[str, Numbers], failed: Mapping[str, str]) -> None:
        """Write what a worker sent that does not see this folder."""
        with Journal(self.folder, chunk.id) as lines:
            lines.add({}, failed)
            write_chunk(self.folder, chunk, numbers, self.kinds, is_done=not failed)

    def close(self, is_complete: bool) -> None:
        """Remove doubles, and what only unfinished sweeps need."""
        self._remove_doubles()
        if is_complete:
            shutil.rmtree(self.folder / journal.FOLDER, ignore_errors=True)

    def _remove_doubles(self) -> None:
        """Remove the files all of whose rows are in a larger one: a query of all files counts each run once."""
        files = {file.name: file for file in run_files(self.folder)}
        ids = stored_ids(list(files.values()))
        homes: dict[str, list[str]] = {}
        for name, own in ids.items():
            for run_id in own:
                homes.setdefault(run_id, []).append(name)
        for name, own in ids.items():
            others = homes[next(iter(own))] if own else []
            if any(own < ids[other] for other in others):
                files[name].unlink(missing_ok=True)

    def _text(self) -> str:
        return read_text(self.folder / STUDY) if (self.folder / STUDY).exists() else ""

    def _check_and_make(self, text: str, all_ids: set[str]) -> None:
        where = f"--out {self.folder}"
        try:
            if self.folder.exists() and not self.folder.is_dir():
                raise InputError([Problem(where, "a folder", "a file", "Give another name.")])
            names = {entry.name for entry in self.folder.iterdir()} if self.folder.is_dir() else set()
            if names and not (RUNS in names and (STUDY in names or names <= {RUNS, journal.FOLDER})):
                found = ", ".join(sorted(names)[:3])
                raise InputError([Problem(where, "a new or empty folder, or that of the same sweep", found)])
            (self.folder / RUNS).mkdir(parents=True, exist_ok=True)
            if not os.access(self.folder / RUNS, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as wrong:
            raise InputError([problem_of(where, "a folder that can be written", wrong)]) from None
        stored = set().union(*stored_ids(run_files(self.folder)).values())
        if other := len(stored - all_ids):
            found = f"{other} of {len(stored)} runs there that are none of this study's"
            if self._text() == text:
                remedy = (
                    "The study is the same, but a file that it names, a policy's code or VineSim's version is not: "
                    "give another folder, or remove this one."
                )
            else:
                remedy = "Give another folder. (A study that has grown can go on in its folder.)"
            raise InputError([Problem(where, "a new folder, or that of this study", found, remedy)])

    def _take_over(self, chunks: Sequence[Chunk]) -> None:
        """Cut the rows of the study as it was into the chunks of the study as it is.

        At every moment each of them is in a file or in a journal, so it may be broken off and done again.
        """
        files = run_files(self.folder)
        if not files and not self.known:
            return
        axes = read_study(self.folder / STUDY).columns if (self.folder / STUDY).exists() else tuple(self.kinds)
        self.known = stored_numbers(files, axes) | self.known
        with Journal(self.folder, KEPT) as kept:
            kept.add(self.known, {})
        whole = [chunk for chunk in chunks if all(run.run_id in self.known for run in chunk.runs)]
        for chunk in whole:
            write_chunk(self.folder, chunk, self.known, self.kinds, is_done=True)
        names = {f"{chunk.id}.parquet" for chunk in whole}
        for file in files:
            if file.name not in names:
                file.unlink()


def read_folder(folder: Path) -> dict[str, str]:
    """The messages of failed runs by id, of a folder that is a sweep. Raises :class:`InputError` for any other."""
    if not (folder / STUDY).is_file():
        found = "no study.yaml there" if folder.is_dir() else "no such folder"
        raise InputError([Problem(str(folder), "the folder of a sweep", found, "vinesim sweep STUDY.yaml --out DIR")])
    return read_journals(folder)[1]
