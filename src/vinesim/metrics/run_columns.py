"""The columns of jobs and tasks from which times are computed, for a stored run or one in memory."""

from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from vinesim.formats.results.table import Table
from vinesim.formats.results.tables import ResultTables
from vinesim.metrics.gaps import given_up_us, waits_us
from vinesim.metrics.segments import Segments
from vinesim.metrics.tables import Tables
from vinesim.model.result import OUTCOMES
from vinesim.model.workload import ONE_SLOT

JobsOrTasks = Literal["jobs", "tasks"]
EVERY_TASK = 2**62  # above the number of any task
_NUMBER = {"jobs": "job", "tasks": "task"}
_EARLIER = """
SELECT task, begin_us, held.end_us AS end_us FROM held JOIN tasks USING (task)
WHERE part = 0 AND (init_us IS NULL OR begin_us < init_us) ORDER BY task, segment
"""
_SEGMENTS = """
SELECT task, segment, part, unit, begin_us, start_us, end_us, amount,
    (list_position($outcomes, outcome) - 1)::TINYINT AS why FROM held ORDER BY part, task, segment
"""
_TO_GIVE_UP = """
SELECT task, init_us, tasks.eligible_us, {given} FROM tasks JOIN jobs USING (job)
WHERE task >= $first AND task < $end ORDER BY task
"""


class RunColumns(Protocol):
    """Columns named as in result folders, in the order of jobs or tasks; NaN marks a missing value."""

    def of(self, table: JobsOrTasks, *names: str) -> list[np.ndarray]:
        """Return columns of a table; tasks also have ``eligible_us``."""

    def task_wait_us(self) -> np.ndarray:
        """Return how long each task waited until its last start, us, without the time that earlier runs held units."""


class StoredColumns:
    """The columns of a stored run. Nothing is cached, so that only columns in use take memory."""

    def __init__(self, result: ResultTables):
        self._result = result

    def of(self, table: JobsOrTasks, *names: str) -> list[np.ndarray]:
        """As of any run."""
        query = f"SELECT {', '.join(names)} FROM {table} ORDER BY {_NUMBER[table]}"  # noqa: S608
        found = self._result.columns(query)
        return [found[name] for name in names]

    def task_wait_us(self) -> np.ndarray:
        """As of any run."""
        return self.wait_until_us(*self.of("tasks", "init_us"))

    def wait_until_us(self, until_us: np.ndarray) -> np.ndarray:
        """Return how long each task waited until a given time, us: its last start, or a time at which it is pending."""
        (eligible_us,) = self.of("tasks", "eligible_us")
        if "segments" not in self._result.names:
            return until_us - eligible_us
        earlier = self._result.columns(_EARLIER)
        return waits_us(until_us, eligible_us, earlier["task"], earlier["begin_us"], earlier["end_us"])

    def segments(self) -> Segments:
        """Return the segments: lead units first, then further units. Tasks that never had a unit have no row."""
        found = self._result.columns(_SEGMENTS, {"outcomes": list(OUTCOMES)})
        key = found["task"].astype(np.int64) * (int(found["segment"].max(initial=0)) + 1) + found["segment"]
        return Segments(
            task=found["task"],
            unit=found["unit"],
            begin_us=found["begin_us"],
            start_us=found["start_us"],
            finish_us=found["end_us"],
            why=found["why"],
            followers=np.empty(0, np.int64),  # they hold nothing
            run_end_us=float(self._result.summary["makespan_us"]),
            demand=ONE_SLOT,
            capacity=self._result.columns("SELECT capacity FROM units ORDER BY unit")["capacity"],
            row=_first_rows(key, found["part"] == 0),
            further_amount=found["amount"],
            is_shared=self._result.is_shared,
        )

    def given_up(self, first: int = 0, end: int = EVERY_TASK) -> tuple[np.ndarray, np.ndarray]:
        """Return [W] the tasks that left the queue without a start during the makespan, and when, us. Only tasks
        ``first`` to ``end`` - 1 are considered."""
        known = {
            name: self._result.has(table, name) for table, name in (("tasks", "dropped_us"), ("jobs", "withdraw_us"))
        }
        if not any(known.values()):
            return np.zeros(0, np.int64), np.zeros(0)
        given = ", ".join(name if is_there else f"NULL::DOUBLE AS {name}" for name, is_there in known.items())
        columns = self._result.columns(_TO_GIVE_UP.format(given=given), {"first": first, "end": end})
        task, end_us = columns.pop("task"), float(self._result.summary["makespan_us"])
        gone_us = given_up_us(**columns, end_us=end_us)
        is_found = np.isfinite(gone_us)
        return task[is_found], gone_us[is_found]


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


def _first_rows(key: np.ndarray, is_first: np.ndarray) -> np.ndarray:
    """Return [S] the index of the first row with each row's key. First rows come before all others, sorted by key."""
    row, n = np.arange(len(key)), int(is_first.sum())
    row[n:] = np.searchsorted(key[:n], key[n:])
    return row
