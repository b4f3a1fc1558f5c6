"""The runs of a plan: asked for by point and replication, done by the workers of a sweep, kept in its folder."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from vinesim.formats.study.text import to_yaml
from vinesim.metrics.numbers import Numbers
from vinesim.model.errors import InputError
from vinesim.model.plan import Plan
from vinesim.plans.costs import with_costs
from vinesim.plans.screen import Screened
from vinesim.plans.space import Space
from vinesim.studies.chunks import TaskCount, chunks
from vinesim.studies.layout import Layout
from vinesim.studies.parts import RUNS, is_whole, run_files
from vinesim.studies.rows import stored_numbers, stored_places
from vinesim.studies.run import Run
from vinesim.studies.store import Store
from vinesim.studies.worker_pool import WorkerPool

MANY = 1000  # work items; more than there are workers
ENDED = {  # why a run counts as broken
    "STALLED": "a run stalled: some tasks can never start",
    "HORIZON": "a run reached the horizon with jobs unfinished",
    "INTERRUPTED": "a run was interrupted",
}
NOT_STARTED = ("jobs.started", "jobs.withdrawn")  # a limit on one says how many jobs may be withdrawn before they start
ALLOW = f"limit {' or '.join(NOT_STARTED)} if some may be"


class Runs:
    """The finished runs of a plan by point, and the workers that do more."""

    def __init__(
        self,
        plan: Plan,
        space: Space,
        screened: Screened,
        folder: Path,
        choice: tuple[str, int | None, str | None] = ("loky", None, None),
        *,
        in_memory: bool = False,
        on_message: Callable[[str], None] = lambda _: None,
        on_run: Callable[[int], None] = lambda _: None,
    ):
        """Open or create the folder. Raises :class:`InputError` for one that holds something else."""
        self.plan, self.space, self._screened, self._on_run = plan, space, screened, on_run
        self._may_be_withdrawn = any(limit.number in NOT_STARTED for limit in plan.limits)
        layout = Layout.of(plan.space)
        text = "" if in_memory else to_yaml(plan.space, folder)
        files = [file for file in run_files(folder) if is_whole(file)] if (folder / RUNS).is_dir() else []
        self.store = Store(folder, text, [], self._own_ids(files), layout)
        self._known = stored_numbers(run_files(folder), layout.kinds) | self.store.known
        self._pool = WorkerPool(space.points, self.store, choice, on_message, n_items=MANY)
        self._count = TaskCount(plan.space)
        self._ids: dict[tuple[int, int], str] = {}
        self._asked: set[str] = set()
        self.n_asked = 0  # runs of the search, whether they were found or done
        self.n_done = 0  # of these, done now

    def _own_ids(self, files: Sequence[Path]) -> set[str]:
        """Return the ids of stored runs that are those of this space."""
        found = set()
        for run_id, (point, replication) in stored_places(files).items():
            if point < self.space.n and self.space.points.runs(point, [replication])[0].run_id == run_id:
                found.add(run_id)
        return found

    def ask(self, wanted: Iterable[tuple[int, range]], *, counts: bool = True) -> None:
        """Have these replications of these points done, unless they are; ``counts``: as runs of the search."""
        runs = [run for point, replications in wanted for run in self._runs(point, replications)]
        runs = [run for run in runs if run.run_id not in self._asked]
        self._asked |= {run.run_id for run in runs}
        self.n_asked += len(runs) * counts
        missing = [run for run in runs if run.run_id not in self.store.part and run.run_id not in self._pool.failed]
        todo = chunks(self.plan.space, self._buildable(missing), self._count)
        self._pool.do(todo, self._on_run)
        for chunk in todo:
            self.n_done += sum(run.run_id not in self._known for run in chunk.runs)
            self._known |= self.store.known_of(chunk)

    def _runs(self, point: int, replications: range) -> list[Run]:
        runs = self.space.points.runs(point, replications)
        self._ids |= {(point, run.replication): run.run_id for run in runs}
        return runs

    def _buildable(self, runs: list[Run]) -> list[Run]:
        """Return the runs whose scenario can be built; note why others cannot."""
        found, wrong = [], dict[int, str]()
        for run in runs:
            if run.point_number not in wrong:
                try:
                    self._count.of(run)
                except InputError as error:
                    wrong[run.point_number] = "; ".join(str(problem) for problem in error.problems)
            if run.point_number in wrong:
                self._pool.failed[run.run_id] = wrong[run.point_number]
            else:
                found.append(run)
        return found

    def why(self, point: int, replications: range) -> str:
        """Return why a point cannot keep the limits whatever its numbers are: a run that failed or did not finish."""
        for replication in replications:
            run_id = self._ids[point, replication]
            if run_id in self._pool.failed:
                return self._pool.failed[run_id]
            numbers = self._known[run_id]
            reason = str(numbers.get("exit_reason"))
            if reason in ENDED and is_unfinished(numbers):
                return ENDED[reason]
            if is_unfinished(numbers):
                return "a run left jobs unfinished"
            if not self._may_be_withdrawn and _float(numbers, "jobs.started") < _float(numbers, "jobs.count"):
                return f"a run left jobs waiting until they were withdrawn: {ALLOW}"
        return ""

    def values(self, point: int, replications: range, names: Iterable[str]) -> dict[str, np.ndarray]:
        """Return numbers of a point, one value per replication; NaN where a run has none."""
        rows = [
            with_costs(self._known[self._ids[point, r]], self._screened.known[point], self.plan.costs)
            for r in replications
        ]
        return {name: np.array([_float(row, name) for row in rows]) for name in names}

    def close(self) -> None:
        """End the workers and put the folder in order."""
        self._pool.close()
        self.store.close({run_id for run_id in self._asked if run_id in self._known})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if kind is None or issubclass(kind, KeyboardInterrupt):
            self.close()
        else:
            self._pool.close()


def is_unfinished(numbers: Numbers) -> bool:
    """Whether a run left jobs that are not over; a job is over too if its limit killed it or it was withdrawn."""
    over = [_float(numbers, f"jobs.{name}") for name in ("finished", "killed", "withdrawn")]
    return float(np.nansum(over)) < _float(numbers, "jobs.count")


def _float(numbers: Mapping[str, float | str], name: str) -> float:
    value = numbers.get(name, math.nan)
    return float(value) if isinstance(value, int | float) else math.nan
