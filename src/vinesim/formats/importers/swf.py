"""Read the Standard Workload Format (SWF), plain or gzip: logs of parallel machines as workloads.

By default each job becomes one task per processor (field 5, allocated; else field 8, requested), each as long as the
job ran (field 4), on units that are one processor each. Alternatively a job becomes one task that takes that many
processors of one node, and a node is a unit; the task's estimate is the time that the user requested (field 9). The
status (field 11) says whether a job ran; the partition (field 16) can select jobs. Source: the format of the Parallel
Workloads Archive, version 2.2, 18 fields per line, `;` comments.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vinesim.formats.importers.machines import read_machines, read_nodes
from vinesim.formats.importers.report import ImportReport
from vinesim.formats.source.files import lines_of
from vinesim.model.catalog import TaskType
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError, Problem
from vinesim.model.parallel_jobs import PROCESSOR_TIME
from vinesim.model.workload import NO_PREFERENCE, Workload

JOB_TYPE = TaskType("RUN_TIME")  # when each job is one task
AFFINITY = 1.0  # a unit does 1 us of run time in 1 us
TASKS = ("processor", "job")
MAX_PROCESSORS = 10_000_000  # per job; a line with more is broken
N_FIELDS = 18

LEFT_OUT = (
    "gang scheduling: each task of a job starts when a unit is free, not all together",
    "node boundaries: the processors of a job may be on any nodes",
    "memory, queues, priorities, users, requested times and dependencies between jobs",
    "the log's own waiting times: the simulated policy decides when a job starts",
)
LEFT_OUT_WHOLE = (
    "jobs on several nodes: a job takes all its processors from one node, wherever they were",
    "memory, queues, priorities, users and dependencies between jobs",
    LEFT_OUT[-1],
)


FIELDS = (
    *("job number", "submit time", "wait time", "run time", "allocated processors", "average CPU time", "used memory"),
    *("requested processors", "requested time", "requested memory", "status", "user", "group", "executable", "queue"),
    *("partition", "preceding job", "think time"),
)
UNUSED = tuple(i for i, name in enumerate(FIELDS) if name in (
    *("wait time", "average CPU time", "used memory", "requested memory", "user", "group", "executable", "queue"),
    *("preceding job", "think time"),
))  # fmt: skip
REQUESTED_TIME, STATUS, PARTITION = (FIELDS.index(name) for name in ("requested time", "status", "partition"))
CANCELLED, PARTS = 5, (2, 3, 4)  # status codes
STATUSES = {-1: "not given", 0: "failed", 1: "completed", 2: "part", 3: "last part", 4: "last part, failed"}
STATUSES[CANCELLED] = "cancelled"
UNKNOWN = b"-1"


@dataclass
class SwfReport(ImportReport):
    """What an import read, dropped and left out."""

    n_jobs: int = 0
    n_tasks: int = 0
    span_us: float = 0.0  # first to last arrival
    work_us: float = 0.0  # processor time of all jobs
    n_resorted: int = 0  # jobs whose line came after that of a later arrival
    n_processors: int | None = None  # in the machines file
    n_unasked: int = 0  # jobs without a requested time, whose estimate is their run time

    def conclude(self) -> None:
        """Turn the counts into words."""
        days, hours = self.span_us / 86400e6, self.work_us / 3600e6
        self.made = f"{self.n_jobs:,} jobs, {self.n_tasks:,} tasks over {days:.1f} days, {hours:,.0f} processor hours"
        self.numbers = {"jobs": self.n_jobs, "tasks": self.n_tasks, "days": days, "processor_hours": hours}
        if self.n_processors:
            self.made += f", on {self.n_processors:,} processors"
            self.numbers["processors"] = self.n_processors
        self.values = {
            column: dict(sorted(values.items(), key=lambda item: int(item[0].split()[0])))
            for column, values in self.values.items()
            if not all(value.startswith("-1") for value in values)  # not given
        }
        kept = [value for value, (n_kept, _) in self.values.get(FIELDS[PARTITION], {}).items() if n_kept]
        if len(kept) > 1:
            self.notes.append(
                f"jobs of {len(kept)} partitions are merged, and each may run on any cluster: select partitions with "
                "--partition"
            )
        if self.n_resorted:
            self.notes.append(f"{self.n_resorted:,} jobs were out of order and were sorted by arrival")
        if self.n_unasked:
            self.notes.append(f"{self.n_unasked:,} jobs have no requested time: their estimate is their run time")


def read_swf(
    path: str | os.PathLike[str],
    machines: str | os.PathLike[str] | None = None,
    task: str = "processor",
    partitions: Sequence[int] = (),
) -> tuple[Workload, Datacenter | None, SwfReport]:
    """Return the workload of a log, the datacenter of its machines file if one is given, and a report.

    ``task`` says what becomes a task: each ``processor`` of a job, or the whole ``job``, which needs the machines
    file. ``partitions`` selects jobs; by default all are taken. The first arrival is at 0. Units do 1 us of the only
    task type in 1 us. Lines that are not jobs, jobs cancelled before they ran, and parts of a job that has a line of
    its own are dropped and reported. A file that has no job or cannot be read raises
    :class:`InputError`.
    """
    _check_task(task, machines)
    is_whole = task == "job"
    report = SwfReport(str(path), left_out=LEFT_OUT_WHOLE if is_whole else LEFT_OUT)
    read = read_nodes if is_whole else read_machines
    datacenter = read(machines) if machines is not None else None
    widest = MAX_PROCESSORS
    if datacenter is not None:
        capacities = np.array([p.capacity for p in datacenter.processor_types])
        report.n_processors = int(capacities[datacenter.unit_type].sum())
        widest = int(capacities.max()) if is_whole else MAX_PROCESSORS
    jobs = np.array(list(_jobs(path, report, widest, is_whole, frozenset(partitions))), np.float64).reshape(-1, 5)
    _check_partitions(path, report, partitions)
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
        task_types=(JOB_TYPE if is_whole else PROCESSOR_TIME,),
    )
    report.n_jobs, report.n_tasks = workload.n_jobs, workload.n_tasks
    report.n_unasked = int((asked_s == 0).sum()) if is_whole else 0
    report.span_us = float(workload.arrival_us[-1])
    report.work_us = float((run_us * processors).sum())
    report.conclude()
    return workload, datacenter, report


def _check_task(task: str, machines: str | os.PathLike[str] | None) -> None:
    if task not in TASKS:
        raise InputError([Problem("task", " or ".join(TASKS), repr(task))])
    if task == "job" and machines is None:
        remedy = "Give the machines file: it says how many processors a node has."
        raise InputError([Problem("task job", "a machines file beside the log", "none", remedy)])


def _check_partitions(path: str | os.PathLike[str], report: SwfReport, partitions: Sequence[int]) -> None:
    known = report.values.get(FIELDS[PARTITION], {})
    if missing := [str(number) for number in partitions if str(number) not in known]:
        expected = "a partition of the log: " + ", ".join(sorted(known)[:20])
        raise InputError([Problem(f"{path}: partition", expected, ", ".join(missing))])


def _jobs(
    path: str | os.PathLike[str], report: SwfReport, widest: int, is_whole: bool, partitions: frozenset[int]
) -> Iterator[tuple[float, ...]]:
    """(id, submit s, run s, processors, requested s or 0) of each usable line; the others go to the report."""
    total = 0
    for number, line in enumerate(lines_of(path), 1):
        if line.startswith(b";") or not line.strip():
            continue
        report.n_lines += 1
        fields = line.split(maxsplit=N_FIELDS)
        if len(fields) < N_FIELDS:
            report.drop(f"fewer than {N_FIELDS} fields", number)
            continue
        _count_unused(report, fields, is_whole)
        job = _job(fields)
        status, partition = _code(fields[STATUS]), _code(fields[PARTITION])
        reason = _reason(job, status, partition, partitions, widest)
        report.count(FIELDS[STATUS], f"{status} ({STATUSES.get(status, 'unknown')})", not reason)
        report.count(FIELDS[PARTITION], str(partition), not reason)
        if reason or job is None:
            report.drop(reason, number)
            continue
        job_id, submit, run, allocated, requested = job
        processors = allocated if allocated > 0 else requested
        total += 1 if is_whole else int(processors)
        if total > 50 * MAX_PROCESSORS:
            remedy = "Is this the right file?"
            raise InputError([Problem(f"{path}:{number}:1", "at most 500 million tasks in all", "more", remedy)])
        yield job_id, submit, run, float(int(processors)), _asked_s(fields[REQUESTED_TIME])


def _count_unused(report: SwfReport, fields: list[bytes], is_whole: bool) -> None:
    """Count the values that nothing is made of."""
    unused = UNUSED if is_whole else (*UNUSED, REQUESTED_TIME)
    for i in unused:
        if fields[i] != UNKNOWN:
            report.unused[FIELDS[i]] = report.unused.get(FIELDS[i], 0) + 1
    if len(fields) > N_FIELDS:
        name = f"what follows the {N_FIELDS}th field"
        report.unused[name] = report.unused.get(name, 0) + 1


def _job(fields: list[bytes]) -> tuple[float, float, float, float, float] | None:
    """Id, submit time, run time, allocated and requested processors; None if they are no numbers."""
    try:
        job_id, submit, run, allocated, requested = (float(fields[i]) for i in (0, 1, 3, 4, 7))
    except ValueError:
        return None
    return job_id, submit, run, allocated, requested


def _reason(job: tuple[float, ...] | None, status: int, partition: int, partitions: frozenset[int], widest: int) -> str:
    """Why a line is dropped; nothing if it is not.

    A job with the status failed (0) or cancelled (5) that ran took its processors as any other, and is kept.
    """
    if job is None:
        return "not numbers"
    job_id, submit, run, allocated, requested = job
    processors = allocated if allocated > 0 else requested
    reasons = (
        (
            "a number out of range",
            not all(abs(value) < 2**53 for value in (job_id, submit, run, processors)),
        ),  # NaN too
        ("a part of a job that another line has whole (status 2, 3 or 4)", status in PARTS),
        ("cancelled before it ran (status 5)", status == CANCELLED and (run <= 0 or allocated == 0)),
        ("another partition", bool(partitions) and partition not in partitions),
        ("no submit time", submit < 0),
        ("run time 0 or less", run <= 0),
        ("no processors", processors < 1),
        (f"more than {MAX_PROCESSORS:,} processors", processors > MAX_PROCESSORS),
        (f"more than the {widest:,} processors of the widest node", processors > widest),
    )
    return next((reason for reason, is_so in reasons if is_so), "")


def _code(text: bytes) -> int:
    """A code; -1 for what is none."""
    try:
        value = float(text)
    except ValueError:
        return -1
    return int(value) if abs(value) < 2**31 and value == int(value) else -1


def _asked_s(text: bytes) -> float:
    """The time that was asked for; 0 where there is none."""
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if 0 < value < 2**53 else 0.0
