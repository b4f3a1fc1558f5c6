"""Columns of a run's jobs and tasks, of a stored run or of one in memory: what times are computed from."""

from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from vinesim.formats.results.tables import ResultTables
from vinesim.metrics.gaps import waits_us
from vinesim.metrics.tables import Tables
from vinesim.model.result import Table

JobsOrTasks = Literal["jobs", "tasks"]
_NUMBER = {"jobs": "job", "tasks": "task"}
_EARLIER = """
SELECT task, begin_us, held.end_us AS end_us FROM held JOIN tasks USING (task)
WHERE part = 0 AND (init_us IS NULL OR begin_us < init_us) ORDER BY task, segment
"""


class RunColumns(Protocol):
    """Columns by their names in result folders, in the order of the numbers of jobs or tasks; NaN is missing."""

    def of(self, table: JobsOrTasks, *names: str) -> list[np.ndarray]:
        """Return columns of a table; the tasks have ``eligible_us`` too."""

    def task_wait_us(self) -> np.ndarray:
        """Return how long each task waited until its last start, without the time that it held units before."""


class StoredColumns:
    """The columns of a stored run; nothing is kept, so that only those in use take memory."""

    def __init__(self, result: ResultTables):
        self._result = result

    def of(self, table: JobsOrTasks, *names: str) -> list[np.ndarray]:
        """As of any run."""
        query = f"SELECT {', '.join(names)} FROM {table} ORDER BY {_NUMBER[table]}"  # noqa: S608
        found = self._result.columns(query)
        return [found[name] for name in names]

    def task_wait_us(self) -> np.ndarray:
        """As of any run."""
        init_us, eligible_us = self.of("tasks", "init_us", "eligible_us")
        if "segments" not in self._result.names:
            return init_us - eligible_us
        earlier = self._result.columns(_EARLIER)
        return waits_us(init_us, eligible_us, earlier["task"], earlier["begin_us"], earlier["end_us"])


class ColumnsInMemory:
    """The columns of a single run in memory."""

    def __init__(self, tables: Tables):
        self._tables = tables

    @cached_property
    def _known(self) -> dict[JobsOrTasks, Table]:
        tasks = Table({**self._tables.tasks(), "eligible_us": self._tables.task_eligible_us})
        return {"jobs": self._tables.jobs(), "tasks": tasks}

    def of(self, table: JobsOrTasks, *names: str) -> list[np.ndarray]:
        """As of any run."""
        return [self._known[table][name] for name in names]

    def task_wait_us(self) -> np.ndarray:
        """As of any run."""
        return self._tables.task_wait_us
