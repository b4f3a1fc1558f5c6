"""The trace file: one task per line, the tasks of a job on consecutive lines. Source: VineSim report, 5.2.1.

``task_type data_size data_x data_y operations preferred_type job_id``: types are codes, the size is in bytes, x is the
rack and y the shelf of the data. The preferred type ``UNSPECIFIED`` (5) means any. The file holds no arrival times.
"""

import math
import os
from collections.abc import Sequence

import numpy as np

from vinesim.formats.papers.columns import read_columns
from vinesim.formats.papers.lines import Column
from vinesim.formats.papers.trace_checks import check_trace
from vinesim.formats.source.files import replacing
from vinesim.model.catalog import ANY_PROCESSOR, PROCESSOR_TYPES, TASK_TYPES, ProcessorType, TaskType
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError, Problem
from vinesim.model.workload import NO_PREFERENCE, Workload

COLUMNS = (
    Column("task_type"),
    Column("data_size", is_number=True),
    Column("data_x"),
    Column("data_y"),
    Column("operations", is_number=True),
    Column("preferred_type"),
    Column("job_id"),
)
_LINES_A_WRITE = 100_000


def read_trace(
    path: str | os.PathLike[str],
    *,
    arrivals: float | np.ndarray,
    processor_types: Sequence[ProcessorType] = PROCESSOR_TYPES,
    task_types: Sequence[TaskType] = TASK_TYPES,
    datacenter: Datacenter | None = None,
    affinity: np.ndarray | None = None,
) -> Workload:
    """Read the workload of a trace file.

    ``arrivals`` is the inter-arrival time in us (job k arrives at k x IAT, the first at 0), or the arrival time of each
    job in us. With ``datacenter``, its processor types apply and the data must lie in it; with ``affinity`` [P, T] as
    well, some unit must be able to run each task. Raises :class:`InputError` with file, line and column.
    """
    if datacenter is not None:
        processor_types = datacenter.processor_types
    task_type, data_bytes, rack, shelf, operations, preferred, job = columns = read_columns(path, COLUMNS)
    is_first = np.ones(len(job), bool)
    np.not_equal(job[1:], job[:-1], out=is_first[1:])
    first = np.flatnonzero(is_first)
    check_trace(path, columns, first, processor_types, task_types, datacenter, affinity)
    preferred_type = preferred.astype(np.int16)
    names = [p.name for p in processor_types]
    if ANY_PROCESSOR in names:
        preferred_type[preferred_type == names.index(ANY_PROCESSOR)] = NO_PREFERENCE
    return Workload(
        job_task_type=task_type[first],
        job_first=np.append(first, len(job)),
        arrival_us=arrival_times(path, arrivals, len(first)),
        operations=operations,
        data_bytes=data_bytes,
        data_rack=rack,
        data_shelf=shelf,
        preferred_type=preferred_type,
        job_id=job[first],
        task_types=tuple(task_types),
    )


def arrival_times(path: str | os.PathLike[str], arrivals: float | np.ndarray, n_jobs: int) -> np.ndarray:
    """Return when each job of a file arrives, us: job k at k x IAT for a number, or the given times, one per job."""
    if np.ndim(arrivals) == 0:
        iat_us = float(arrivals)
        if not (iat_us >= 0 and math.isfinite(iat_us * n_jobs)):
            raise InputError([Problem("iat", "a finite inter-arrival time in us, 0 or more", f"{iat_us:g}")])
        return np.arange(n_jobs) * iat_us
    times = np.asarray(arrivals, np.float64)
    if len(times) != n_jobs:
        remedy = "Give one time for each job of the trace."
        raise InputError([Problem("arrivals", f"{n_jobs} times, one per job of {path}", f"{len(times)}", remedy)])
    return times


def write_trace(
    path: str | os.PathLike[str], workload: Workload, processor_types: Sequence[ProcessorType] = PROCESSOR_TYPES
) -> None:
    """Write a trace file, completely or not at all. The format has no arrivals, demands or deadlines.

    Raises :class:`InputError` if it cannot be written, or if a task prefers no type and ``UNSPECIFIED`` has no code.
    """
    names = [p.name for p in processor_types]
    preferred = workload.preferred_type.astype(np.int64)
    if ANY_PROCESSOR in names:
        preferred[preferred == NO_PREFERENCE] = names.index(ANY_PROCESSOR)
    elif (preferred == NO_PREFERENCE).any():
        remedy = "Add the type, or write the workload as Parquet."
        raise InputError([Problem(str(path), f"a type {ANY_PROCESSOR} for tasks without a preference", "none", remedy)])
    counts = np.diff(workload.job_first)
    job_id = np.arange(workload.n_jobs) if workload.job_id is None else workload.job_id
    columns = (
        np.repeat(workload.job_task_type, counts),
        _whole_if_exact(workload.data_bytes),
        workload.data_rack,
        workload.data_shelf,
        _whole_if_exact(workload.operations),
        preferred,
        np.repeat(job_id, counts),
    )
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as stream:
        stream.write("# " + " ".join(c.name for c in COLUMNS) + "\n")
        for start in range(0, workload.n_tasks, _LINES_A_WRITE):
            part = [map(str, column[start : start + _LINES_A_WRITE].tolist()) for column in columns]
            stream.writelines(" ".join(fields) + "\n" for fields in zip(*part, strict=True))


def _whole_if_exact(values: np.ndarray) -> np.ndarray:
    """Convert numbers to integers if all are whole, so that they are written without a decimal point."""
    is_whole = (values < 2**63).all() and (values == np.floor(values)).all()
    return values.astype(np.int64) if is_whole else values
