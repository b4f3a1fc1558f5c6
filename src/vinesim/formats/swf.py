"""The Standard Workload Format (SWF), plain or gzip: logs of parallel machines as workloads.

Each job becomes as many tasks as it had processors (field 5, allocated; else field 8, requested), each as long as the
job ran (field 4), on units that are one processor each. Or it becomes one task that takes as many processors of a
node, which is a unit; its estimate is the time that its user asked for (field 9). Source: the format of the Parallel
Workloads Archive, 18 fields a line, `;` comments; fields after the 18th are ignored.
"""

import gzip
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from vinesim.formats.files import GZIP, cut_gzip, opened
from vinesim.formats.machines import read_machines, read_nodes
from vinesim.model.catalog import TaskType
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError, Problem
from vinesim.model.workload import NO_PREFERENCE, Workload

TASK_TYPE = TaskType("PROCESSOR_TIME")
JOB_TYPE = TaskType("RUN_TIME")  # of jobs that are one task each
AFFINITY = 1.0  # a unit does 1 us of run time in 1 us
TASKS = ("processor", "job")
MAX_PROCESSORS = 10_000_000  # of one job; more is taken for a broken line
N_FIELDS = 18

LEFT_OUT = (
    "gang scheduling: the tasks of a job start when units are free, not all at once",
    "node boundaries: the processors of a job may lie on any nodes",
    "memory, queues, priorities, users, requested times and dependencies between jobs",
    "the log's own waiting times: the simulated policy decides when a job starts",
)
LEFT_OUT_WHOLE = (
    "jobs over several nodes: a job takes its processors from one node, wherever it had them",
    "memory, queues, priorities, users and dependencies between jobs",
    LEFT_OUT[-1],
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
    n_processors: int | None = None  # of the machines file
    n_unasked: int = 0  # jobs whose estimate is their run time, as no time was asked for
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
        if self.n_processors:
            text[0] += f", on {self.n_processors:,} processors"
        for reason, numbers in self.dropped.items():
            shown = ", ".join(map(str, numbers[:10])) + (", ..." if len(numbers) > 10 else "")
            text.append(f"dropped {len(numbers):,}: {reason} (line {shown})")
        if not self.dropped:
            text.append("nothing dropped")
        if self.n_resorted:
            text.append(f"{self.n_resorted:,} jobs moved to their place in the order of arrival")
        if self.n_unasked:
            text.append(f"{self.n_unasked:,} jobs without a requested time: their estimate is their run time")
        text += [f"left out: {what}" for what in self.left_out]
        return "\n".join(text)


def read_swf(
    path: str | os.PathLike[str], machines: str | os.PathLike[str] | None = None, task: str = "processor"
) -> tuple[Workload, Datacenter | None, ImportReport]:
    """The workload of a log, the datacenter of its machines file if given, and what was dropped and why.

    ``task`` is what becomes one: each ``processor`` of a job, or the whole ``job``, for which the machines file is
    needed. The first arrival is at 0. Units do 1 us of the one task type in 1 us. Lines that are no job are dropped and
    reported; a file without any job, or that cannot be read, raises :class:`InputError`.
    """
    _check_task(task, machines)
    is_whole = task == "job"
    report = ImportReport(str(path), left_out=LEFT_OUT_WHOLE if is_whole else LEFT_OUT)
    read = read_nodes if is_whole else read_machines
    datacenter = read(machines) if machines is not None else None
    widest = MAX_PROCESSORS
    if datacenter is not None:
        capacities = np.array([p.capacity for p in datacenter.processor_types])
        report.n_processors = int(capacities[datacenter.unit_type].sum())
        widest = int(capacities.max()) if is_whole else MAX_PROCESSORS
    jobs = np.array(list(_jobs(path, report, widest, is_whole)), np.float64).reshape(-1, 5)
    if not len(jobs):
        found = f"none in {report.n_lines} lines"
        if report.dropped:
            found += "; dropped: " + ", ".join(report.dropped)
        raise InputError([Problem(str(path), "a log in the Standard Workload Format with at least one job", found)])
    order = np.argsort(jobs[:, 1], kind="stable")
    report.n_resorted = int((jobs[1:, 1] < np.maximum.accumulate(jobs[:-1, 1])).sum())
    job_id, submit_s, run_s, processors, asked_s = jobs[order].T
    counts = np.ones(len(jobs), np.int64) if is_whole else processors.astype(np.int64)
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
        demand=processors if is_whole else None,
        estimate_us=np.where(asked_s > 0, asked_s * 1e6, run_us) if is_whole else None,
        task_types=(JOB_TYPE if is_whole else TASK_TYPE,),
    )
    report.n_jobs, report.n_tasks = workload.n_jobs, workload.n_tasks
    report.n_unasked = int((asked_s == 0).sum()) if is_whole else 0
    report.span_us = float(workload.arrival_us[-1])
    report.work_us = float((run_us * processors).sum())
    return workload, datacenter, report


def _check_task(task: str, machines: str | os.PathLike[str] | None) -> None:
    if task not in TASKS:
        raise InputError([Problem("task", " or ".join(TASKS), repr(task))])
    if task == "job" and machines is None:
        remedy = "Its nodes say how wide a job may be."
        raise InputError([Problem("task job", "a machines file beside the log", "none", remedy)])


def _jobs(
    path: str | os.PathLike[str], report: ImportReport, widest: int, is_whole: bool
) -> Iterator[tuple[float, ...]]:
    """(id, submit s, run s, processors, requested s or 0) of each usable line; the others go to the report."""
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
        elif processors > widest:
            report.drop(f"more than the {widest:,} processors of the widest node", number)
        else:
            total += 1 if is_whole else int(processors)
            if total > 50 * MAX_PROCESSORS:
                remedy = "Is this the right file?"
                raise InputError([Problem(f"{path}:{number}:1", "at most 500 million tasks in all", "more", remedy)])
            yield job_id, submit, run, float(int(processors)), _asked_s(fields[8])


def _asked_s(text: bytes) -> float:
    """The time that was asked for; 0 where there is none."""
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if 0 < value < 2**53 else 0.0


def _lines(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """The lines of a plain or gzip file."""
    with opened(path) as stream:
        is_gzip = stream.read(2) == GZIP
        stream.seek(0)
        try:
            yield from gzip.GzipFile(fileobj=stream) if is_gzip else stream
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError([cut_gzip(path, error)]) from None
