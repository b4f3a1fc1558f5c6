"""Read the lines of an SWF log: which fields are used, and which lines are jobs that ran."""

import math
import os
from collections.abc import Iterator
from typing import NamedTuple

from vinesim.formats.importers.report import ImportReport
from vinesim.formats.source.files import lines_of
from vinesim.model.errors import InputError, Problem

PROCESSORS = ALLOCATED, REQUESTED = ("allocated", "requested")
LARGEST = (2**53, 4.1e9, 4.1e9, 2**53)  # largest job id; time, s (130 years, or the year 2099); processors
MAX_PROCESSORS = 10_000_000  # processors per job; a line with more is broken
N_FIELDS = 18
FIELDS = (
    *("job number", "submit time", "wait time", "run time", "allocated processors", "average CPU time", "used memory"),
    *("requested processors", "requested time", "requested memory", "status", "user", "group", "executable", "queue"),
    *("partition", "preceding job", "think time"),
)
UNUSED = tuple(i for i, name in enumerate(FIELDS) if name in (
    *("average CPU time", "used memory", "requested memory", "user", "group", "executable", "queue"),
    *("preceding job", "think time"),
))  # fmt: skip
WAIT, REQUESTED_TIME, STATUS, PARTITION = map(FIELDS.index, ("wait time", "requested time", "status", "partition"))
CANCELLED, PARTS = 5, (2, 3, 4)  # status codes
STATUSES = {-1: "not given", 0: "failed", 1: "completed", 2: "part", 3: "last part", 4: "last part, failed"}
STATUSES[CANCELLED] = "cancelled"
UNKNOWN = b"-1"


class SwfJob(NamedTuple):
    """The numbers of a line that make a job."""

    job_id: float
    submit_s: float
    run_s: float
    processors: float
    other: float  # requested processors if the first number is of allocated ones, and vice versa
    allocated: float


def jobs_of(
    path: str | os.PathLike[str],
    report: ImportReport,
    widest: int,
    is_whole: bool,
    partitions: frozenset[int],
    processors: str = ALLOCATED,
) -> Iterator[tuple[float, ...]]:
    """Yield the numbers of each usable line: (id, submit s, run s, processors, requested s or 0, the other number of
    processors, wait s or NaN).

    Lines that cannot be used go to the report. ``processors`` selects one of the two numbers if a job has both.
    """
    total = 0
    for number, line in enumerate(lines_of(path), 1):
        if line.startswith(b";") or not line.strip():
            continue
        report.n_lines += 1
        fields = line.split(maxsplit=N_FIELDS)
        if len(fields) < N_FIELDS:
            report.drop(f"fewer than {N_FIELDS} fields", number)
            continue
        _count_unused(report, fields)
        job = _job(fields, processors)
        status, partition = _code(fields[STATUS]), _code(fields[PARTITION])
        reason = _reason(job, status, partition, partitions, widest, is_whole)
        report.count(FIELDS[STATUS], f"{status} ({STATUSES.get(status, 'unknown')})", not reason)
        report.count(FIELDS[PARTITION], str(partition), not reason)
        if reason or job is None:
            report.drop(reason, number)
            continue
        total += 1 if is_whole else int(job.processors)
        if total > 50 * MAX_PROCESSORS:
            remedy = "Is this the right file?"
            raise InputError([Problem(f"{path}:{number}:1", "at most 500 million tasks in all", "more", remedy)])
        held, other = (float(int(n)) if 0 < n < LARGEST[-1] else 0.0 for n in (job.processors, job.other))
        yield *job[:3], held, _time_s(fields[REQUESTED_TIME]) or 0.0, other or held, _wait_s(fields[WAIT])


def _count_unused(report: ImportReport, fields: list[bytes]) -> None:
    """Count the values that the import does not use."""
    for i in UNUSED:
        if fields[i] != UNKNOWN:
            report.unused[FIELDS[i]] = report.unused.get(FIELDS[i], 0) + 1
    if len(fields) > N_FIELDS:
        name = f"what follows the {N_FIELDS}th field"
        report.unused[name] = report.unused.get(name, 0) + 1


def _job(fields: list[bytes], processors: str) -> SwfJob | None:
    """Return the job of a line; None if its fields are not numbers."""
    try:
        job_id, submit, run, allocated, requested = (float(fields[i]) for i in (0, 1, 3, 4, 7))
    except ValueError:
        return None
    first, second = (allocated, requested) if processors == ALLOCATED else (requested, allocated)
    return SwfJob(job_id, submit, run, first if first > 0 else second, second, allocated)


def _reason(
    job: SwfJob | None,
    status: int,
    partition: int,
    partitions: frozenset[int],
    widest: int,
    is_whole: bool,
) -> str:
    """Return why a line is dropped; empty if it is kept.

    Jobs with the status failed (0) or cancelled (5) that ran used their processors like others, and are kept.
    """
    if job is None:
        return "not numbers"
    place = "the widest node" if is_whole else "all clusters"
    reasons = (
        (
            "a number out of range",
            not all(abs(value) < most for value, most in zip(job[:4], LARGEST, strict=True)),
        ),  # also true for NaN
        ("a part of a job that another line has whole (status 2, 3 or 4)", status in PARTS),
        ("cancelled before it ran (status 5)", status == CANCELLED and (job.run_s <= 0 or job.allocated == 0)),
        ("another partition", bool(partitions) and partition not in partitions),
        ("no submit time", job.submit_s < 0),
        ("run time 0 or less", job.run_s <= 0),
        ("no processors", job.processors < 1),
        (f"more than {MAX_PROCESSORS:,} processors", job.processors > MAX_PROCESSORS),
        (f"more than the {widest:,} processors of {place}", job.processors > widest),
    )
    return next((reason for reason, is_so in reasons if is_so), "")


def _code(text: bytes) -> int:
    """Parse a code; -1 if it is not one."""
    try:
        value = float(text)
    except ValueError:
        return -1
    return int(value) if abs(value) < 2**31 and value == int(value) else -1


def _time_s(text: bytes) -> float | None:
    """Parse a time, s; None if there is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < 2**53 else None


def _wait_s(text: bytes) -> float:
    """Parse how long a job waited, s; NaN if the log does not give it."""
    found = _time_s(text)
    return math.nan if found is None else found
