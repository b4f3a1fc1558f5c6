"""The runs of a plan: requested by point and replication, run by the workers of a sweep, kept in the plan's folder.

Each run's numbers get what the datacenter costs over the years: purchase and rent, and electricity and carbon in
proportion to the run.
"""

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from vinesim.formats.study.text import to_yaml
from vinesim.metrics.numbers import Numbers
from vinesim.metrics.serving import per_million_tokens
from vinesim.model.errors import InputError
from vinesim.model.plan import Costs, Plan
from vinesim.model.time import US_PER_HOUR, US_PER_S
from vinesim.plans.hardware import HOURS_PER_YEAR
from vinesim.plans.screen import Screened
from vinesim.plans.space import Space
from vinesim.plans.unfinished import number_of, why_broken
from vinesim.studies.chunks import TaskCount, chunks
from vinesim.studies.layout import Layout
from vinesim.studies.origin import Origin
from vinesim.studies.parts import RUNS, is_whole, run_files
from vinesim.studies.rows import stored_numbers, stored_places
from vinesim.studies.run import Run
from vinesim.studies.store import Store
from vinesim.studies.worker_pool import WorkerPool

MANY = 1000  # work items; more than there are workers


class Runs:
    """The finished runs of a plan by point, and the workers that do more.

    Attributes:
        n_asked: runs of the search, whether they were found or done.
        n_beyond: runs beyond the budget: of neighbours, and those that confirm.
        n_done: of all these, done now.
        does_more: whether missing runs can be asked for.
    """

    does_more = True

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
        layout = Layout.of(plan.space)
        origin = Origin.of_study(plan.space, plan.files)
        self.kept = origin.study(plan.space, folder)  # the space as it is in the folder
        text = "" if in_memory else to_yaml(self.kept, folder)
        files = [file for file in run_files(folder) if is_whole(file)] if (folder / RUNS).is_dir() else []
        self.store = Store(folder, text, [], self._own_ids(files), layout)
        if not in_memory:
            origin.write(folder, "plan", sys.argv, file=origin.place(plan.files[0]).as_posix() if plan.files else "")
        self._known = stored_numbers(run_files(folder), layout.kinds) | self.store.known
        self._pool = WorkerPool(space.points, self.store, choice, on_message, n_items=MANY)
        self._count = TaskCount(plan.space)
        self._ids: dict[tuple[int, int], str] = {}
        self._asked: set[str] = set()
        self.n_asked = self.n_beyond = self.n_done = 0

    def _own_ids(self, files: Sequence[Path]) -> set[str]:
        """Return the ids of stored runs that belong to this space."""
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
        self.n_beyond += len(runs) * (not counts)
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
            if reason := why_broken(self._known[run_id], self.plan.names):
                return reason
        return ""

    @property
    def used(self) -> set[str]:
        """The ids of all successful runs that were requested: by the search and for the confirmation."""
        return self._asked & self._known.keys()

    def values(self, point: int, replications: range, names: Iterable[str]) -> dict[str, np.ndarray]:
        """Return numbers of a point, one value per replication; NaN where a run has none."""
        rows = [
            with_costs(self._known[self._ids[point, r]], self._screened.known[point], self.plan.costs)
            for r in replications
        ]
        return {name: np.array([number_of(row, name) for row in rows]) for name in names}

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


G_PER_TONNE = 1e6


def with_costs(run: Numbers, known: dict[str, float], costs: Costs | None) -> Numbers:
    """Return the numbers of a run together with the costs of the plan.

    Electricity, carbon and tokens of the years are those of the run, as if the years consisted of such runs.
    """
    found: Numbers = {**run, **known}
    costs = costs or Costs()
    makespan = _number(run, "makespan_us")
    times = costs.years * HOURS_PER_YEAR * US_PER_HOUR / makespan if makespan > 0 else math.nan
    electricity, carbon = _number(run, "energy.cost"), _number(run, "energy.carbon_g")
    found["cost.electricity"] = bill = electricity * times
    found["cost.carbon"] = tax = carbon / G_PER_TONNE * times * costs.carbon_per_tonne
    paid = [known["cost.purchase"], known["cost.rent"]]
    if not math.isnan(electricity):
        paid.append(bill)
    if costs.carbon_per_tonne > 0:
        paid.append(tax)
    found["cost.total"] = total = float(np.sum(paid))
    n_tokens = _number(run, "serving.output_tokens_per_s") * costs.years * HOURS_PER_YEAR * US_PER_HOUR / US_PER_S
    found["cost.per_million_tokens"] = float(per_million_tokens(total, n_tokens))
    return found


def _number(run: Numbers, name: str) -> float:
    value = run.get(name, math.nan)
    return value if isinstance(value, float | int) else math.nan
