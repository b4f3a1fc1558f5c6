"""Convert a snapshot of ``squeue`` to a workload: running jobs on their nodes, and pending jobs with their waits.

What a job requests comes from ``sacct`` or, without it, from the columns of ``squeue``. Nothing that happened after the
snapshot is used: neither the run times of jobs nor later starts.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from vinesim.formats.importers.site_jobs import LATER_S, SiteJob, site_jobs
from vinesim.formats.importers.site_nodes import Nodes
from vinesim.formats.importers.site_options import priority_flags
from vinesim.formats.importers.site_ran import ON_NODES, SUSPENDED, ran_s
from vinesim.formats.slurm.jobs import Record, SlurmJob, keys_of
from vinesim.formats.slurm.requests import Request, held_by
from vinesim.formats.slurm.site import Site
from vinesim.formats.slurm.snapshots import Snapshot
from vinesim.formats.slurm.values import NOTHING, duration_s, exact, hosts, memory_mib, readable_hosts, time_s
from vinesim.model.errors import InputError, Problem

COMMAND = "squeue -a -r -o '%i|%j|%u|%a|%P|%q|%T|%r|%Q|%V|%e|%S|%l|%D|%C|%m|%b|%f|%v|%E|%F|%M|%N|%n|%x' > squeue.txt"
COLUMNS = {  # VineSim's name -> names in squeue
    "STATE": ("STATE", "ST"),
    "SUBMIT": ("SUBMIT", "SUBMIT_TIME"),
    "START": ("START", "START_TIME"),
    "LIMIT": ("LIMIT", "TIME_LIMIT"),
    "MEM": ("MEM", "MIN_MEMORY"),
    "GRES": ("GRES", "TRES_PER_NODE"),
}
NEEDED = ("JOBID", "USER", "PARTITION", "STATE", "SUBMIT", "START", "LIMIT", "NODES", "CPUS", "NODELIST")
PENDING = ("PENDING", "PD")
NEVER = ("JobHeldUser", "JobHeldAdmin", "DependencyNeverSatisfied")
BASIC = 4294901760  # priority/basic: falling from here
HAS_BASIC = 1e9  # larger priorities are of priority/basic


class Queued(NamedTuple):
    """A job of the snapshot."""

    site_job: SiteJob
    name: str  # its JobID
    reason: str  # Slurm's reason; "" if it runs
    submit_s: float
    planned_s: float | None  # when Slurm plans to start the job


@dataclass
class Queue:
    """The jobs of a snapshot: running ones, then pending ones in the order of submission."""

    time_s: float
    jobs: list[Queued]
    dropped: Counter[str]


def snapshot_at(site: Site, at_s: float | None) -> tuple[float, list[dict[str, str]]]:
    """Return the time and the rows of the last snapshot, or of the last one by ``at_s``. Raises :class:`InputError`."""
    where = site.files.get("queue", str(site.folder))
    if not site.queue:
        raise InputError([Problem(where, "a snapshot of squeue", "none", f"Write one with: {COMMAND}")])
    rows = [_named(row) for row in site.queue[0].rows]
    missing = [name for name in NEEDED if rows and name not in rows[0]]
    if missing:
        raise InputError([Problem(where, f"columns {', '.join(missing)}", "none", f"Write it with: {COMMAND}")])
    by_then = [one for one in site.queue if at_s is None or one.time_s is None or one.time_s <= at_s]
    if not by_then:
        first = f"the first is of {site.queue[0].time_s:.0f}"
        raise InputError([Problem("--at", "a time at or after the first snapshot", f"{at_s:.0f}; {first}")])
    rows = [_named(row) for row in by_then[-1].rows]
    return _time_of(by_then[-1], rows, at_s), rows


def _time_of(snapshot: Snapshot, rows: list[dict[str, str]], at_s: float | None) -> float:
    """Return when a snapshot was taken: its own time, ``at_s``, or the latest past time in its rows."""
    if snapshot.time_s is not None:
        return snapshot.time_s
    known = [time_s(row["SUBMIT"]) for row in rows]
    known += [time_s(row["START"]) for row in rows if row["STATE"] in ON_NODES]
    return at_s if at_s is not None else max((one for one in known if one is not None), default=0.0)


def _named(row: dict[str, str]) -> dict[str, str]:
    return row | {ours: row[name] for ours, names in COLUMNS.items() for name in names if name in row}


def read_queue(site: Site, nodes: Nodes, at_s: float | None) -> Queue:
    """Return the jobs of a snapshot. Raises :class:`InputError` where there is none."""
    now_s, rows = snapshot_at(site, at_s)
    before = _before(site, now_s) if any(row["STATE"] in SUSPENDED for row in rows) else []
    tiers = {one.name: int(one.values.get("prioritytier", "1")) for one in nodes.partitions}
    known = {job.key: job for job in site.jobs.jobs}
    dropped = Counter[str]()
    made: list[tuple[SlurmJob, dict[str, str], str]] = []
    for row in rows:
        if row["STATE"] not in (*ON_NODES, *PENDING):
            dropped[f"state {row['STATE']}"] += 1
            continue
        if not (row["CPUS"].isdecimal() and row["NODES"][:1].isdecimal()):
            dropped["CPUS or NODES: no number"] += 1
            continue
        for number, place in keys_of(row["JOBID"]):
            sign = "+" if "+" in row["JOBID"] else "_"
            name = str(number) if place is None else f"{number}{sign}{place}"
            made.append((_job(row, number, place, known.get((number, place)), now_s), row, name))
    found, ages_always = [], "ACCRUE_ALWAYS" in priority_flags(site.config.settings)
    for job, row, name in made:
        site_job = next(iter(site_jobs([job], nodes, now_s, 0.0, lambda why, _: dropped.update([why]))), None)
        if site_job is not None:
            has_run_s = ran_s(row, now_s, rows, before, tiers) if row["STATE"] in ON_NODES else None
            found.append(_queued(site_job, row, name, known.get(job.key), now_s, has_run_s, ages_always))
    found.sort(key=lambda one: (one.reason != "", _tier(one, tiers) if not one.reason else 0, one.submit_s,
                                one.site_job.job.number, one.site_job.job.index or 0))  # fmt: skip
    suspends = "suspend" in site.config.settings.get("preemptmode", "").lower()
    return Queue(now_s, _on_nodes(found, nodes, tiers if suspends else {}, dropped), dropped)


def _before(site: Site, now_s: float) -> list[tuple[float, list[dict[str, str]]]]:
    """Return the snapshots before a time, latest first."""
    times = [(one.time_s, [_named(row) for row in one.rows]) for one in reversed(site.queue) if one.time_s is not None]
    return [(time, rows) for time, rows in times if time < now_s]


def _tier(one: Queued, tiers: dict[str, int]) -> int:
    return max(tiers.get(name, 1) for name in one.site_job.job.partitions)


def _job(row: dict[str, str], number: int, place: int | None, known: SlurmJob | None, now_s: float) -> SlurmJob:
    """Return a job of the queue; it arrives at the time of the snapshot."""
    limit_s = duration_s(row["LIMIT"])
    record = Record(now_s, now_s, None, None, 0.0, 0.0, row["STATE"], {}, "")
    changed: dict[str, Any] = {
        "limit_s": limit_s if limit_s is not None and math.isfinite(limit_s) else None,
        "partitions": tuple(filter(None, row["PARTITION"].split(","))),
        "qos": _text(row, "QOS"),
        "reservation": _text(row, "RESERVATION"),
        "records": (record,),
    }
    depends = re.sub(r"\(\w+\)", "", _text(row, "DEPENDENCY"))
    if known is not None:
        given = known.options.items()  # the queue has the current values of what may change until a job starts
        options = {name: value for name, value in given if name not in ("dependency", "time")}
        return replace(known, options=options | ({"dependency": depends} if depends else {}), **changed)
    least = int(re.match(r"\d*", row["NODES"])[0] or 1)  # type: ignore[index]  # it also matches an empty text
    options = {"nodes": str(least), "ntasks": row["CPUS"], "dependency": depends, "gres": _gres(row),
               "licenses": _text(row, "LICENSES"), "nodelist": _text(row, "REQ_NODES"),
               "exclude": _text(row, "EXC_NODES")}  # fmt: skip
    memory = memory_mib(_text(row, "MEM") or "0")
    options["mem"] = f"{exact(memory[0])}M" if memory and memory[0] else ""
    is_array, is_component = place is not None and "+" not in row["JOBID"], "+" in row["JOBID"]
    return SlurmJob(
        number=number + (place or 0) if is_component else number, array=number if is_array else None,
        index=place if is_array else None, component=(number, place or 0) if is_component else None,
        name=_text(row, "NAME"), user=row["USER"], account=_text(row, "ACCOUNT"), requested={},
        constraint=_text(row, "FEATURES"), exit_ok=True, options={name: text for name, text in options.items() if text},
        line=0, **changed,
    )  # fmt: skip


def _text(row: dict[str, str], name: str) -> str:
    return "" if row.get(name, "") in NOTHING else row[name]


def _gres(row: dict[str, str]) -> str:
    return _text(row, "GRES").removeprefix("gres:").removeprefix("gres/")


def _queued(
    one: SiteJob, row: dict[str, str], name: str, known: SlurmJob | None, now_s: float, has_run_s: float | None,
    ages_always: bool,
) -> Queued:  # fmt: skip
    """Return a job with its state at the time of the snapshot as attributes.

    ``has_run_s`` is None if the job waits. ``ages_always``: whether the age of ineligible jobs counts.
    """
    submit_s, start_s = time_s(row["SUBMIT"]), time_s(row["START"])
    runs, reason = has_run_s is not None, row.get("REASON", "")
    found = {key: text for key, text in one.attributes.items() if key not in ("failed", "begin_s")}
    if has_run_s is not None:
        found["ran_s"] = exact(has_run_s)
        found["runs_on"] = row["NODELIST"]  # with the CPUs below
    elif reason in NEVER:
        found["begin_s"] = "never"
    elif reason == "BeginTime" and start_s is not None and start_s > now_s:
        found["begin_s"] = exact(start_s - now_s)
    from_s = now_s if submit_s is None else submit_s
    if not runs and ages_always:
        found["waited_s"] = exact(now_s - from_s)
    elif not runs and "begin_s" not in found and reason not in ("Dependency", "JobArrayTaskLimit"):
        found["waited_s"] = exact(now_s - _eligible_s(known, from_s, now_s))
    priority = _text(row, "PRIORITY")
    if priority.isdecimal() and int(priority) > HAS_BASIC:
        found["nice"] = str(BASIC - one.job.number - int(priority))
    planned_s = None if runs or start_s is None or start_s < now_s - LATER_S else start_s
    return Queued(
        one._replace(attributes=found), name, "" if runs else reason or "None",
        now_s if submit_s is None else submit_s, planned_s,
    )  # fmt: skip


def _eligible_s(known: SlurmJob | None, submit_s: float, now_s: float) -> float:
    """Return when a job that waits now became eligible, s since 1970."""
    records = () if known is None else known.records
    times = [one.eligible_s for one in records if one.eligible_s is not None and submit_s <= one.eligible_s <= now_s]
    return max(times, default=submit_s)


def _on_nodes(found: Sequence[Queued], nodes: Nodes, tiers: dict[str, int], dropped: Counter[str]) -> list[Queued]:
    """Set the CPUs of each running job at each of its nodes; jobs that do not fit there are left out.

    ``tiers`` are those of partitions whose jobs may take the CPUs of suspended jobs of others; empty if none may.
    """
    sizes = {node.name: (node.cpus, node.memory_mib, sum(n for _, n in node.gpus)) for node in nodes.nodes}
    of_partition = {one.name: one.nodes for one in nodes.partitions}
    free: dict[int, dict[str, tuple[float, ...]]] = {}
    kept = dict[int, Queued]()
    for i, one in sorted(enumerate(found), key=lambda item: not _has_equal_parts(item[1])):
        if one.reason:
            kept[i] = one
            continue
        possible = frozenset[str]().union(*(of_partition.get(name, ()) for name in one.site_job.job.partitions))
        names = readable_hosts(one.site_job.attributes["runs_on"])
        left = free.setdefault(_tier(one, tiers) if tiers else 1, dict(sizes))
        request = one.site_job.request._replace(least_nodes=len(names), most_nodes=len(names))
        if not set(names).issuperset(hosts(request.nodelist)):
            request = request._replace(nodelist="")
        held = held_by(request)
        cpus = _cpus_at(request, [int(left[name][0]) for name in names]) if possible.issuperset(names) else None
        rests = {}
        for name, n in zip(names, cpus or (), strict=False):
            n_tasks = 1 if request.is_by_node else n // request.cpus
            used = n, n_tasks * held.memory_mib, n_tasks * held.gpus
            rests[name] = tuple(there - here for there, here in zip(left[name], used, strict=True))
        if not rests or min(map(min, rests.values())) < 0:
            dropped["it runs where there is no room for it"] += 1
            continue
        left.update(rests)
        attributes = one.site_job.attributes | {
            "runs_on": " ".join(f"{name}={n}" for name, n in zip(names, cpus or (), strict=True)),
            "request": str(request),
        }
        kept[i] = one._replace(site_job=one.site_job._replace(request=request, held=held, attributes=attributes))
    return [kept[i] for i in sorted(kept)]


def _has_equal_parts(one: Queued) -> bool:
    """Whether a job has equal parts at its nodes, so that its CPUs at each node are known."""
    request = one.site_job.request
    return request.exclusive or request.is_by_node


def _cpus_at(request: Request, free: list[int]) -> list[int] | None:
    """Return the CPUs of a job at each of its nodes: equal parts if requested, otherwise all free ones in turn."""
    if request.exclusive:
        return free
    if request.is_by_node:
        return [request.n_cpus // max(1, len(free))] * len(free)
    found, left = list[int](), request.tasks
    for i, n_free in enumerate(free):
        n = min(n_free // request.cpus, left - (len(free) - 1 - i))
        if n < 1:
            return None
        found.append(n * request.cpus)
        left -= n
    return found if left == 0 else None
