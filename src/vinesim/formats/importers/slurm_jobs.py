"""The jobs of a Slurm cluster: the output of ``sacct --parsable2``, a line for each with fields separated by ``|``.

What a job held is in AllocTRES, or in ReqTRES if it never ran: cpu=16,mem=64G,node=2,gres/gpu:a100=4,gres/gpu=4, each
number for all its nodes together. Times are dates without a time zone (taken as UTC), or seconds since 1970.
"""

import math
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from vinesim.formats.importers.counts import is_without_zone, to_time_us
from vinesim.formats.importers.report import ImportReport
from vinesim.formats.source.files import lines_of
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.model.errors import InputError, Problem

NUMBERS, SUBMIT, ELIGIBLE, START, END = ("JobIDRaw", "JobID"), "Submit", "Eligible", "Start", "End"
ELAPSED, LIMITS, STATE, USER, PARTITION = "ElapsedRaw", ("TimelimitRaw", "Timelimit"), "State", "User", "Partition"
ALLOCATED, REQUESTED = "AllocTRES", "ReqTRES"
USED = (*NUMBERS, SUBMIT, ELIGIBLE, START, END, ELAPSED, *LIMITS, STATE, USER, PARTITION, ALLOCATED, REQUESTED)
COMMAND = (
    "sacct --allusers --allocations --parsable2 --noconvert --starttime 2024-05-01 --endtime 2024-06-01 --format "
    "JobIDRaw,User,Partition,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,State,ReqTRES,AllocTRES"
)
ONLY_ACCOUNTED = ("billing", "energy", "fs", "ic", "pages", "vmem")  # what jobs do not hold
MAX_NODES = 1_000_000  # of a job
STEP = "a step of a job that has a line of its own"
_CLOCK = re.compile(r"(?:(\d+)-)?(\d+):(\d\d):(\d\d)(?:\.\d+)?")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)")
_GPU = re.compile(r"gres/gpu(?::(.+))?")


class SlurmJob(NamedTuple):
    """A job: what it holds of all its nodes together, and its times, s since 1970."""

    line: int
    number: int | None
    user: str
    partition: str
    arrival_s: float
    waited_s: float  # in Slurm; NaN: it never ran, or the log does not say
    run_s: float
    limit_s: float  # infinite: none
    withdrawn_s: float  # infinite: it ran
    n_nodes: int
    cores: int
    memory_bytes: float
    n_gpus: int
    gpu_type: str  # empty: any
    rounded_bytes: float  # by which the memory may be too large: without --noconvert, sacct writes few digits

    @property
    def largest_task(self) -> tuple[int, float, int]:
        """Cores, bytes and GPUs of its largest task, where it has one for each node."""
        return -(-self.cores // self.n_nodes), self.memory_bytes / self.n_nodes, -(-self.n_gpus // self.n_nodes)


def slurm_jobs(path: str | os.PathLike[str], report: ImportReport) -> Iterator[SlurmJob]:
    """Yield the jobs; the other lines go to the report. Raises :class:`InputError`."""
    header, others, n_dates, n_without_zone = None, list[str](), 0, 0
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
        if len(fields) != len(header):
            report.drop(f"not {len(header)} fields, as the first line has", number)
            continue
        row = dict(zip(header, (text.strip() for text in fields), strict=True))
        for name in others:
            report.unused[name] += bool(row[name])
        job = _job(number, row, report)
        reason = job if isinstance(job, str) else ""
        if STATE in row and reason != STEP:
            report.count(STATE, (row[STATE].split() or ["empty"])[0], not reason)
        if isinstance(job, str):
            report.drop(job, number)
            continue
        n_dates += "-" in row[SUBMIT]
        n_without_zone += is_without_zone(row[SUBMIT])
        yield job
    report.time_zone = "as the dates say" if n_dates else "UTC, as times since 1970"
    if n_without_zone:
        report.time_zone = "UTC is assumed: Slurm writes the cluster's local time"


def _job(line: int, row: dict[str, str], report: ImportReport) -> SlurmJob | str:
    """Return the job of a line, or why it is none."""
    name = next(row[column] for column in NUMBERS if column in row)
    if "." in name:
        return STEP
    submit, eligible, start, end = (_seconds(row.get(column, "")) for column in (SUBMIT, ELIGIBLE, START, END))
    if submit is None:
        return f"{SUBMIT}: no time that can be read"
    if end is None:
        return "it had not ended"
    run = _run_s(row, start, end)
    limit = _limit_s(next((row[column] for column in LIMITS if column in row), ""))
    if limit is None:
        return "its time limit cannot be read"
    is_withdrawn = run == 0 and row.get(STATE, "").startswith(("CANCELLED", "DEADLINE"))
    arrival = submit if eligible is None else max(submit, eligible)
    if is_withdrawn and row.get(ELIGIBLE) and (eligible is None or eligible > end):
        return "cancelled before it was eligible, so that it never waited for nodes"
    if is_withdrawn and math.isinf(limit):
        return "cancelled before it ran, and without a time limit"
    if is_withdrawn:
        run = limit
    if not 0 < run < math.inf or (is_withdrawn and end < arrival):
        return "a run time of 0 or less, or none"
    held = _held(row.get(ALLOCATED) or row.get(REQUESTED, ""), report)
    if isinstance(held, str):
        return held
    number = int(name) if name.isascii() and name.isdigit() and len(name) < 16 else None
    partition = row.get(PARTITION, "").split(",")[0]
    withdrawn = end if is_withdrawn else math.inf
    waited = math.nan if is_withdrawn else max(0.0, (end - run if start is None else start) - arrival)
    return SlurmJob(line, number, row.get(USER, ""), partition, arrival, waited, run, limit, withdrawn, *held)


def _held(tres: str, report: ImportReport) -> tuple[int, int, float, int, str, float] | str:
    """Return nodes, cores, bytes, GPUs and their type in a list of resources, and by how much the bytes may be rounded;
    or why there are none."""
    found, rounded = dict[str, float](), 0.0
    for item in filter(None, tres.split(",")):
        name, _, text = item.rpartition("=")
        value = _size(text) if name == "mem" else float(text) if text.isascii() and text.isdigit() else None
        if value is None:
            return f"{name or item}: no amount that can be read"
        found[name] = value
        rounded = _rounding(text) if name == "mem" else rounded
    gpus = {match[1] or "": int(n) for name, n in found.items() if n and (match := _GPU.fullmatch(name))}
    kinds = sorted(kind for kind in gpus if kind)
    if len(kinds) > 1:
        return "GPUs of several types"
    n_gpus = gpus[kinds[0]] if kinds else gpus.get("", 0)
    for name in found:
        if name not in ("cpu", "mem", "node") and not _GPU.fullmatch(name) and not name.startswith(ONLY_ACCOUNTED):
            report.unused[name] = report.unused.get(name, 0) + 1
    cores, n_nodes = int(found.get("cpu", 0)), int(found.get("node", 1))
    if not cores:
        return "no CPUs"
    if not 1 <= n_nodes <= min(MAX_NODES, cores):
        return "no nodes, or more than CPUs"
    return n_nodes, cores, found.get("mem", 0.0), n_gpus, kinds[0] if kinds else "", rounded


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


def _seconds(text: str) -> float | None:
    """Return a point in time, s since 1970; None if there is none, such as Unknown."""
    found = to_time_us(text)
    return None if found is None else found / 1e6


def _run_s(row: dict[str, str], start: float | None, end: float) -> float:
    """Return how long the job ran: the count of seconds if there is one, as clocks may be changed in between."""
    text = row.get(ELAPSED, "")
    if text.isascii() and text.isdigit():
        return float(text)
    return 0.0 if start is None else end - start


def _limit_s(text: str) -> float | None:
    """Return a limit such as 1-12:00:00, or a number of minutes; infinite if there is none, None if unreadable."""
    if text.isascii() and text.isdigit():
        return float(text) * 60 or None
    if clock := _CLOCK.fullmatch(text):
        days, hours, minutes, seconds = (int(part or 0) for part in clock.groups())
        return float(days * 86400 + hours * 3600 + minutes * 60 + seconds) or None
    return math.inf if text.lower() in ("", "unlimited", "partition_limit", "infinite", "invalid") else None


def _size(text: str) -> float | None:
    """Return an amount of memory such as 62.5G, in bytes; plain numbers are MiB."""
    match = _SIZE.fullmatch(text)
    return None if match is None else float(match[1]) * 1024.0 ** ("KMGTP".index(match[2] or "M") + 1)


def _rounding(text: str) -> float:
    """Return half of the last digit of such an amount, in bytes; 0 of a whole number."""
    decimals = re.search(r"\.(\d+)", text)
    unit = _size("1" + text.lstrip("0123456789.")) or 0.0
    return 0.0 if decimals is None else 0.5 * 10.0 ** -len(decimals[1]) * unit
