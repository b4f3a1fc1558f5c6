"""Import the jobs and nodes of a Slurm cluster from the output of ``sacct`` and ``scontrol show nodes``.

A job becomes a gang with one task per node, each with its part of the cores, memory and GPUs that the job held. It
arrives when it became eligible and runs for as long as it ran. Its time limit is its limit, and also the run time that
backfilling expects. A job that was cancelled before it ran is withdrawn at that time. Sources: the manual pages of
sacct and scontrol, Slurm 23.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import numpy as np

from vinesim.formats.importers.declaration import Argument, Imported, Importer, Option, check_workload
from vinesim.formats.importers.made_nodes import ON_WHAT
from vinesim.formats.importers.report import Finding, ImportReport
from vinesim.formats.importers.slurm_fit import Fit, Tasks
from vinesim.formats.importers.slurm_jobs import ALL_MEMORY, COMMAND, NO_ZONE, SlurmJob, slurm_jobs
from vinesim.formats.importers.slurm_nodes import SlurmNode, read_slurm_nodes
from vinesim.formats.importers.slurm_scenario import scenario_of, types_of, workload_of
from vinesim.formats.importers.slurm_site import import_site
from vinesim.formats.scenario.workload_writer import write_workload
from vinesim.formats.slurm.anonymous import Numbers
from vinesim.formats.source.quantities import format_time_us
from vinesim.formats.source.yaml_writer import write_yaml
from vinesim.model.errors import InputError, Problem
from vinesim.model.workload import NODE

LEFT_OUT = (
    "racks of nodes: all nodes are in one rack, in the order of the file",
    "where and, except for a back-test, when Slurm started a job: the simulated policy decides",
    "priorities, which Slurm recomputes as jobs age; dependencies, except that a job arrives when it is eligible",
    "how many jobs of an array may run at once",
)


def import_slurm(
    jobs: Annotated[Path, Argument("A folder with the files of a site; or only the output of sacct -P --allocations.")],
    output: Annotated[Path, Option("The workload, a Parquet file; a scenario is written next to it.", short="-o")],
    nodes: Annotated[
        Path | None, Option("The output of scontrol show nodes -o; default: nodes made for the jobs.")
    ] = None,
    anonymous: Annotated[bool, Option("Replace users, accounts and names of jobs by numbers.")] = False,
) -> Imported:
    """Import a Slurm site: jobs, nodes, partitions, limits, reservations and parameters; or only its jobs and nodes."""
    if jobs.is_dir():
        return import_site(jobs, output, is_anonymous=anonymous)
    check_workload(output)
    places = [] if nodes is None else read_slurm_nodes(nodes)
    kept, tasks, report = _read(jobs, places)
    if anonymous:
        number = Numbers("user")
        kept = [job._replace(user=number(job.user)) for job in kept]
    types = types_of(kept, places)
    workload = workload_of(kept, tasks, types, sorted({name for node in places for name in node.partitions}))
    scenario = output.with_suffix(".yaml")
    document = scenario_of(workload, places, types, output, _date(kept[0].arrival_s, report))
    write_workload(output, workload, types)
    write_yaml(scenario, document)
    return Imported(report, output, f"{workload.n_jobs:,} jobs", scenario)


IMPORTER = Importer("slurm", import_slurm)


def _date(s: float, report: ImportReport) -> datetime | None:
    """Return a time of the log as a date in UTC, without a zone if the log has none; None if impossible."""
    try:
        date = datetime.fromtimestamp(s, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return date.replace(tzinfo=None) if report.time_zone == NO_ZONE else date


def _read(path: Path, nodes: list[SlurmNode]) -> tuple[list[SlurmJob], list[Tasks], ImportReport]:
    """Return the jobs in the order of their arrivals, their tasks, and the report. Raises :class:`InputError`."""
    report = ImportReport(str(path), left_out=LEFT_OUT)
    jobs = sorted(slurm_jobs(path, report), key=lambda job: job.arrival_s)
    fit, kept, tasks = Fit(nodes, jobs), list[SlurmJob](), list[Tasks]()
    for job in jobs:
        found = fit.tasks_of(job)
        if isinstance(found, str):
            report.drop(found, job.line)
        else:
            kept += [job] * job.n_jobs
            tasks += [found] * job.n_jobs
    if not kept:
        words = f"none in {report.n_lines} lines" + "; dropped: " * bool(report.dropped) + ", ".join(report.dropped)
        remedy = "" if report.n_lines else f"Write the file with: {COMMAND}"
        raise InputError([Problem(str(path), "at least one job", words, remedy)])
    _describe(report, kept, tasks, "the smallest node that can run them" if nodes else "the largest other job")
    if nodes:
        n_gpus, n_off = sum(n for node in nodes for _, n in node.gpus), sum(node.is_off for node in nodes)
        report.made += f"; {len(nodes):,} nodes with {n_gpus:,} GPUs"
        report.numbers |= {"nodes": len(nodes), "gpus": n_gpus}
        if n_off:
            report.notes.append(f"down or drained now, but in the datacenter: {n_off:,} nodes")
        if not fit.has_types and any(kind for job in kept for part in job.parts for kind, _ in part.gpus):
            report.notes.append("the nodes do not say of which type their GPUs are: those of the jobs are not used")
    else:
        report.notes.append(f"{ON_WHAT}, or give --nodes")
    return kept, tasks, report


def _describe(report: ImportReport, kept: Sequence[SlurmJob], tasks: Sequence[Tasks], least: str) -> None:
    """Describe the jobs in the report; ``least`` is the memory of jobs that took all memory of their nodes."""
    days = (kept[-1].arrival_s - kept[0].arrival_s) / 86400
    n_gangs, n_withdrawn = sum(one.n > 1 for one in tasks), sum(job.withdrawn_s < np.inf for job in kept)
    report.made = f"{len(kept):,} jobs over {format_time_us(days * 86400e6)}, {n_gangs:,} of them on several nodes"
    report.numbers = {"jobs": len(kept), "days": days, "gangs": n_gangs, "withdrawn": n_withdrawn}
    waited_us = np.array([job.waited_s * 1e6 for job in kept if job.waited_s == job.waited_s])
    if len(waited_us):
        quantiles = np.quantile(waited_us, [0.5, 0.9, 0.99], method="inverted_cdf").tolist()
        report.numbers["waited_us"] = dict(
            zip(("mean", "p50", "p90", "p99"), [waited_us.mean(), *quantiles], strict=True)
        )
        waits = ", ".join(f"{name} {format_time_us(us)}" for name, us in report.numbers["waited_us"].items())
        report.notes.append(f"jobs waited in Slurm, to compare a run with: {waits}")
    if n_withdrawn:
        report.notes.append(
            f"cancelled before they ran, and withdrawn at that time: {n_withdrawn:,} jobs; those that the simulated "
            "policy starts before run until then, or for their time limit"
        )
    some = {
        "jobs of arrays that were cancelled while they waited": sum(job.n_jobs > 1 for job in kept),
        "jobs of several parts, which start together": sum(len(job.parts) > 1 for job in kept),
        "with GPUs of several types at one node: a task for each type": sum(one.within == NODE for one in tasks),
        "with unequal parts, as their partition has no room for equal ones": sum(one.is_unequal for one in tasks),
    }
    report.notes += [f"{what}: {n:,}" for what, n in some.items() if n]
    if n_cut := sum(job.is_cut for job in kept):
        words = f"{n_cut:,} jobs still ran when the log ended: they end after the time that they had run"
        report.findings.append(Finding("cut off", words, True, {"cut_off": n_cut}))
    n_all = sum(part.memory_bytes == ALL_MEMORY for job in kept for part in job.parts)
    if n_all and any(0 < part.memory_bytes < ALL_MEMORY for job in kept for part in job.parts):
        words = f"{n_all:,} jobs had all memory of their nodes (0): they hold what {least} has"
        report.findings.append(Finding("memory", words, True, {"all_of_a_node": n_all}))
