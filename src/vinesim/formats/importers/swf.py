"""Import a log of a parallel machine in the Standard Workload Format (SWF), plain or gzip.

By default a job becomes a gang with one task per processor, and each processor is a unit. The number of processors is
field 5 (allocated); if that is missing, or with ``--processors requested``, field 8. Each task runs as long as the job
did (field 4). With ``--task job``, a job becomes one task that takes that many processors of one node, and each node is
a unit. Policies expect a task to take the time that the user requested (field 9). The status (field 11) says whether a
job ran; the partition (field 16) can select jobs.

Source: the format of the Parallel Workloads Archive, version 2.2, 18 fields per line, `;` comments.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from vinesim.formats.importers.declaration import Argument, Imported, Importer, Option, check_workload
from vinesim.formats.importers.job_starts import started_s
from vinesim.formats.importers.machines import PROCESSOR_TYPE, Clusters, nodes_of, processors_of, read_clusters
from vinesim.formats.importers.report import Finding, ImportReport
from vinesim.formats.importers.swf_header import SwfHeader, read_header
from vinesim.formats.importers.swf_lines import (
    ALLOCATED,
    FIELDS,
    MAX_PROCESSORS,
    PARTITION,
    PROCESSORS,
    REQUESTED,
    jobs_of,
)
from vinesim.formats.scenario.workload_writer import write_workload
from vinesim.formats.source.quantities import format_time_us
from vinesim.formats.source.yaml_writer import write_yaml
from vinesim.model.catalog import ProcessorType, TaskType
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError, Problem
from vinesim.model.workload import ANYWHERE, NO_GANG, NO_PREFERENCE, Workload

TASKS = ("processor", "job")
LEFT_OUT = (
    "node boundaries: the processors of a job may be on any nodes",
    "memory, queues, priorities, users and dependencies between jobs",
    "when jobs started, except for a back-test: the simulated policy decides",
)
LEFT_OUT_WHOLE = (
    "jobs on several nodes: a job takes all its processors from one node, wherever they were",
    *LEFT_OUT[1:],
)
JOB_TYPE = TaskType("RUN_TIME")  # if each job is one task
PROCESSOR_TIME = TaskType("PROCESSOR_TIME")  # if each processor of a job is a task
AFFINITY = 1.0  # a unit does 1 us of run time in 1 us
OF_PROCESSORS = "An imported log on its own clusters: each processor of a job is one task of a gang."
OF_JOBS = "An imported log on its own clusters: each job takes its processors from one node."


@dataclass
class SwfReport(ImportReport):
    """What an import read, dropped and left out."""

    n_jobs: int = 0
    n_tasks: int = 0
    span_us: float = 0.0  # first to last arrival
    work_us: float = 0.0  # processor time of all jobs
    began: datetime | None = None  # when the first job was submitted, as a date
    n_resorted: int = 0  # jobs listed after a job that arrived later
    n_processors: int | None = None  # processors in the machines file
    n_unasked: int = 0  # jobs without a requested time, whose estimate is their run time

    def conclude(self) -> None:
        """Describe the counts in the report's lines."""
        days, hours = self.span_us / 86400e6, self.work_us / 3600e6
        span = format_time_us(self.span_us)
        self.made = f"{self.n_jobs:,} jobs, {self.n_tasks:,} tasks over {span}, {hours:,.0f} processor hours"
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


def import_swf(
    log: Annotated[Path, Argument("The log in the Standard Workload Format, plain or gzip.")],
    output: Annotated[Path, Option("The workload, a Parquet file.", short="-o")],
    machines: Annotated[Path | None, Option("The log's clusters (.machines); default: those of its header.")] = None,
    task: Annotated[
        str, Option("What becomes a task: each processor of a job, or the whole job on one node.")
    ] = "processor",
    processors: Annotated[
        str, Option("Which processors a job has where these numbers differ: allocated or requested.")
    ] = ALLOCATED,
    partition: Annotated[
        tuple[int, ...], Option("Take only the jobs of this partition; may be repeated.", metavar="N")
    ] = (),
) -> Imported:
    """Import a Standard Workload Format log: each job becomes a gang of one task per processor, or one task."""
    check_workload(output)
    header = read_header(log)
    workload, datacenter, report = read_swf(log, machines, task, partition, processors)
    write_workload(output, workload, (PROCESSOR_TYPE,))
    scenario = None
    if datacenter is not None:
        scenario = output.with_suffix(".yaml")
        write_swf_scenario(scenario, output, datacenter, task, header.computer, report.began)
    return Imported(report, output, f"{workload.n_jobs:,} jobs", scenario)


IMPORTER = Importer("swf", import_swf)


def read_swf(
    path: str | os.PathLike[str],
    machines: str | os.PathLike[str] | None = None,
    task: str = "processor",
    partitions: Sequence[int] = (),
    processors: str = ALLOCATED,
) -> tuple[Workload, Datacenter | None, SwfReport]:
    """Return the workload of a log, the datacenter of its machines file or else of its header, and a report.

    ``task`` says what becomes a task: each ``processor`` of a job, which start together, or the whole ``job``, which
    needs the nodes. ``partitions`` selects jobs; by default all are taken. ``processors`` says whether a job
    has those that were ``allocated`` or ``requested``. The first arrival is at 0. Units do 1 us of the only task type
    in 1 us. Lines that are not jobs, jobs cancelled before they ran, and parts of a job that has a line of its own are
    dropped and reported. A file that has no job or cannot be read raises :class:`InputError`.
    """
    header = read_header(path)
    clusters = header.clusters if machines is None else read_clusters(machines)
    _check_choices(task, processors, has_nodes=bool(clusters))
    is_whole = task == "job"
    report = SwfReport(str(path), left_out=LEFT_OUT_WHOLE if is_whole else LEFT_OUT)
    datacenter = (nodes_of if is_whole else processors_of)(clusters) if clusters else None
    widest = MAX_PROCESSORS
    if datacenter is not None:
        capacities = np.array([p.capacity for p in datacenter.processor_types])
        report.n_processors = int(capacities[datacenter.unit_type].sum())
        widest = int(capacities.max()) if is_whole else min(MAX_PROCESSORS, report.n_processors)
    found = list(jobs_of(path, report, widest, is_whole, frozenset(partitions), processors))
    jobs = np.array(found, np.float64).reshape(-1, 7)
    _check_partitions(path, report, partitions)
    _check_any(path, report, len(jobs))
    order = np.argsort(jobs[:, 1], kind="stable")
    report.n_resorted = int((jobs[1:, 1] < np.maximum.accumulate(jobs[:-1, 1])).sum())
    job_id, submit_s, run_s, held, asked_s, other, wait_s = jobs[order].T
    counts = np.ones(len(jobs), np.int64) if is_whole else held.astype(np.int64)
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
        demand=held if is_whole else None,
        estimate_us=np.repeat(np.where(asked_s > 0, asked_s * 1e6, run_us), counts),
        gang_within=np.where(counts > 1, ANYWHERE, NO_GANG),
        task_types=(JOB_TYPE if is_whole else PROCESSOR_TIME,),
        **started_s(np.where(wait_s >= 0, submit_s - submit_s[0] + wait_s, np.nan)),
    )
    report.n_jobs, report.n_tasks = workload.n_jobs, workload.n_tasks
    report.n_unasked = int((asked_s == 0).sum())
    report.span_us = float(workload.arrival_us[-1])
    report.work_us = float((run_us * held).sum())
    _note_header(report, header, float(submit_s[0]), clusters if machines is None else [])
    _note_others(report, processors, int((held != other).sum()))
    report.conclude()
    return workload, datacenter, report


def _note_header(report: SwfReport, header: SwfHeader, first_s: float, clusters: Clusters) -> None:
    """Record facts from the header in the report: its ``clusters``, if they were used, and when the log began."""
    if clusters:
        report.notes.append(header.on_what)
        if header.is_unequal:
            words = "MaxProcs is no multiple of MaxNodes: nodes of two sizes"
            report.findings.append(Finding("datacenter", words, True, {"clusters": clusters}))
    report.began = header.began(first_s)
    if report.began is not None:
        report.time_zone = f"{header.zone}; the first job was submitted at {report.began:%Y-%m-%d %H:%M:%S}"


def _note_others(report: SwfReport, processors: str, n_others: int) -> None:
    if n_others:
        report.notes.append(
            f"jobs have the processors that were {processors}; for {n_others:,} of them another number was "
            f"{REQUESTED if processors == ALLOCATED else ALLOCATED}, which --processors takes"
        )


def _check_any(path: str | os.PathLike[str], report: SwfReport, n_jobs: int) -> None:
    if not n_jobs:
        words = f"none in {report.n_lines} lines"
        if report.dropped:
            words += "; dropped: " + ", ".join(report.dropped)
        raise InputError([Problem(str(path), "a log in the Standard Workload Format with at least one job", words)])


def _check_choices(task: str, processors: str, *, has_nodes: bool) -> None:
    if task not in TASKS:
        raise InputError([Problem("task", " or ".join(TASKS), repr(task))])
    if task == "job" and not has_nodes:
        remedy = "Give the machines file: it says how many processors a node has."
        raise InputError([Problem("task job", "a machines file, or MaxNodes in the header", "none", remedy)])
    if processors not in PROCESSORS:
        raise InputError([Problem("processors", " or ".join(PROCESSORS), repr(processors))])


def _check_partitions(path: str | os.PathLike[str], report: SwfReport, partitions: Sequence[int]) -> None:
    known = report.values.get(FIELDS[PARTITION], {})
    if missing := [str(number) for number in partitions if str(number) not in known]:
        expected = "a partition of the log: " + ", ".join(sorted(known)[:20])
        raise InputError([Problem(f"{path}: partition", expected, ", ".join(missing))])


def write_swf_scenario(
    path: Path, workload: Path, datacenter: Datacenter, task: str, computer: str = "", start: datetime | None = None
) -> None:
    """Write the scenario next to its workload, whose first job arrives at the date ``start``, if it is known. A cluster
    is a rack, a node is a shelf; a unit is a processor, or a node if each job is one task."""
    is_whole = task == "job"
    task_type = (JOB_TYPE if is_whole else PROCESSOR_TIME).name
    document = {
        "description": (OF_JOBS if is_whole else OF_PROCESSORS) + f" Computer: {computer}." * bool(computer),
        "extends": "none",
        "processor_types": [_type(processor) for processor in datacenter.processor_types],
        "task_types": [task_type],
        "affinity": {"absolute": {p.name: {task_type: AFFINITY} for p in datacenter.processor_types}},
        "network": "none",
        **({} if start is None else {"start_date": f"{start}"}),
        "datacenter": {"racks": [_rack(datacenter, rack) for rack in range(datacenter.n_racks)]},
        "workload": {"file": workload.name},
        "policy": "easy_backfill" if is_whole else "high",
        "sampling": "1 h",
    }
    write_yaml(path, document)


def _type(processor: ProcessorType) -> dict[str, Any]:
    if processor.capacity == 1.0 and not processor.attributes:
        return {"name": processor.name}
    return {"name": processor.name, "capacity": processor.capacity, "attributes": dict(processor.attributes)}


def _rack(datacenter: Datacenter, rack: int) -> dict[str, Any]:
    """Return a rack's nodes, all of one kind, from the lowest shelf up; adjacent equal nodes are grouped."""
    inside = datacenter.rack == rack
    name = datacenter.processor_types[datacenter.unit_type[inside][0]].name
    units = np.bincount(datacenter.shelf[inside]).tolist()
    return {"nodes": [{"units": {name: n}, "count": len(list(same))} for n, same in groupby(units)]}
