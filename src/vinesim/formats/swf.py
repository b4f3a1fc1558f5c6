"""The Standard Workload Format (SWF), plain or gzip: logs of parallel machines as workloads.

Each job becomes as many tasks as it had processors (field 5, allocated; else field 8, requested), each as long as the
job ran (field 4), on units that are one processor each. Source: the format of the Parallel Workloads Archive, 18 fields
a line, `;` comments; fields after the 18th are ignored.
"""

import gzip
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from vinesim.formats.files import opened
from vinesim.formats.machines import read_machines
from vinesim.model.catalog import TaskType
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError, Problem
from vinesim.model.workload import NO_PREFERENCE, Workload

TASK_TYPE = TaskType("PROCESSOR_TIME")
AFFINITY = np.ones((1, 1))  # a processor does 1 us of run time in 1 us
MAX_PROCESSORS = 10_000_000  # of one job; more is taken for a broken line
N_FIELDS = 18

LEFT_OUT = (
    "gang scheduling: the tasks of a job start when units are free, not all at once",
    "node boundaries: the processors of a job may lie on any nodes",
    "memory, queues, priorities, users, requested times and dependencies between jobs",
    "the log's own waiting times: the simulated policy decides when a job starts",
)


@dataclass
class ImportReport:
    """What an import read, dropped and left out."""

    path: str
    n_lines: int = 0  # lines that are no comment
    n_jobs: int = 0
    n_tasks: int = 0
    dropped: dict[str, list[int]] = field(default_factory=dict)  # reason: line numbers, from 1
    span_us: float = 0.0  # first to last arrival
    work_us: float = 0.0  # processor time of all jobs
    n_resorted: int = 0  # jobs whose line came after one that arrived later
    n_units: int | None = None  # of the machines file
    left_out: tuple[str, ...] = LEFT_OUT

    @property
    def n_dropped(self) -> int:
        """How many lines were dropped."""
        return sum(map(len, self.dropped.values()))

    def drop(self, reason: str, line: int) -> None:
        """Note a line that is no job."""
        self.dropped.setdefault(reason, []).append(line)

    def __str__(self) -> str:
        text = [
            f"{self.path}: {self.n_lines:,} lines, {self.n_jobs:,} jobs, {self.n_tasks:,} tasks "
            f"over {self.span_us / 86400e6:.1f} days, {self.work_us / 3600e6:,.0f} processor hours"
        ]
        if self.n_units:
            text[0] += f", on {self.n_units:,} processors"
        for reason, numbers in self.dropped.items():
            shown = ", ".join(map(str, numbers[:10])) + (", ..." if len(numbers) > 10 else "")
            text.append(f"dropped {len(numbers):,}: {reason} (line {shown})")
        if not self.dropped:
            text.append("nothing dropped")
        if self.n_resorted:
            text.append(f"{self.n_resorted:,} jobs moved to their place in the order of arrival")
        text += [f"left out: {what}" for what in self.left_out]
        return "\n".join(text)


def read_swf(
    path: str | os.PathLike[str], machines: str | os.PathLike[str] | None = None
) -> tuple[Workload, Datacenter | None, ImportReport]:
    """The workload of a log, the datacenter of its machines file if given, and what was dropped and why.

    The first arrival is at 0. The task type is ``PROCESSOR_TIME``; ``AFFINITY`` [1, 1] fits it. Lines that are no job
    are dropped and reported; a file without any job, or that cannot be read, raises :class:`InputError`.
    """
    report = ImportReport(str(path))
    datacenter = read_machines(machines) if machines is not None else None
    jobs = np.array(list(_jobs(path, report)), np.float64).reshape(-1, 4)
    if not len(jobs):
        found = f"none in {report.n_lines} lines"
        raise InputError([Problem(str(path), "a log in the Standard Workload Format with at least one job", found)])
    order = np.argsort(jobs[:, 1], kind="stable")
    report.n_resorted = int((jobs[1:, 1] < np.maximum.accumulate(jobs[:-1, 1])).sum())
    job_id, submit_s, run_s, processors = jobs[order].T
    counts = processors.astype(np.int64)
    n_tasks = int(counts.sum())
    run_us = run_s * 1e6
    workload = Workload(
        job_task_type=np.zeros(len(jobs)),
        job_first=np.concatenate(([0], np.cumsum(counts))),
        arrival_us=(submit_s - submit_s[0]) * 1e6,
        operations=np.repeat(run_us, counts),
        data_bytes=np.zeros(n_tasks),
        data_rack=np.zeros(n_tasks),
        data_shelf=np.zeros(n_tasks),
        preferred_type=np.full(n_tasks, NO_PREFERENCE),
        job_id=job_id,
        task_types=(TASK_TYPE,),
    )
    report.n_jobs, report.n_tasks = workload.n_jobs, workload.n_tasks
    report.span_us = float(workload.arrival_us[-1])
    report.work_us = float((run_us * counts).sum())
    report.n_units = datacenter.n_units if datacenter else None
    return workload, datacenter, report


def _jobs(path: str | os.PathLike[str], report: ImportReport) -> Iterator[tuple[float, float, float, float]]:
    """(id, submit s, run s, processors) of each usable line; the others go to the report."""
    total = 0
    for number, line in enumerate(_lines(path), 1):
        if line.startswith(b";") or not line.strip():
            continue
        report.n_lines += 1
        fields = line.split(maxsplit=N_FIELDS)[:N_FIELDS]
        if len(fields) < N_FIELDS:
            report.drop(f"fewer than {N_FIELDS} fields", number)
            continue
        try:
            job_id, submit, run, allocated, requested = (float(fields[i]) for i in (0, 1, 3, 4, 7))
        except ValueError:
            report.drop("not numbers", number)
            continue
        processors = allocated if allocated > 0 else requested
        total += int(processors) if 0 < processors <= MAX_PROCESSORS else 0
        if not all(abs(value) < 2**53 for value in (job_id, submit, run, processors)):  # NaN too
            report.drop("a number out of range", number)
        elif submit < 0:
            report.drop("no submit time", number)
        elif run <= 0:
            report.drop("run time 0 or less", number)
        elif processors < 1:
            report.drop("no processors", number)
        elif processors > MAX_PROCESSORS:
            report.drop(f"more than {MAX_PROCESSORS:,} processors", number)
        elif total > 50 * MAX_PROCESSORS:
            remedy = "Is this the right file?"
            raise InputError([Problem(f"{path}:{number}:1", "at most 500 million tasks in all", "more", remedy)])
        else:
            yield job_id, submit, run, float(int(processors))


def _lines(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """The lines of a plain or gzip file."""
    with opened(path) as stream:
        is_gzip = stream.read(2) == b"\x1f\x8b"
        stream.seek(0)
        try:
            yield from gzip.GzipFile(fileobj=stream) if is_gzip else stream
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError([Problem(str(path), "a whole gzip file", str(error), "Fetch the file again.")]) from None
