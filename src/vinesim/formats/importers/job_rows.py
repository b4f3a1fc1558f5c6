"""Write the jobs that an importer has read, as readable rows, with a scenario and its nodes.

Each task is a row, and the tasks of a job start together. The rows keep the names of jobs and queues and the dates of
the log. The scenario lists the columns that VineSim ignores.
"""

import csv
import datetime
import math
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from vinesim.formats.importers.csv_scenario import made_for
from vinesim.formats.importers.declaration import Imported
from vinesim.formats.importers.made_nodes import ANY_GPU, CPU, ON_WHAT
from vinesim.formats.importers.report import ImportReport
from vinesim.formats.scenario.workload_columns import IGNORE
from vinesim.formats.scenario.workload_forms import STARTED
from vinesim.formats.source.files import replacing
from vinesim.formats.source.quantities import MEMORY, format_time_us
from vinesim.formats.source.yaml_writer import write_yaml
from vinesim.model.catalog import ProcessorType
from vinesim.model.errors import InputError, Problem

LEAST_CORES = 0.001  # cores of a task that requests none but runs on a CPU
LAST_S = 253402300800  # the end of the year 9999
MAX_TASKS = 1_000_000  # of one job
COLUMNS = {  # columns of the rows: their meanings in the scenario
    "job": "job",
    "job_id": "job_id",
    "array": "attribute.array",
    "name": IGNORE,
    "user": "user",
    "queue": IGNORE,
    "submitted": "arrival_date",
    "start_s": STARTED,
    "run_s": "time_s",
    "limit_s": "limit_s",
    "priority": "priority",
    "gang": "gang",
    "tasks_per_node": "tasks_per_node",
    "cores": "cores",
    "memory_bytes": "memory",
    "gpus": "gpus",
    "gpu_type": "gpu_type",
}


class Tasks(NamedTuple):
    """Equal tasks of a job, and what each of them holds at its node."""

    n: int
    cores: float
    memory_bytes: float = 0.0
    gpus: float = 0
    gpu_type: str = ""  # empty if any


class Job(NamedTuple):
    """A job; its tasks start together."""

    line: int
    name: str
    user: str
    queue: str
    submitted_s: float  # since 1970
    run_s: float
    tasks: tuple[Tasks, ...]
    number: int | None = None
    limit_s: float = math.inf
    priority: float = 0.0
    per_node: int = 0  # the most tasks of the job at one node; 0: any number
    started_s: float = math.nan  # since 1970, for back-tests; NaN: unknown
    groups: tuple[str, ...] = ()  # resources of nodes; each task takes one of each
    array: str = ""  # the number of its array; empty if it is in none

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return sum(one.n for one in self.tasks)


class Node(NamedTuple):
    """What a node offers to jobs."""

    name: str
    cores: float
    memory_bytes: float
    gpus: int = 0
    gpu_type: str = ""


def check_output(output: Path) -> None:
    """Check the name of the file of rows."""
    if output.suffix != ".csv":
        raise InputError([Problem("-o", "a name that ends in .csv", str(output))])


def keep_jobs(jobs: Sequence[Job], report: ImportReport) -> list[Job]:
    """Return the jobs that can run, in the order of arrival; the others go to the report."""
    kept = []
    for job in jobs:
        reason = _why_not(job)
        if reason:
            report.drop(reason, job.line)
        else:
            kept.append(job)
    if not kept:
        found = f"none in {report.n_lines} records" + "; dropped: " * bool(report.dropped) + ", ".join(report.dropped)
        raise InputError([Problem(report.path, "at least one job that ran", found)])
    return sorted(kept, key=lambda job: job.submitted_s)


def _why_not(job: Job) -> str:
    if not 0 <= job.submitted_s < LAST_S:
        return "no time of arrival"
    if not 0 < job.run_s < LAST_S:
        return "a run time of 0 or less, or none"
    if not 1 <= job.n_tasks <= MAX_TASKS:
        return f"no tasks, or more than {MAX_TASKS:,}"
    if all(one.cores <= 0 and one.gpus <= 0 for one in job.tasks):
        return "neither cores nor GPUs"
    return ""


def write_jobs(
    output: Path,
    jobs: Sequence[Job],
    report: ImportReport,
    description: str,
    nodes: Sequence[Node] = (),
    most_of: Mapping[str, int] | None = None,
) -> Imported:
    """Write the rows, the nodes and the scenario. ``most_of`` limits how many of each group may be at one node.

    Raises :class:`InputError`.
    """
    most_of = most_of or {}
    columns = COLUMNS | {f"companion.{group}": f"companion.{group}" for group in most_of}
    rows = [row for number, job in enumerate(jobs) for row in _rows(number, job, jobs[0].submitted_s)]
    used = [name for name in columns if any(row.get(name) not in (None, "") for row in rows)]
    meanings = {name: columns[name] for name in used if columns[name] != name}
    scenario = output.with_suffix(".yaml")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "jobs.csv"
        with open(copy, "w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, used, restval="", extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        types = types_of(nodes, jobs)
        if nodes:
            on = on_nodes(output, nodes, types, most_of)
        else:
            on = made_for(copy, types, meanings)
            report.notes.append(ON_WHAT)
        with replacing(output) as draft:
            shutil.copyfile(copy, draft)
    document = {
        "description": description,
        "start_date": f"{_date(jobs[0].submitted_s)}",
        **on,
        "workload": {"file": output.name, "columns": meanings},
    }
    write_yaml(scenario, document)
    _describe(report, jobs, nodes)
    return Imported(report, output, f"{len(jobs):,} jobs", scenario)


def _date(s: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(s, datetime.UTC)


def _rows(number: int, job: Job, first_s: float) -> list[dict[str, Any]]:
    """Return a row for each task of a job; the first job of the log was submitted at ``first_s``."""
    row: dict[str, Any] = {
        "job": number,
        "job_id": job.number,
        "array": job.array,
        "name": job.name,
        "user": job.user,
        "queue": job.queue,
        "submitted": _date(job.submitted_s).isoformat(),
        "start_s": f"{job.started_s - first_s:.12g}" if job.started_s >= job.submitted_s else "",
        "run_s": f"{job.run_s:.12g}",
        "limit_s": f"{job.limit_s:.12g}" if math.isfinite(job.limit_s) else "",
        "priority": f"{job.priority:.12g}" if job.priority else "",
        "gang": "anywhere" if job.n_tasks > 1 else "",
        "tasks_per_node": job.per_node if job.n_tasks > 1 and job.per_node else "",
    } | {f"companion.{group}": 1 for group in job.groups}
    rows = []
    for one in job.tasks:
        own = {
            "cores": f"{one.cores if one.gpus else max(one.cores, LEAST_CORES):.12g}",
            "memory_bytes": f"{one.memory_bytes:.17g}" if one.memory_bytes else "",
            "gpus": f"{one.gpus:g}" if one.gpus else "",
            "gpu_type": one.gpu_type if one.gpus else "",
        }
        rows += [row | own] * one.n
    return rows


def types_of(nodes: Sequence[Node], jobs: Sequence[Job] = ()) -> tuple[ProcessorType, ...]:
    """Return CPUs, the types of GPUs, and memory."""
    kinds = sorted({node.gpu_type or ANY_GPU for node in nodes if node.gpus})
    if not nodes:
        gpus = {name for job in jobs for one in job.tasks if one.gpus for name in one.gpu_type.split("|")}
        kinds = sorted(gpus - {""}) or [ANY_GPU] * bool(gpus)
    return tuple(map(ProcessorType, (CPU, *kinds, MEMORY)))


def on_nodes(
    output: Path, nodes: Sequence[Node], types: Sequence[ProcessorType], most_of: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """Return the datacenter: a table of the nodes with their names, or a list if they have groups."""
    gpus = [p.name for p in types if p.name not in (CPU, MEMORY)]
    place: dict[str, Any]
    if most_of:
        kinds = [
            {
                "units": {CPU: {"cores": node.cores}} | ({node.gpu_type or ANY_GPU: node.gpus} if node.gpus else {}),
                "memory": f"{int(node.memory_bytes)} B",
                "resources": dict(most_of),
            }
            for node in nodes
        ]
        place = {"racks": [{"nodes": kinds}]}
    else:
        file = output.with_suffix(".nodes.csv")
        with replacing(file) as draft, open(draft, "w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(["type", "name", "cores", "memory", *(f"units.{name}" for name in gpus)])
            for node in nodes:
                held = [node.gpus if node.gpus and (node.gpu_type or ANY_GPU) == name else 0 for name in gpus]
                memory = f"{int(node.memory_bytes)} B" if node.memory_bytes else ""
                writer.writerow([CPU, node.name, f"{node.cores:.12g}", memory, *held])
        place = {"file": file.name}
    return {
        "extends": "none",
        "processor_types": [{"name": p.name} for p in types if p.name != MEMORY],
        "network": "none",
        "datacenter": place,
        "policy": "easy_backfill",
    }


def _describe(report: ImportReport, jobs: Sequence[Job], nodes: Sequence[Node]) -> None:
    days = (jobs[-1].submitted_s - jobs[0].submitted_s) / 86400
    n_gangs = sum(job.n_tasks > 1 for job in jobs)
    report.made = f"{len(jobs):,} jobs over {format_time_us(days * 86400e6)}, {n_gangs:,} of them with several tasks"
    report.numbers = {"jobs": len(jobs), "days": days, "gangs": n_gangs}
    if nodes:
        n_gpus = sum(node.gpus for node in nodes)
        report.made += f"; {len(nodes):,} nodes with {n_gpus:,} GPUs"
        report.numbers |= {"nodes": len(nodes), "gpus": n_gpus}
