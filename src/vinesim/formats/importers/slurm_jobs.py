"""Read the jobs of a Slurm cluster from the output of ``sacct --parsable2``: a line per job, fields separated by ``|``.

What a job held is in AllocTRES, or in ReqTRES if it never ran: cpu=16,mem=64G,node=2,gres/gpu:a100=4,gres/gpu=4, each
number a total over its nodes. Times are dates without a time zone (read as UTC), or seconds since 1970. Each part of a
heterogeneous job has its own line, 12+0 and 12+1. Jobs of an array that were cancelled while they waited share one
line, 300_[201-300%50].
"""

import math
import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from vinesim.formats.importers.report import ImportReport
from vinesim.formats.importers.slurm_fields import (
    array_size,
    limit_s,
    rounding_bytes,
    seconds,
    size_bytes,
    whole,
)
from vinesim.formats.slurm.jobs import AGAIN, Identity, by_job
from vinesim.formats.slurm.tables import joined
from vinesim.formats.source.clock import is_without_zone
from vinesim.formats.source.files import lines_of
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.model.errors import InputError, Problem

RAW, ID = NUMBERS = ("JobIDRaw", "JobID")
SUBMIT, ELIGIBLE, START, END = "Submit", "Eligible", "Start", "End"
NAME = "JobName"
ELAPSED, LIMITS, STATE, USER, PARTITION = "ElapsedRaw", ("TimelimitRaw", "Timelimit"), "State", "User", "Partition"
ALLOCATED, REQUESTED = "AllocTRES", "ReqTRES"
USED = (*NUMBERS, SUBMIT, ELIGIBLE, START, END, ELAPSED, *LIMITS, STATE, USER, PARTITION, ALLOCATED, REQUESTED)
COMMAND = (
    "sacct --allusers --allocations --parsable2 --noconvert --starttime 2024-05-01 --endtime 2024-06-01 --format "
    "JobIDRaw,JobID,User,Partition,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,State,ReqTRES,AllocTRES"
)
ONLY_ACCOUNTED = ("billing", "energy", "fs", "ic", "pages", "vmem")  # resources that jobs do not hold
UNKNOWN = ("", "Unknown", "None")  # texts instead of a time
MAX_NODES = 1_000_000  # the most nodes of a job
ALL_MEMORY = math.inf  # all memory of each of its nodes
NO_ZONE = "UTC is assumed: Slurm writes the cluster's local time"
STEP = "a step of a job that has its own line"
REQUEUED = "requeued jobs, with several records each: they run as they did the last time"
_GPU = re.compile(r"gres/gpu(?::(.+))?")
_PART = re.compile(r"(\d+)\+\d+", re.ASCII)


class Part(NamedTuple):
    """The totals that a job holds; a heterogeneous job has several parts, each with its own nodes."""

    partition: str
    n_nodes: int
    cores: int
    memory_bytes: float  # or ALL_MEMORY
    gpus: tuple[tuple[str, int], ...]  # type (empty for any) and number
    rounded_bytes: float  # how much rounding may have added: without --noconvert, sacct prints few digits


class SlurmJob(NamedTuple):
    """A job, or equal jobs of an array: what it holds, and its times, s since 1970."""

    line: int
    number: int | None
    whole: str  # the number of its heterogeneous job; empty if it is not a part of one
    n_jobs: int  # of an array
    user: str
    arrival_s: float
    array: str  # the number of its array; empty if it is in none
    waited_s: float  # the wait in Slurm; NaN if it never ran, or is unknown
    run_s: float
    limit_s: float  # infinite without a limit
    withdrawn_s: float  # infinite if it ran
    is_cut: bool  # whether it was still running when the log ended
    parts: tuple[Part, ...]


def zone_of(n_dates: int, n_without_zone: int) -> str:
    """Describe the time zone of submissions: ``n_dates`` are dates, ``n_without_zone`` of them without a zone."""
    if n_without_zone:
        return NO_ZONE
    return "as the dates say" if n_dates else "UTC, as times since 1970"


def slurm_jobs(path: str | os.PathLike[str], report: ImportReport) -> Iterator[SlurmJob]:
    """Yield the jobs, those with several parts last; lines that are not jobs go to the report. Raises
    :class:`InputError`."""
    header, others = None, list[str]()
    lines = dict[str, list[_Line]]()
    for number, line in enumerate(lines_of(path), 1):
        fields = line.decode("utf-8", "replace").rstrip("\r\n").split("|")
        if header is None:
            header = _header(path, fields)
            others = [name for name in header if name and name not in USED]
            report.unused = dict.fromkeys(others, 0)
            continue
        if fields == [""]:
            continue
        report.n_lines += 1
        values = joined([text.strip() for text in fields], header)
        if values is None:
            report.drop(f"not {len(header)} fields, as the first line has", number)
            continue
        row = dict(zip(header, values, strict=True))
        for name in others:
            report.unused[name] += bool(row[name])
        job, state = _job(number, row, report), (row.get(STATE, "").split() or ["empty"])[0]
        if job == STEP:
            report.drop(STEP, number)
            continue
        identity = Identity(row.get(USER, ""), row.get(NAME, ""), row[SUBMIT], state)
        named = row.get(ID) or row.get(RAW) or f"line {number}"
        lines.setdefault(named, []).append(_Line(number, identity, job, _whole_of(row), STATE in row))
    yield from _whole_jobs(_jobs_of(lines, report), report)


class _Line(NamedTuple):
    """A record of the log: the job that it is by itself, or the reason why it is not one."""

    number: int
    identity: Identity
    job: SlurmJob | str
    whole: str  # the number of its heterogeneous job
    has_state: bool


def _jobs_of(lines: dict[str, list[_Line]], report: ImportReport) -> Iterator[SlurmJob | str]:
    """Yield each job once, even if it has several records; report heterogeneous jobs with a part that is not a job."""
    n_dates = n_without_zone = n_requeued = 0
    for of_number in lines.values():
        again = list[_Line]()
        for records in by_job(of_number, lambda line: line.identity, again.append):
            found = [one.job for one in records if isinstance(one.job, SlurmJob)]
            for one in records:
                if one.has_state:
                    report.count(STATE, one.identity.state, isinstance(one.job, SlurmJob))
                if isinstance(one.job, str):
                    report.drop(one.job, one.number)
                else:
                    n_dates += "-" in one.identity.submit
                    n_without_zone += is_without_zone(one.identity.submit)
            if found:
                n_requeued += len(found) > 1
                yield _of_records(found)
            elif records[0].whole:
                yield records[0].whole
        for one in again:
            report.drop(AGAIN, one.number)
            if one.has_state:
                report.count(STATE, one.identity.state, False)
    report.time_zone = zone_of(n_dates, n_without_zone)
    if n_requeued:
        report.notes.append(f"{REQUEUED}: {n_requeued:,}")


def _of_records(jobs: list[SlurmJob]) -> SlurmJob:
    """Join the records of a requeued job: it waits from its first eligibility, and its last run counts."""
    jobs = sorted(jobs, key=lambda job: job.arrival_s)
    first, last = jobs[0], jobs[-1]
    return last._replace(line=first.line, arrival_s=first.arrival_s, waited_s=first.waited_s)


def _whole_jobs(jobs: Iterable[SlurmJob | str], report: ImportReport) -> Iterator[SlurmJob]:
    """Yield the jobs with the parts of heterogeneous jobs joined; a text is the number of one that lacks a part."""
    parts, incomplete = dict[str, list[SlurmJob]](), set[str]()
    for job in jobs:
        if isinstance(job, str):
            incomplete.add(job)
        elif job.whole:
            parts.setdefault(job.whole, []).append(job)
        else:
            yield job
    for name, some in parts.items():
        if name in incomplete:
            report.drop("a part of a heterogeneous job of which another part is dropped", *(job.line for job in some))
        else:
            yield _joined(some)


def _joined(jobs: list[SlurmJob]) -> SlurmJob:
    """Join the parts of a heterogeneous job: they start together, and end with the last one."""
    return jobs[0]._replace(
        arrival_s=max(job.arrival_s for job in jobs),
        run_s=max(job.run_s for job in jobs),
        limit_s=max(job.limit_s for job in jobs),
        withdrawn_s=max(job.withdrawn_s for job in jobs),
        is_cut=any(job.is_cut for job in jobs),
        parts=tuple(part for job in jobs for part in job.parts),
    )


def _whole_of(row: dict[str, str]) -> str:
    """Return the number of the heterogeneous job that a line is a part of; empty if there is none."""
    match = _PART.fullmatch(row.get(ID, ""))
    return match[1] if match else ""


def _job(line: int, row: dict[str, str], report: ImportReport) -> SlurmJob | str:
    """Return the job of a line, or the reason why it is not one."""
    names = [row[column] for column in NUMBERS if column in row]
    if any("." in name.partition("[")[0] for name in names):
        return STEP
    n_jobs = array_size(row.get(ID, ""))
    if n_jobs is None or n_jobs > MAX_NODES:
        return "jobs of an array that cannot be counted"
    submit, eligible, start, end = (seconds(row.get(column, "")) for column in (SUBMIT, ELIGIBLE, START, END))
    if submit is None:
        return f"{SUBMIT}: no time that can be read"
    if end is None and row[END] not in UNKNOWN:
        return f"{END}: no time that can be read"
    if end is None and start is None and not whole(row.get(ELAPSED, "")):
        return "it had not started when the log ended"
    run = _run_s(row, start, end)
    if run is None:
        return f"it had not ended, and only {ELAPSED} would say how long it ran"
    limit = limit_s(next((row[column] for column in LIMITS if column in row), ""))
    if limit is None:
        return "its time limit cannot be read"
    state = row.get(STATE, "")
    is_withdrawn = end is not None and run == 0 and state.startswith(("CANCELLED", "DEADLINE"))
    arrival = submit if eligible is None else max(submit, eligible)
    withdrawn = math.inf
    if is_withdrawn and end is not None:
        if row.get(ELIGIBLE) and (eligible is None or eligible > end):
            return "cancelled before it was eligible, so that it never waited for nodes"
        if math.isinf(limit):
            return "cancelled before it ran, and without a time limit"
        run, withdrawn = limit, end
    if run <= 0 or withdrawn < arrival:
        return "a run time of 0 or less, or none"
    part = _held(row, report)
    if isinstance(part, str):
        return part
    began = start if start is not None else (end or 0.0) - run
    waited = math.nan if is_withdrawn else max(0.0, began - arrival)
    is_cut = end is None or state.startswith("RUNNING")
    number = next((n for name in names if (n := whole(name.partition("_[")[0])) is not None), None)
    user, of_whole, (array, is_task, _) = row.get(USER, ""), _whole_of(row), row.get(ID, "").partition("_")
    array = array if is_task else ""
    return SlurmJob(
        line, number, of_whole, n_jobs, user, arrival, array, waited, run, limit, withdrawn, is_cut, (part,)
    )


def _run_s(row: dict[str, str], start: float | None, end: float | None) -> float | None:
    """Return how long the job ran, s; None if unknown.

    A recorded number of seconds takes precedence over dates, because clocks may change.
    """
    elapsed = whole(row.get(ELAPSED, ""))
    if elapsed is not None:
        return float(elapsed)
    if end is None:
        return None
    return 0.0 if start is None else end - start


def _held(row: dict[str, str], report: ImportReport) -> Part | str:
    """Return what a line's job held, or the reason why it held nothing."""
    found, rounded = dict[str, float](), 0.0
    for item in filter(None, (row.get(ALLOCATED) or row.get(REQUESTED, "")).split(",")):
        name, _, text = item.rpartition("=")
        value = size_bytes(text) if name == "mem" else whole(text)
        if value is None:
            return f"{name or item}: no amount that can be read"
        found[name] = value
        rounded = rounding_bytes(text) if name == "mem" else rounded
    gpus = {match[1] or "": int(n) for name, n in found.items() if n and (match := _GPU.fullmatch(name))}
    typed = {kind: gpus[kind] for kind in sorted(gpus) if kind}
    untyped = max(0, gpus.get("", 0) - sum(typed.values()))  # GPUs whose types are not recorded
    for name in found:
        if name not in ("cpu", "mem", "node") and not _GPU.fullmatch(name) and not name.startswith(ONLY_ACCOUNTED):
            report.unused[name] = report.unused.get(name, 0) + 1
    cores, n_nodes = int(found.get("cpu", 0)), int(found.get("node", 1))
    if not cores:
        return "no CPUs"
    if not 1 <= n_nodes <= min(MAX_NODES, cores):
        return "no nodes, or more than CPUs"
    memory = found.get("mem", 0.0) if found.get("mem") != 0 else ALL_MEMORY
    partition = row.get(PARTITION, "").split(",")[0]
    gpus = typed | ({"": untyped} if untyped else {})
    return Part(partition, n_nodes, cores, memory, tuple(gpus.items()), rounded)


def _header(path: str | os.PathLike[str], names: list[str]) -> list[str]:
    """Return the names of the fields. Raises :class:`InputError` if one is missing."""
    names = [name.strip() for name in names]
    if not set(names) & set(USED):
        expected = "the names of fields, separated by |, such as JobIDRaw and Submit"
        raise InputError([Problem(f"{path}:1", expected, "|".join(names)[:80], f"Write the file with: {COMMAND}")])
    wanted = (NUMBERS, (SUBMIT,), (END,), (START, ELAPSED), (ALLOCATED, REQUESTED))
    problems = [
        Problem(
            f"{path}:1",
            f"a field {' or '.join(some)}",
            ", ".join(names)[:80],
            did_you_mean(some[0], names) or f"Write the file with: {COMMAND}",
        )
        for some in wanted
        if not set(some) & set(names)
    ]
    again = sorted({name for name in names if name and names.count(name) > 1})
    problems += [Problem(f"{path}:1", "each field once", f"{name} again") for name in again]
    if problems:
        raise InputError(problems)
    return names
