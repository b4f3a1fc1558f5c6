"""The rules of a trace file, checked on whole columns. Line numbers are determined only for messages."""

import os
from collections.abc import Sequence

import numpy as np

from vinesim.formats.papers.lines import locate
from vinesim.model.arrays import distinct
from vinesim.model.catalog import ProcessorType, TaskType
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import MAX_PROBLEMS, InputError, Problem

TASK_TYPE, DATA_SIZE, DATA_X, DATA_Y, OPERATIONS, PREFERRED_TYPE, JOB_ID = range(7)
_MAX_COORDINATE = 2**31 - 1


class _Findings:
    """Problems as (row, field), reported in the order of the file."""

    def __init__(self) -> None:
        self.n = 0
        self.found: list[tuple[int, int, str, str, str]] = []

    def add(self, rows: np.ndarray, field: int, values: np.ndarray, expected: str, remedy: str = "") -> None:
        self.n += len(rows)
        self.found += [(int(r), field, expected, str(values[r]), remedy) for r in rows[:MAX_PROBLEMS]]

    def tell(self, path: str | os.PathLike[str]) -> None:
        if not self.found:
            return
        first = sorted(self.found)[:MAX_PROBLEMS]
        places = locate(path, [(row, field) for row, field, *_ in first])
        problems = [
            Problem(where, expected, found, remedy)
            for where, (_, _, expected, found, remedy) in zip(places, first, strict=True)
        ]
        raise InputError(problems, self.n)


def check_trace(
    path: str | os.PathLike[str],
    columns: Sequence[np.ndarray],
    first: np.ndarray,
    processor_types: Sequence[ProcessorType],
    task_types: Sequence[TaskType],
    datacenter: Datacenter | None = None,
    affinity: np.ndarray | None = None,
) -> None:
    """Raise :class:`InputError` with the places of all violations; ``first`` is the first row of each job."""
    findings = _Findings()
    known_tasks = ", ".join(f"{code} {t.name}" for code, t in enumerate(task_types))
    known_units = ", ".join(f"{code} {p.name}" for code, p in enumerate(processor_types))
    n_racks = datacenter.n_racks if datacenter else _MAX_COORDINATE + 1
    n_shelves = datacenter.n_shelves if datacenter else _MAX_COORDINATE + 1
    limits = (
        (TASK_TYPE, len(task_types), f"task_type: one of {known_tasks}", "Define the type in a scenario file."),
        (DATA_X, n_racks, f"data_x: a rack of the deployment, 0 to {n_racks - 1}", ""),
        (DATA_Y, n_shelves, f"data_y: a shelf of the deployment, 0 to {n_shelves - 1}", ""),
        (PREFERRED_TYPE, len(processor_types), f"preferred_type: one of {known_units}", ""),
    )
    for field, end, expected, remedy in limits:
        if len(columns[field]) and columns[field].max() >= end:
            findings.add(np.flatnonzero(columns[field] >= end), field, columns[field], expected, remedy)
    _check_jobs(findings, columns[TASK_TYPE], columns[JOB_ID], first)
    if datacenter is not None and affinity is not None:
        _check_runnable(findings, columns[TASK_TYPE], first, task_types, datacenter, affinity)
    findings.tell(path)


def _check_jobs(findings: _Findings, task_type: np.ndarray, job: np.ndarray, first: np.ndarray) -> None:
    """Check that the tasks of a job have one type and consecutive lines."""
    differs = np.flatnonzero((task_type[1:] != task_type[:-1]) & (job[1:] == job[:-1])) + 1
    remedy = "All tasks of a job have one type: split the job."
    findings.add(differs, TASK_TYPE, task_type, "the task type of the job's previous line", remedy)
    ids = job[first]
    if (ids[1:] > ids[:-1]).all():  # usual in traces, and needs no sorting
        return
    order = np.argsort(ids, kind="stable")
    again = np.sort(first[order[1:][ids[order[1:]] == ids[order[:-1]]]])
    findings.add(again, JOB_ID, job, "a new job_id", "Put the lines of a job together.")


def _check_runnable(
    findings: _Findings,
    task_type: np.ndarray,
    first: np.ndarray,
    task_types: Sequence[TaskType],
    datacenter: Datacenter,
    affinity: np.ndarray,
) -> None:
    """Check that some unit can run each job's type; report each type once, at its first job."""
    runs = affinity[distinct(datacenter.unit_type)].max(axis=0) > 0
    for code in distinct(task_type[first]):
        if code < len(task_types) and not runs[code]:
            row = first[task_type[first] == code][:1]
            units = ", ".join(datacenter.count_by_type())
            expected = f"a task type that a unit of the deployment ({units}) can run"
            findings.add(row, TASK_TYPE, task_type, expected, f"Add a unit that runs {task_types[code].name}.")
