"""The result of a run: tables, numbers, why it ended, where it came from, and what can be asked of it."""

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from vinesim.formats.results.folder import write_result
from vinesim.formats.results.notebook import summary_html
from vinesim.formats.results.table import Table
from vinesim.metrics.by import TABLES, by
from vinesim.model.result import ExitReason, Outcome


class Result:
    """The result of one run. Its tables and summary are computed when they are first used."""

    def __init__(
        self,
        outcome: Outcome,
        provenance: Callable[[], dict[str, Any]],
        tables: Mapping[str, Callable[[], Table | None]],
        summarize: Callable[[], dict[str, Any]],
    ):
        self.outcome = outcome
        self._provenance = provenance
        self._tables = tables
        self._summarize = summarize

    def __repr__(self) -> str:
        n_tasks, n_units = len(self.outcome.task_unit), len(self.outcome.unit_order)
        n_done = int(np.isfinite(self.outcome.task_finish_us).sum())
        policy = self.provenance["policy"]
        return f"Result({self.exit_reason}: {n_done:,} of {n_tasks:,} tasks on {n_units:,} units, policy {policy})"

    def _repr_html_(self) -> str:
        return summary_html(self.summary, self.jobs)

    def by(self, axis: str) -> Table:
        """Return a row per user, partition, application, account, qos, task_type, size class or hour of arrival: waits,
        latencies, slowdown, utilisation, energy and cost. Raises :class:`InputError` for an axis that it lacks."""
        return by({name: getattr(self, name) for name in TABLES}, self.summary, axis)

    def save(self, folder: str | Path) -> None:
        """Write the summary and the tables to a folder, as ``vinesim run --out`` does. Raises :class:`InputError`."""
        write_result(folder, self)

    def report(self, path: str | Path = "report.html") -> Path:
        """Write the page of ``vinesim report`` and return where it is. Raises :class:`InputError`."""
        from vinesim.report.page import write_page  # not loaded before: few runs write a page
        from vinesim.report.run import run_page

        with TemporaryDirectory(prefix="vinesim-report-") as folder:
            self.save(folder)
            write_page(run_page(Path(folder)), path)
        return Path(path)

    @property
    def exit_reason(self) -> ExitReason:
        """Why the run ended."""
        return self.outcome.exit_reason

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """The origin of the result: version, content id, seed, policy with options, engine, wall time."""
        return self._provenance()

    @cached_property
    def tasks(self) -> Table:
        """One row per task, in trace order."""
        return self._tables["tasks"]()  # type: ignore[return-value]

    @cached_property
    def segments(self) -> Table | None:
        """One row per stay of a task on a unit; None if each task had one at most, until it was done."""
        return self._tables["segments"]()

    @cached_property
    def jobs(self) -> Table:
        """One row per job, in trace order."""
        return self._tables["jobs"]()  # type: ignore[return-value]

    @cached_property
    def units(self) -> Table:
        """One row per unit, in (rack, shelf) order."""
        return self._tables["units"]()  # type: ignore[return-value]

    @cached_property
    def utilization(self) -> Table | None:
        """One row per interval and group; None without sampling."""
        return self._tables["utilization"]()

    @cached_property
    def periods(self) -> Table | None:
        """One row per period of a batch policy, or per ``n_periods`` identical ones; None for an online policy."""
        return None if self.outcome.periods is None else Table(self.outcome.periods)

    @cached_property
    def applications(self) -> Table | None:
        """One row per application with requests; None unless jobs have applications and deadlines."""
        return self._tables["applications"]()

    @cached_property
    def labels(self) -> Table | None:
        """One row per job: its partition, user and application; None if the workload has none of these."""
        return self._tables["labels"]()

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The numbers of summary.json."""
        return {**self.measured, "provenance": self.provenance}

    @cached_property
    def measured(self) -> dict[str, Any]:
        """The same without the provenance, whose ids take as long as a short run."""
        return self._summarize()
