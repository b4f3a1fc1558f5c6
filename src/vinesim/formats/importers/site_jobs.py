"""Convert the jobs of a Slurm site to a workload for the engine and the policy ``slurm``."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from vinesim.formats.importers.job_starts import coded
from vinesim.formats.importers.site_nodes import CPU, Nodes, SiteNode, bytes_of
from vinesim.formats.importers.site_requests import request_of
from vinesim.formats.slurm.jobs import Record, SlurmJob
from vinesim.formats.slurm.requests import WHOLE, Held, Request, held_by
from vinesim.formats.slurm.values import duration_s, exact
from vinesim.formats.source.quantities import MEMORY
from vinesim.model.catalog import TaskType
from vinesim.model.workload import NO_PARTITION, NO_PREFERENCE, Workload

JOB = TaskType("JOB")
KILLED = ("TIMEOUT", "PREEMPTED", "NODE_FAIL", "DEADLINE")  # states after which the full run time is unknown
NEVER = math.inf
LONGEST_S = 365 * 86400.0  # the limit of a job without one, s
LATER_S = 1.0  # a job that became eligible this long after its submission was held, s
BEYOND_S = 60.0  # a job over its limit is gone after this time, whatever the policy does, s


class SiteJob(NamedTuple):
    """A job and the times that follow from its records."""

    job: SlurmJob
    request: Request
    held: Held
    run_s: float
    withdrawn_s: float
    limit_s: float
    attributes: dict[str, str]


def site_jobs(
    jobs: Sequence[SlurmJob], nodes: Nodes, begin_s: float, over_s: float, drop: Callable[[str, int], object]
) -> list[SiteJob]:
    """Return the jobs that can be simulated, in the order of submission.

    ``drop`` is called with the reason and the line of each other job.
    """
    exclusive = {one.name for one in nodes.partitions if one.values.get("oversubscribe", "").upper() == "EXCLUSIVE"}
    usual_s = {one.name: _usual_limits_s(one.values) for one in nodes.partitions}
    kept, held_of = [], dict[Request, tuple[Request, Held, str]]()  # equal requests share one object
    known = {node.name for node in nodes.nodes}
    fits = dict[tuple[Request, tuple[str, ...]], bool]()
    n_cpus = sum(node.cpus for node in nodes.nodes)
    kinds = list(dict.fromkeys(replace(node, name="") for node in nodes.nodes))
    for job in jobs:
        request = request_of(job, known)
        if job.partitions and exclusive.issuperset(job.partitions):
            request = request._replace(exclusive=True)
        if request not in held_of:
            held_of[request] = request, held_by(request), str(request)
        request, held, words = held_of[request]
        if (where := (request, job.partitions)) not in fits:
            fits[where] = _fits(job, held, request, kinds)
        if not (limits_s := [usual_s[name] for name in job.partitions if name in usual_s]):
            drop("no partition that is known", job.line)
        elif held.n > n_cpus:
            drop("more tasks than the site has CPUs", job.line)
        elif not fits[where]:
            drop("no node of its partition has what it asks for", job.line)
        else:
            longest_s = max(longest for _, longest in limits_s)
            usual = limits_s[0][0], LONGEST_S if job.qos in nodes.long_qos else longest_s
            kept.append(_site_job(job, request, held, words, begin_s, over_s, usual))
    return _whole(jobs, kept, drop)


def _whole(jobs: Sequence[SlurmJob], kept: list[SiteJob], drop: Callable[[str, int], object]) -> list[SiteJob]:
    """Drop all components of a heterogeneous job if one of them was dropped; return the other jobs."""
    n_all = Counter(job.component[0] for job in jobs if job.component is not None)
    n_kept = Counter(one.job.component[0] for one in kept if one.job.component is not None)
    if n_all == n_kept:
        return kept
    found = []
    for one in kept:
        whole = one.job.component and one.job.component[0]
        if whole is None or n_all[whole] == n_kept[whole]:
            found.append(one)
        else:
            drop("a component of a heterogeneous job of which another component is dropped", one.job.line)
    return found


def _fits(job: SlurmJob, held: Held, request: Request, nodes: Sequence[SiteNode]) -> bool:
    cpus = 1.0 if held.cpus == WHOLE else held.cpus
    return any(
        node.cpus >= cpus
        and node.memory_mib >= held.memory_mib
        and (not held.gpus or any(n >= held.gpus and request.gpu_type in ("", kind) for kind, n in node.gpus))
        for node in nodes
        if not set(job.partitions).isdisjoint(node.partitions)
    )


def _usual_limits_s(partition: Mapping[str, str]) -> tuple[float, float]:
    """Return the time limits that a partition gives to jobs that request none, and to jobs that request the maximum."""
    longest_s = duration_s(partition.get("maxtime", ""))
    longest_s = LONGEST_S if longest_s is None or not math.isfinite(longest_s) else longest_s
    return min(duration_s(partition.get("defaulttime", "")) or longest_s, longest_s), longest_s


def goes_back(record: Record) -> bool:
    """Whether a job started before it was submitted or eligible."""
    return record.start_s is not None and record.start_s < max(record.submit_s, record.eligible_s or 0.0)


def _site_job(
    job: SlurmJob,
    request: Request,
    held: Held,
    words: str,
    begin_s: float,
    over_s: float,
    usual_s: tuple[float, float],
) -> SiteJob:
    first, last = job.records[0], job.records[-1]
    asked_s = duration_s(job.options.get("time", "")) if "time-min" in job.options else None
    limit_s = asked_s or job.limit_s  # for a job with --time-min, sacct has the limit that backfill left
    if limit_s is None or not math.isfinite(limit_s):
        limit_s = usual_s[0 if limit_s is None else 1]
    if last.start_s is not None:
        limit_s = min(limit_s, usual_s[1])  # the limit was extended after the job was accepted
    withdrawn_s = NEVER
    run_s = last.elapsed_s
    if last.start_s is None and last.state == "CANCELLED" and last.end_s is not None:
        withdrawn_s = max(last.end_s, first.submit_s) - begin_s
    if last.start_s is None or last.state in KILLED:
        run_s = limit_s + over_s + BEYOND_S
    return SiteJob(job, request, held, run_s, withdrawn_s, limit_s, _attributes(job, words, first, begin_s))


def _attributes(job: SlurmJob, request: str, first: Record, begin_s: float) -> dict[str, str]:
    options = job.options
    depends = options.get("dependency", "")
    throttle = options.get("array", "").partition("%")[2]
    found = {
        "request": request,
        "account": job.account,
        "qos": job.qos,
        "partitions": ",".join(job.partitions) if len(job.partitions) > 1 else "",
        "nice": "" if options.get("nice", "0") == "0" else options["nice"] or "100",
        "reservation": job.reservation,
        "dependency": depends,
        "array": "" if job.array is None else str(job.array),
        "throttle": throttle,
        "name": job.name if "singleton" in depends else "",
        "licenses": options.get("licenses", ""),
        "time_min": options.get("time-min", ""),
        "no_requeue": "yes" if "no-requeue" in options else "",
        "failed": "" if job.exit_ok and job.records[-1].state == "COMPLETED" else "yes",
        "component": "" if job.component is None else str(job.component[0]),
    }
    if not depends and not throttle:
        if first.eligible_s is None:
            found["begin_s"] = "never"
        elif first.eligible_s > first.submit_s + LATER_S:
            found["begin_s"] = exact(first.eligible_s - begin_s)
    if first.start_s is not None and first.eligible_s is not None and not goes_back(first):
        found["eligible_s"], found["start_s"] = exact(first.eligible_s - begin_s), exact(first.start_s - begin_s)
    return {name: text for name, text in found.items() if text}


def workload_of(jobs: Sequence[SiteJob], nodes: Nodes, begin_s: float) -> Workload:
    """Return the workload; its first job arrives at 0."""
    n_tasks = np.array([one.held.n for one in jobs])
    first = np.concatenate(([0], np.cumsum(n_tasks)))
    gpus = np.array([one.held.gpus for one in jobs])
    cpus = np.array([one.held.cpus for one in jobs])
    memory = np.array([bytes_of(one.held.memory_mib) for one in jobs])
    types = tuple(nodes.gpu_types)
    sets = [(CPU,), *([types] if types else []), *((name,) for name in types)]
    leads = [_lead(one, types) for one in jobs]
    users = {name: i for i, name in enumerate(sorted({one.job.user for one in jobs}))}
    names = [one.name for one in nodes.partitions]
    submit_s = np.array([one.job.records[0].submit_s for one in jobs])
    leaders = dict[int, float]()
    for i, one in enumerate(jobs):  # the components of a heterogeneous job are submitted together
        if one.job.component is not None:
            leader_s = leaders.setdefault(one.job.component[0], submit_s[i])
            submit_s[i] = leader_s if submit_s[i] <= leader_s + LATER_S else submit_s[i]
    withdrawn_us = np.array([one.withdrawn_s for one in jobs]) * 1e6
    limit_us = np.array([one.limit_s for one in jobs]) * 1e6
    zeros = np.zeros(first[-1])
    attributes, words = coded([one.attributes for one in jobs])
    return Workload(
        job_task_type=np.zeros(len(jobs)),
        job_first=first,
        arrival_us=(submit_s - begin_s) * 1e6,
        operations=np.repeat(np.array([one.run_s for one in jobs]) * 1e6, n_tasks),
        data_bytes=zeros,
        data_rack=zeros,
        data_shelf=zeros,
        preferred_type=zeros + NO_PREFERENCE,
        demand=np.repeat(np.where(gpus > 0, 1.0, cpus), n_tasks),
        job_id=np.array([one.job.number for one in jobs]),
        estimate_us=np.repeat(limit_us, n_tasks),
        task_types=(JOB,),
        units=np.repeat(np.maximum(gpus, 1), n_tasks),
        lead_types=np.repeat(leads, n_tasks),
        lead_sets=tuple(sets),
        companions={
            CPU: np.repeat(np.where(gpus > 0, cpus, 0.0), n_tasks),
            MEMORY: np.repeat(memory, n_tasks),
        },
        user=np.array([users[one.job.user] for one in jobs]),
        user_names=tuple(users),
        partition=np.array([_partition(one.job, names) for one in jobs]),
        partition_names=tuple(names),
        withdraw_us=withdrawn_us if np.isfinite(withdrawn_us).any() else None,
        attributes=attributes,
        attribute_words=words,
    )


def _lead(one: SiteJob, types: tuple[str, ...]) -> int:
    """Return the set of types that the tasks of a job run on: CPUs, any GPUs, or GPUs of one type."""
    if not one.held.gpus:
        return 0
    return 2 + types.index(one.request.gpu_type) if one.request.gpu_type in types else 1


def _partition(job: SlurmJob, names: list[str]) -> int:
    return names.index(job.partitions[0]) if len(job.partitions) == 1 else NO_PARTITION
