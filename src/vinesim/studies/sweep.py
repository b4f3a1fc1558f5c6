"""Run a study: do all runs that are not done yet on one of the back-ends, and keep them in a folder or in memory."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from vinesim.formats.results.table import Table
from vinesim.formats.study.file import read_study
from vinesim.formats.study.file import study as study_of
from vinesim.formats.study.text import to_yaml
from vinesim.model.errors import InputError, Problem
from vinesim.model.study import Axis, Study
from vinesim.policies.documents import checked_scenario
from vinesim.studies.check import check_points
from vinesim.studies.chunks import chunks
from vinesim.studies.damage import intact_parts
from vinesim.studies.expand import Points, expand
from vinesim.studies.layout import Layout
from vinesim.studies.origin import Origin
from vinesim.studies.rows import read_rows
from vinesim.studies.run import Run
from vinesim.studies.seeds import Seeds
from vinesim.studies.store import Store, open_folder
from vinesim.studies.until import next_round


@dataclass(frozen=True)
class SweepProgress:
    """The progress of a sweep."""

    n_done: int  # runs that are finished or failed, including those found in the folder
    n_found: int  # runs found in the folder at the beginning
    n_runs: int  # runs of the study known now; `until` may add more
    n_failed: int


@dataclass(frozen=True)
class Failure:
    """A run that gave no numbers: its place in the study, and why."""

    point: Mapping[str, Any]
    seed: int
    message: str


@dataclass(frozen=True, eq=False)
class Sweep:
    """A study and the rows of its runs."""

    study: Study
    failures: tuple[Failure, ...]
    n_runs: int  # requested
    n_found: int  # of the requested runs, found in the folder
    folder: Path | None  # None: the rows are only in memory
    _rows: Table | None = None

    def __repr__(self) -> str:
        failed = f", {len(self.failures):,} failed" if self.failures else ""
        return f"Sweep({self.study}{failed}, {'in memory' if self.folder is None else self.folder})"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.table._repr_html_()}"

    @cached_property
    def table(self) -> Table:
        """One row per finished run, in the order of the study: run_id, point, replication, seed, axes, numbers."""
        return self._rows if self._rows is not None else read_rows(intact_parts(self.folder or Path()))


def sweep(
    study: Study | Mapping[str, Any] | str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    backend: str = "loky",
    workers: int | None = None,
    address: str | None = None,
    shard: tuple[int, int] | None = None,
    on_progress: Callable[[SweepProgress], object] | None = None,
    on_message: Callable[[str], None] | None = None,
) -> Sweep:
    """Run the missing runs of a study and return all its rows. ``study`` may also be a study file or its mapping.

    ``out`` is the sweep's folder. Finished runs in it are kept, whatever happens, and not repeated. Without ``out``,
    the rows are only in memory. ``backend`` is loky (processes on this machine), dask or ray. It uses ``workers``
    processes (None: one per core; 1: this process), or the cluster at ``address``. ``shard=(k, n)`` runs only the k-th
    of n parts. ``on_progress`` is called when a chunk of runs is finished, ``on_message`` with lines for the user.
    Raises :class:`InputError` for a study, folder or back-end that cannot be used. Failed runs are in ``failures``.
    """
    from vinesim.studies.backends import check_backend

    check_backend(backend, workers, address)
    _check_shard(shard)
    if not isinstance(study, Study):
        study = study_of(study) if isinstance(study, Mapping) else read_study(study, checked_scenario)
    if shard is not None and study.until is not None:
        raise InputError([Problem("--shard", "a study without until", "until, which needs all runs of a point")])
    check_points(_corners(study))
    with _place(out) as folder:
        return _sweep(
            study, folder, out is None, (backend, workers, address), shard, on_progress, on_message or (lambda _: None)
        )


def _sweep(
    study: Study,
    folder: Path,
    in_memory: bool,
    choice: tuple[str, int | None, str | None],
    shard: tuple[int, int] | None,
    on_progress: Callable[[SweepProgress], object] | None,
    on_message: Callable[[str], None],
) -> Sweep:
    from vinesim.studies.worker_pool import WorkerPool  # imports the compiler, not needed for reading a sweep

    points = Points(study)
    runs = points.all_runs(study.replications)
    seeds = Seeds(study) if study.replications > 1 or study.until is not None else None
    todo = chunks(study, runs, seeds=seeds)
    origin = Origin.of_study(study)
    text = "" if in_memory else to_yaml(origin.study(study, folder), folder)
    store = Store(folder, text, todo, _possible_ids(points, runs), Layout.of(study))
    if not in_memory:
        origin.write(folder, "sweep", sys.argv)
    n_runs = n_found = n_done = 0
    pool = WorkerPool(points, store, choice, on_message)

    def report(n: int) -> None:
        nonlocal n_done
        n_done += n
        if on_progress is not None:
            on_progress(SweepProgress(n_done, n_found, n_runs, len(pool.failed)))

    by_id = {run.run_id: run for run in runs}
    asked: set[str] = set()
    counts = dict.fromkeys(range(study.n_points), study.replications)
    try:
        while todo:
            mine = todo if shard is None else todo[shard[0] - 1 :: shard[1]]
            asked |= {run.run_id for chunk in mine for run in chunk.runs}
            unfinished = [chunk for chunk in mine if store.missing(chunk)]
            found = sum(map(store.n_found, mine))
            n_runs += sum(len(chunk.runs) for chunk in mine)
            n_found += found
            report(found)
            pool.do(unfinished, report)
            more = [] if study.until is None else next_round(points, counts, read_rows(intact_parts(folder)))
            by_id |= {run.run_id: run for run in more}
            todo = chunks(study, more, seeds=seeds)
    finally:
        pool.close()
    if lost := store.close({*by_id}) & asked - pool.failed.keys():
        remedy = "Repeat the command: it does them."
        raise InputError(
            [Problem(f"--out {folder}", "a row or a reason for every run", f"{len(lost)} runs with neither", remedy)]
        )
    rows = read_rows(intact_parts(folder)) if in_memory else None
    return Sweep(study, _failures(by_id, pool.failed), n_runs, n_found, None if in_memory else folder, rows)


def read_sweep(folder: str | os.PathLike[str]) -> Sweep:
    """Return the sweep in a folder, with the rows found there; a run found twice appears once.

    Raises :class:`InputError` for a folder that is not a sweep, or has damaged files.
    """
    path = Path(folder)
    found = open_folder(path)
    study = found.study
    runs = {run.run_id: run for run in expand(study)} if found.failed else {}
    return Sweep(study, _failures(runs, found.failed), study.n_runs, study.n_runs, path)


def _failures(runs: Mapping[str, Run], failed: Mapping[str, str]) -> tuple[Failure, ...]:
    """Return the failures in the order of the study."""
    return tuple(Failure(run.point, run.seed, failed[run_id]) for run_id, run in runs.items() if run_id in failed)


def _possible_ids(points: Points, runs: Sequence[Run]) -> set[str]:
    """Return the ids of all runs that the study may request."""
    study = points.study
    if study.until is not None and study.until.at_most > study.replications:
        runs = points.all_runs(study.until.at_most)
    return {run.run_id for run in runs}


def _corners(study: Study) -> Study:
    """Return the study with only the first and last value of its numeric axes, for the check before any run."""
    return replace(study, axes=tuple(_ends(axis) for axis in study.axes))


def _ends(axis: Axis) -> Axis:
    is_numeric = all(isinstance(value, int | float) for label in axis.labels for value in label)
    if not is_numeric or len(axis) < 3:
        return axis
    return Axis(axis.columns, (axis.labels[0], axis.labels[-1]), (axis.settings[0], axis.settings[-1]))


def _check_shard(shard: tuple[int, int] | None) -> None:
    if shard is not None and not 1 <= shard[0] <= shard[1]:
        raise InputError([Problem("--shard", "K/N with K from 1 to N, such as 1/2", f"{shard[0]}/{shard[1]}")])


@contextmanager
def _place(out: str | os.PathLike[str] | None) -> Iterator[Path]:
    """Yield the sweep's folder, or a temporary one that is removed afterwards."""
    if out is not None:
        yield Path(out)
    else:
        with tempfile.TemporaryDirectory(prefix="vinesim-sweep-") as folder:
            yield Path(folder)
