"""Build the workload of a Slurm cluster's jobs, and write the scenario with its nodes."""

import math
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.formats.importers.job_starts import coded
from vinesim.formats.importers.made_nodes import ANY_GPU, CPU, made_nodes
from vinesim.formats.importers.slurm_fit import Task, Tasks
from vinesim.formats.importers.slurm_jobs import SlurmJob
from vinesim.formats.importers.slurm_nodes import MIB, SlurmNode
from vinesim.formats.source.quantities import MEMORY
from vinesim.model.catalog import ProcessorType, TaskType
from vinesim.model.workload import ANYWHERE, NO_PARTITION, NO_PREFERENCE, Workload

JOB = TaskType("JOB")


def types_of(jobs: Sequence[SlurmJob], nodes: Sequence[SlurmNode]) -> tuple[ProcessorType, ...]:
    """Return CPUs, the types of GPUs, and memory."""
    kinds = {kind for node in nodes for kind, _ in node.gpus}
    if not nodes:
        gpus = {kind for job in jobs for part in job.parts for kind, _ in part.gpus}
        kinds = gpus - {""} or {ANY_GPU for _ in gpus}
    return tuple(map(ProcessorType, (CPU, *sorted(kinds), MEMORY)))


def workload_of(
    jobs: Sequence[SlurmJob], tasks: Sequence[Tasks], types: tuple[ProcessorType, ...], partitions: list[str]
) -> Workload:
    """Return the jobs in the order of their arrivals, each with its tasks; the first arrives at 0."""
    n_tasks = np.array([one.n for one in tasks])
    first = np.concatenate(([0], np.cumsum(n_tasks)))
    each = [task for one in tasks for task in one.tasks]
    counts = [task.n_tasks for task in each]
    n_gpus, cores, memory = (
        np.repeat([getattr(task, name) for task in each], counts) for name in ("n_gpus", "cores", "memory_bytes")
    )
    gpu_types = tuple(p.name for p in types if p.name not in (CPU, MEMORY))
    sets = [(CPU,)] + [gpu_types, *((name,) for name in gpu_types)] * bool(gpu_types)
    run_us, limit_us, arrival_us, withdraw_us = (
        np.array([getattr(job, name) for job in jobs]) * 1e6
        for name in ("run_s", "limit_s", "arrival_s", "withdrawn_s")
    )
    expected_us = np.where(np.isfinite(limit_us), limit_us, run_us)
    users = sorted({job.user for job in jobs})
    numbers = [job.number for job in jobs]
    attributes, words = coded([_attributes(job, jobs[0].arrival_s) for job in jobs])
    zeros = np.zeros(first[-1])
    within = np.array([one.within for one in tasks])
    return Workload(
        job_task_type=np.zeros(len(jobs)),
        job_first=first,
        arrival_us=arrival_us - arrival_us[0],
        operations=np.repeat(run_us, n_tasks),
        data_bytes=zeros,
        data_rack=zeros,
        data_shelf=zeros,
        preferred_type=zeros + NO_PREFERENCE,
        demand=np.where(n_gpus > 0, 1, cores),
        job_id=None if None in numbers else np.array(numbers),
        estimate_us=np.repeat(expected_us, n_tasks),
        task_types=(JOB,),
        units=np.maximum(n_gpus, 1),
        lead_types=np.repeat([_lead(task, gpu_types) for task in each], counts),
        lead_sets=tuple(sets),
        companions={CPU: np.where(n_gpus > 0, cores, 0), MEMORY: memory},
        user=np.array([users.index(job.user) for job in jobs]) if users != [""] else None,
        user_names=tuple(users) if users != [""] else (),
        partition=np.array([_partition(job, partitions) for job in jobs]),
        partition_names=tuple(partitions),
        limit_us=limit_us if np.isfinite(limit_us).any() else None,
        withdraw_us=withdraw_us - arrival_us[0] if np.isfinite(withdraw_us).any() else None,
        gang_within=within,
        tasks_per_node=np.where(within == ANYWHERE, 1, 0),
        attributes=attributes or None,
        attribute_words=words or None,
    )


def _attributes(job: SlurmJob, begin_s: float) -> dict[str, str]:
    start_s = job.arrival_s + job.waited_s - begin_s
    return {"start_s": f"{start_s:.15g}" if math.isfinite(start_s) else "", "array": job.array}


def _lead(task: Task, gpu_types: tuple[str, ...]) -> int:
    """Return the set of types that a task runs on: CPUs, any GPUs, or GPUs of one type."""
    if not task.n_gpus:
        return 0
    return 2 + gpu_types.index(task.gpu_type) if task.gpu_type in gpu_types else 1


def _partition(job: SlurmJob, partitions: list[str]) -> int:
    """Return the code of a job's partition; none if its parts are in different ones."""
    names = {part.partition for part in job.parts}
    (name,) = names if len(names) == 1 else ("",)
    return partitions.index(name) if name in partitions else NO_PARTITION


def scenario_of(
    work: Workload,
    nodes: Sequence[SlurmNode],
    types: tuple[ProcessorType, ...],
    workload: Path,
    start: datetime | None,
) -> dict[str, Any]:
    """Return the scenario of the nodes and jobs. ``start`` is the date at which the first job arrives, if known."""
    units = [p.name for p in types if p.name != MEMORY]
    groups = [list(same) for _, same in groupby(nodes, lambda node: node._replace(name="", is_off=False))]
    partitions = [
        {"name": name, "groups": sorted({_group(node) for node in nodes if name in node.partitions})}
        for name in work.partition_names
    ]
    made = [_equal_nodes(same) for same in groups] or made_nodes(work, [*units, MEMORY], work.operations)
    return {
        "description": "Jobs and nodes of a Slurm cluster.",
        "extends": "none",
        "processor_types": [{"name": name} for name in units],
        "task_types": [JOB.name],
        "affinity": {"absolute": {name: {JOB.name: 1.0} for name in units}},
        "network": "none",
        **({} if start is None else {"start_date": f"{start}"}),
        "datacenter": {"racks": [{"nodes": made}]},
        **({"partitions": partitions} if partitions else {}),
        "workload": {"file": workload.name},
        "policy": "easy_backfill",
    }


def _equal_nodes(nodes: Sequence[SlurmNode]) -> dict[str, Any]:
    """Return nodes that differ only in their names, in the form of a scenario file."""
    node = nodes[0]
    units: dict[str, Any] = {CPU: {"cores": node.cores}, **dict(node.gpus)}
    found = {"count": len(nodes), "units": units, "memory": f"{node.memory_bytes // MIB} MiB"}
    found["names"] = [node.name for node in nodes]
    return found | ({"group": _group(node)} if node.partitions else {})


def _group(node: SlurmNode) -> str:
    """Return the name of the group of nodes with the same partitions."""
    return "+".join(node.partitions)
