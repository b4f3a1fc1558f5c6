"""Run the chunks of a sweep on a back-end, and deal with workers that die."""

import pickle
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from vinesim.formats.source.files import problem_of
from vinesim.formats.study.text import inlined
from vinesim.model.errors import InputError, InputWarning, Problem
from vinesim.model.study import Study
from vinesim.studies import journal
from vinesim.studies.backends import Backend, WorkerDied, open_backend
from vinesim.studies.backends.here import Here
from vinesim.studies.chunks import Chunk, chunk_of
from vinesim.studies.expand import Points
from vinesim.studies.parts import write_chunk
from vinesim.studies.store import Store
from vinesim.studies.work import Done, WorkItem, forget, know

MAX_DEATHS = 3  # worker deaths after which a run is given up


@dataclass
class WorkerPool:
    """The workers of one sweep, started when there is something to do.

    Attributes:
        failed: messages of the runs that failed, by run id.
        n_items: how many chunks there will be, for the number of workers; None: as many as are given first.
    """

    points: Points
    store: Store
    choice: tuple[str, int | None, str | None]  # back-end, workers, address
    on_message: Callable[[str], None]
    failed: dict[str, str] = field(default_factory=dict)
    n_items: int | None = None
    _backend: Backend | None = None
    _study: bytes = b""
    _warned: set[str] = field(default_factory=set)
    _split: list[Chunk] = field(default_factory=list)  # chunks whose runs are done one by one
    _token: Path = field(default_factory=lambda: Path(journal.FOLDER, f"{uuid4().hex}.open"))

    def do(self, chunks: Sequence[Chunk], report: Callable[[int], None]) -> None:
        """Do the chunks; ``report`` is called with the number of new runs of each finished chunk.

        Raises :class:`InputError` if the workers cannot do anything, or the folder cannot be written.
        """
        if not chunks:
            return
        if self._backend is None:
            self._open(self.n_items or len(chunks))
        backend, waiting, in_hand = self._backend, deque(map(self._item, chunks)), 0
        assert backend is not None
        while waiting or in_hand:
            while waiting and in_hand < backend.n_slots and (not in_hand or not self._goes_alone(waiting[0])):
                item = waiting.popleft()
                backend.submit(item)
                in_hand += 1
                if self._goes_alone(item):
                    break
            for finished in backend.finished():
                in_hand -= 1
                item, outcome = finished.item, finished.outcome
                if isinstance(outcome, WorkerDied) and not _is_guilty(item):
                    again = self._again(item)
                    report(len(item.chunk.runs) - len(item.known) - sum(len(one.chunk.runs) for one in again))
                    waiting.extend(again)
                    continue
                self._take(item.chunk, outcome if isinstance(outcome, Done) else _given_up(item, outcome))
                report(len(item.chunk.runs) - len(item.known))
        with self._writing():
            for chunk in self._split:
                found = self.store.known_of(chunk)
                write_chunk(self.store.folder, chunk, found, self.store.layout, len(found) == len(chunk.runs))
                self.store.record_chunk(chunk, {run.run_id: "" for run in chunk.runs if run.run_id not in found})
        self._split.clear()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Write to the folder only while it belongs to this sweep, so that results never end up elsewhere."""
        where = f"--out {self.store.folder}"
        try:
            if self._backend is not None:
                (self.store.folder / self._token).stat()
            yield
        except FileNotFoundError:
            remedy = "Finished runs went with it: to continue, give its new name as --out."
            found = "it was moved or removed while the sweep ran"
            raise InputError([Problem(where, "the folder of this sweep", found, remedy)]) from None
        except OSError as wrong:
            raise InputError([problem_of(where, "a writable folder", wrong)]) from None

    def close(self) -> None:
        """End the workers, even if they are busy."""
        try:
            if self._backend is not None:
                self._backend.close()
        finally:
            forget(self._study)
            (self.store.folder / self._token).unlink(missing_ok=True)

    def _open(self, n_chunks: int) -> None:
        with self._writing():
            token = self.store.folder / self._token
            token.parent.mkdir(exist_ok=True)
            token.touch()
        self._backend = open_backend(*self.choice, n_chunks, self.on_message)
        if isinstance(self._backend, Here):
            self._study = str(self._token).encode()
            know(self.points.study, self._study)
        else:
            self._study = _pickled(self.points.study)

    def _item(self, chunk: Chunk) -> WorkItem:
        return WorkItem(
            chunk,
            self.store.known_of(chunk),
            self._study,
            self.points.files,
            str(self.store.folder.absolute()),
            str(self._token),
        )

    def _take(self, chunk: Chunk, done: Done) -> None:
        for text in sorted({*done.warnings} - self._warned):  # each worker may report the same
            self._warned.add(text)
            warnings.warn(text, InputWarning, stacklevel=2)
        with self._writing():
            if done.refused is not None:
                raise InputError([done.refused])
            if done.numbers is not None:
                self.store.add(chunk, done.numbers, done.failed)
        self.failed |= done.failed
        self.store.record_chunk(chunk, done.failed)

    def _goes_alone(self, item: WorkItem) -> bool:
        """Whether the item must run alone, so that a worker's death shows which item caused it."""
        assert self._backend is not None
        return item.n_deaths >= MAX_DEATHS - 1 and not self._backend.blames_exactly

    def _again(self, item: WorkItem) -> list[WorkItem]:
        """Return what to try after a worker's death: the chunk again, after the next death its runs one by one."""
        n_deaths = item.n_deaths + 1
        if n_deaths < MAX_DEATHS - 1:
            return [replace(item, n_deaths=n_deaths)]
        chunk = item.chunk
        self.store.known |= self.store.in_journal(chunk)
        self._split.append(chunk)
        left = [run for run in chunk.runs if run.run_id not in self.store.known_of(chunk)]
        return [replace(self._item(chunk_of([run])), n_deaths=n_deaths) for run in left]


def _is_guilty(item: WorkItem) -> bool:
    """Whether only this run can have caused the worker deaths, and there have been too many."""
    return len(item.chunk.runs) == 1 and item.n_deaths + 1 >= MAX_DEATHS


def _given_up(item: WorkItem, died: WorkerDied) -> Done:
    return Done({}, {run.run_id: f"{died.why}, {MAX_DEATHS} times" for run in item.chunk.runs})


def _pickled(study: Study) -> bytes:
    """Pickle the study by value, including the classes of policy objects that a script or notebook defined."""
    study = replace(inlined(study), folder=study.folder)
    if all(_is_plain(value) for axis in study.axes for setting in axis.settings for value in setting.values()):
        return pickle.dumps(study)
    import cloudpickle  # installed with joblib

    return cloudpickle.dumps(study)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | list | dict)
