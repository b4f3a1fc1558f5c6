"""Jobs and nodes of a Slurm cluster, as ``sacct`` and ``scontrol show nodes`` print them.

A job is a gang of one task for each of its nodes, each with its part of the cores, memory and GPUs that the job held.
It arrives when it became eligible, and runs for as long as it ran; its time limit is its limit, and what backfilling
expects. A job that was cancelled before it ran is withdrawn at that time. Sources: the manual pages of sacct and
scontrol, Slurm 23.
"""

from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from vinesim.formats.importers.declaration import Argument, Imported, Importer, Option, check_workload
from vinesim.formats.importers.made_nodes import ANY_GPU, CPU, ON_WHAT, made_nodes
from vinesim.formats.importers.report import ImportReport
from vinesim.formats.importers.slurm_jobs import COMMAND, SlurmJob, slurm_jobs
from vinesim.formats.importers.slurm_nodes import MIB, SlurmNode, read_slurm_nodes
from vinesim.formats.scenario.workload_writer import write_workload
from vinesim.formats.source.amounts import MEMORY
from vinesim.formats.source.quantities import format_time_us
from vinesim.formats.source.yaml_writer import write_yaml
from vinesim.model.catalog import ProcessorType, TaskType
from vinesim.model.errors import InputError, Problem
from vinesim.model.workload import ANYWHERE, NO_GANG, NO_PARTITION, NO_PREFERENCE, Workload

JOB = TaskType("JOB")
LEFT_OUT = (
    "names and racks of nodes: all nodes are in one rack, in the order of the file",
    "when and where Slurm started a job: the simulated policy decides",
    "priorities, which Slurm computes anew as jobs age; dependencies, except that a job arrives when it is eligible",
)


def import_slurm(
    jobs: Annotated[Path, Argument("The jobs: the output of sacct --allocations --parsable2, plain or gzip.")],
    output: Annotated[Path, Option("The workload, a Parquet file; a scenario is written beside it.", short="-o")],
    nodes: Annotated[
        Path | None, Option("The nodes: the output of scontrol show nodes -o; else nodes are made for the jobs.")
    ] = None,
) -> Imported:
    """Import the jobs and nodes of a Slurm cluster, as sacct and scontrol print them."""
    check_workload(output)
    places = [] if nodes is None else read_slurm_nodes(nodes)
    kept, report = _read(jobs, places)
    types = _types(kept, places)
    workload = _workload(kept, types, sorted({name for node in places for name in node.partitions}))
    write_workload(output, workload, types)
    scenario = output.with_suffix(".yaml")
    write_yaml(scenario, _document(workload, places, types, output))
    return Imported(report, output, f"{workload.n_jobs:,} jobs", scenario)


IMPORTER = Importer("slurm", import_slurm)


def _read(path: Path, nodes: list[SlurmNode]) -> tuple[list[SlurmJob], ImportReport]:
    """Return the jobs in the order of their arrivals, and the report. Raises :class:`InputError`."""
    report = ImportReport(str(path), left_out=LEFT_OUT)
    models, kinds = _models(nodes), Counter(node._replace(is_off=False) for node in nodes)
    kept = []
    for job in slurm_jobs(path, report):
        reason = ""
        if nodes:
            job, reason = _fitted(job, kinds, bool(models))
        if reason:
            report.drop(reason, job.line)
        else:
            kept.append(job)
    if not kept:
        found = f"none in {report.n_lines} lines" + "; dropped: " * bool(report.dropped) + ", ".join(report.dropped)
        remedy = "" if report.n_lines else f"Write the file with: {COMMAND}"
        raise InputError([Problem(str(path), "at least one job", found, remedy)])
    kept.sort(key=lambda job: job.arrival_s)
    days = (kept[-1].arrival_s - kept[0].arrival_s) / 86400
    n_gangs, n_withdrawn = sum(job.n_nodes > 1 for job in kept), sum(job.withdrawn_s < np.inf for job in kept)
    report.made = f"{len(kept):,} jobs over {days:.1f} days, {n_gangs:,} of them on several nodes"
    report.numbers = {"jobs": len(kept), "days": days, "gangs": n_gangs, "withdrawn": n_withdrawn}
    waited_us = np.array([job.waited_s * 1e6 for job in kept if job.waited_s == job.waited_s])
    if len(waited_us):
        quantiles = np.quantile(waited_us, [0.5, 0.9, 0.99], method="inverted_cdf").tolist()
        report.numbers["waited_us"] = dict(
            zip(("mean", "p50", "p90", "p99"), [waited_us.mean(), *quantiles], strict=True)
        )
        words = (f"{name} {format_time_us(us)}" for name, us in report.numbers["waited_us"].items())
        report.notes.append("jobs waited in Slurm, to compare a run with: " + ", ".join(words))
    if n_withdrawn:
        report.notes.append(
            f"cancelled before they ran, and withdrawn at that time: {n_withdrawn:,} jobs; those that the simulated "
            "policy starts before run until then, or for their time limit"
        )
    if nodes:
        n_gpus = sum(n for node in nodes for _, n in node.gpus)
        report.made += f"; {len(nodes):,} nodes with {n_gpus:,} GPUs"
        report.numbers |= {"nodes": len(nodes), "gpus": n_gpus}
        n_off = sum(node.is_off for node in nodes)
        if n_off:
            report.notes.append(f"down or drained now, but in the datacenter: {n_off:,} nodes")
        if any(job.gpu_type for job in kept) and not models:
            report.notes.append("the nodes do not say of which type their GPUs are: those of the jobs are not used")
    else:
        report.notes.append(f"{ON_WHAT}, or give --nodes")
    return kept, report


def _fitted(job: SlurmJob, kinds: Counter[SlurmNode], has_types: bool) -> tuple[SlurmJob, str]:
    """Return the job, with less memory if that was rounded up and no node has so much, and why it can never run."""
    less = job._replace(memory_bytes=job.memory_bytes - job.rounded_bytes)
    reason = _reason(job, kinds, has_types)
    if reason and not _reason(less, kinds, has_types):
        return less, ""
    return job, reason


def _reason(job: SlurmJob, kinds: Counter[SlurmNode], has_types: bool) -> str:
    """Return why a job can never run on nodes of these kinds, so many of each; nothing if it can."""
    mine = [(node, n) for node, n in kinds.items() if job.partition in node.partitions]
    if not mine:
        return f"no node is in its partition, {job.partition or 'which has no name'}"
    n_nodes = sum(n for node, n in mine if node.holds(*job.largest_task, job.gpu_type * has_types))
    return "" if n_nodes >= job.n_nodes else "its partition has too few nodes with all that it asks for"


def _models(nodes: list[SlurmNode]) -> list[str]:
    """Return the types of GPUs that nodes have; none if they have no type."""
    return sorted({kind for node in nodes for kind, _ in node.gpus if kind != ANY_GPU})


def _types(jobs: list[SlurmJob], nodes: list[SlurmNode]) -> tuple[ProcessorType, ...]:
    """Return CPUs, the types of GPUs, and memory."""
    kinds = {kind for node in nodes for kind, _ in node.gpus}
    if not nodes:
        kinds = {job.gpu_type for job in jobs if job.gpu_type} or {ANY_GPU for job in jobs if job.n_gpus}
    return tuple(map(ProcessorType, (CPU, *sorted(kinds), MEMORY)))


def _workload(jobs: list[SlurmJob], types: tuple[ProcessorType, ...], partitions: list[str]) -> Workload:
    """Return the jobs, each with a task for each of its nodes; the first arrives at 0."""
    n_nodes = np.array([job.n_nodes for job in jobs])
    first = np.concatenate(([0], np.cumsum(n_nodes)))
    rank = np.arange(first[-1]) - np.repeat(first[:-1], n_nodes)  # of a task in its job
    cores, n_gpus = (
        _shared_out(np.repeat([getattr(job, name) for job in jobs], n_nodes), np.repeat(n_nodes, n_nodes), rank)
        for name in ("cores", "n_gpus")
    )
    memory = np.repeat([job.memory_bytes / job.n_nodes for job in jobs], n_nodes)
    gpu_types = tuple(p.name for p in types if p.name not in (CPU, MEMORY))
    sets = [(CPU,)] + [gpu_types, *((name,) for name in gpu_types)] * bool(gpu_types)
    of_gpus = [2 + gpu_types.index(job.gpu_type) if job.gpu_type in gpu_types else 1 for job in jobs]
    lead = np.where(n_gpus > 0, np.repeat(of_gpus, n_nodes), 0)
    run_us, limit_us, arrival_us, withdraw_us = (
        np.array([getattr(job, name) for job in jobs]) * 1e6
        for name in ("run_s", "limit_s", "arrival_s", "withdrawn_s")
    )
    expected_us = np.where(np.isfinite(limit_us), limit_us, run_us)
    users = sorted({job.user for job in jobs})
    numbers = [job.number for job in jobs]
    zeros = np.zeros(first[-1])
    codes = {name: i for i, name in enumerate(partitions)}
    return Workload(
        job_task_type=np.zeros(len(jobs)),
        job_first=first,
        arrival_us=arrival_us - arrival_us[0],
        operations=np.repeat(run_us, n_nodes),
        data_bytes=zeros,
        data_rack=zeros,
        data_shelf=zeros,
        preferred_type=zeros + NO_PREFERENCE,
        demand=np.where(n_gpus > 0, 1, cores),
        job_id=None if None in numbers else np.array(numbers),
        estimate_us=np.repeat(expected_us, n_nodes),
        task_types=(JOB,),
        units=np.maximum(n_gpus, 1),
        lead_types=lead,
        lead_sets=tuple(sets),
        companions={CPU: np.where(n_gpus > 0, cores, 0), MEMORY: memory},
        user=np.array([users.index(job.user) for job in jobs]) if users != [""] else None,
        user_names=tuple(users) if users != [""] else (),
        partition=np.array([codes.get(job.partition, NO_PARTITION) for job in jobs]),
        partition_names=tuple(partitions),
        limit_us=limit_us if np.isfinite(limit_us).any() else None,
        withdraw_us=withdraw_us - arrival_us[0] if np.isfinite(withdraw_us).any() else None,
        gang_within=np.where(n_nodes > 1, ANYWHERE, NO_GANG),
        tasks_per_node=np.where(n_nodes > 1, 1, 0),
    )


def _shared_out(amount: np.ndarray, n_nodes: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Return each task's part of a whole amount of its job: as equal as can be, the first ones one more."""
    return amount // n_nodes + (rank < amount % n_nodes)


def _document(
    work: Workload, nodes: list[SlurmNode], types: tuple[ProcessorType, ...], workload: Path
) -> dict[str, Any]:
    """Return the scenario of the nodes and jobs."""
    units = [p.name for p in types if p.name != MEMORY]
    groups = [(node, len(list(same))) for node, same in groupby(node._replace(is_off=False) for node in nodes)]
    partitions = [
        {"name": name, "groups": sorted({_group(node) for node, _ in groups if name in node.partitions})}
        for name in work.partition_names
    ]
    made = [_node(node, count) for node, count in groups] or made_nodes(work, [*units, MEMORY], work.operations)
    return {
        "description": "Jobs and nodes of a Slurm cluster.",
        "extends": "none",
        "processor_types": [{"name": name} for name in units],
        "task_types": [JOB.name],
        "affinity": {"absolute": {name: {JOB.name: 1.0} for name in units}},
        "network": "none",
        "datacenter": {"racks": [{"nodes": made}]},
        **({"partitions": partitions} if partitions else {}),
        "workload": {"file": workload.name},
        "policy": "easy_backfill",
    }


def _node(node: SlurmNode, count: int) -> dict[str, Any]:
    """Return equal nodes as the scenario file has them."""
    units: dict[str, Any] = {CPU: {"cores": node.cores}, **dict(node.gpus)}
    found = {"count": count, "units": units, "memory": f"{node.memory_bytes // MIB} MiB"}
    return found | ({"group": _group(node)} if node.partitions else {})


def _group(node: SlurmNode) -> str:
    """Return the name of the nodes that are in the same partitions."""
    return "+".join(node.partitions)
