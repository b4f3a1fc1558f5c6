"""Convert a Slurm site at the time of a snapshot of ``squeue`` to a scenario that begins at this time."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from vinesim.formats.importers.declaration import check_workload
from vinesim.formats.importers.site_jobs import KILLED, SiteJob, site_jobs, workload_of
from vinesim.formats.importers.site_nodes import CPU, Nodes, read_nodes
from vinesim.formats.importers.site_queue import Queue, read_queue
from vinesim.formats.importers.site_values import check_values
from vinesim.formats.importers.slurm_site import scenario_of
from vinesim.formats.scenario.workload_writer import write_workload
from vinesim.formats.slurm.accounts import ROOT
from vinesim.formats.slurm.availability import NodeEvent
from vinesim.formats.slurm.jobs import Record
from vinesim.formats.slurm.site import Site, read_site
from vinesim.formats.source.quantities import MEMORY
from vinesim.formats.source.yaml_writer import write_yaml
from vinesim.model.catalog import ProcessorType
from vinesim.model.errors import InputError, Problem

DAY_S = 86400.0
OF_ITS_OWN = ("dependency", "array", "begin", "reservation")  # options of a job that do not apply to its repetitions


class NothingPending(InputError):
    """No job of a snapshot waits."""


class SiteSnapshot(NamedTuple):
    """The written scenario with its workload, and facts about the past that help predictions."""

    scenario: Path
    queue: Queue
    used_parts: list[float]  # the shares of their limits that ended jobs had used
    later_s: float  # how long jobs of the past arrive again after those of the queue, s; 0 if none does


def write_snapshot(
    folder: Path | Site, output: Path, at_s: float | None = None, *, later: bool = False
) -> SiteSnapshot:
    """Write a site, given its folder or its contents, in the state of the last snapshot, or the last one by ``at_s``.

    With ``later``, the jobs submitted in the day before the snapshot arrive again after those of the queue, in place of
    future submissions. Raises :class:`InputError`, and :class:`NothingPending` if no job waits.
    """
    check_workload(output)
    site = folder if isinstance(folder, Site) else read_site(folder)
    check_values(site)
    nodes = read_nodes(site)
    queue = read_queue(site, nodes, at_s)
    if not any(one.reason for one in queue.jobs):
        found = ", ".join(["none at that time", *(f"{n:,} left out: {reason}" for reason, n in queue.dropped.items())])
        raise NothingPending([Problem(str(site.folder), "a snapshot of squeue with pending jobs", found)])
    now_s = queue.time_s
    later_s, again = _later(site, nodes, now_s) if later else (0.0, [])
    jobs = [one.site_job for one in queue.jobs] + again
    document = scenario_of(replace(site, events=_known(site, now_s)), nodes, now_s, output)
    _put_usage(document["options"].get("accounts", {}), site, now_s)
    types = tuple(ProcessorType(name) for name in (CPU, *nodes.gpu_types, MEMORY))
    write_workload(output, workload_of(jobs, nodes, now_s), types)
    write_yaml(output.with_suffix(".yaml"), document)
    return SiteSnapshot(output.with_suffix(".yaml"), queue, list(_used_parts(site, now_s)), later_s)


def _later(site: Site, nodes: Nodes, now_s: float) -> tuple[float, list[SiteJob]]:
    """Return how long further jobs arrive, s, and these jobs: those of the last day, or of the part of it that the log
    covers, at the same intervals after now."""
    past = [job for job in site.jobs.jobs if now_s - DAY_S < job.records[0].submit_s <= now_s]
    past = [job for job in past if job.records[0].eligible_s is not None]
    span_s = now_s - min((job.records[0].submit_s for job in past), default=now_s)
    numbers = [job.number for job in site.jobs.jobs]
    further = 1 + max(numbers, default=0) - min(numbers, default=0)  # added to the job ids
    again = []
    for job in past:
        submit_s = job.records[0].submit_s + span_s
        record = Record(submit_s, submit_s, None, None, 0.0, 0.0, "PENDING", {}, "")
        options = {name: text for name, text in job.options.items() if name not in OF_ITS_OWN}
        component = None if job.component is None else (job.component[0] + further, job.component[1])
        again.append(replace(job, number=job.number + further, array=None, index=None, component=component,
                             reservation="", options=options, records=(record,)))  # fmt: skip
    return span_s, site_jobs(again, nodes, now_s, 0.0, lambda *_: None)


def _known(site: Site, now_s: float) -> list[NodeEvent]:
    """Return the current events of nodes, whose ends are unknown."""
    return [
        replace(one, end_s=None)
        for one in site.events
        if one.start_s <= now_s and (one.end_s is None or one.end_s > now_s)
    ]


def _used_parts(site: Site, now_s: float) -> Iterator[float]:
    for job in site.jobs.jobs:
        for one in job.records:
            is_over = one.start_s is not None and one.end_s is not None and one.end_s <= now_s
            if is_over and job.limit_s and one.state not in KILLED[1:]:
                yield 1.0 if one.state == KILLED[0] else min(1.0, one.elapsed_s / job.limit_s)


def _put_usage(accounts: dict[str, Any], site: Site, now_s: float) -> None:
    """Set the usage in the options of associations from the last ``sshare`` before the snapshot."""
    before = [one for one in site.shares if one.time_s is None or one.time_s <= now_s + 1.0]
    for row in before[-1].rows if before else []:
        account, user, usage = row.get("Account", ""), row.get("User", ""), row.get("RawUsage", "")
        if account in accounts and account != ROOT and user and usage.isdecimal():
            accounts[account].setdefault("users", {}).setdefault(user, {})["usage"] = float(usage)
