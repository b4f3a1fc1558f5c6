"""The lines of an SWF log: which of their fields are used, and which lines are jobs that ran."""

import os
from collections.abc import Iterator

from vinesim.formats.importers.report import ImportReport
from vinesim.formats.source.files import lines_of
from vinesim.model.errors import InputError, Problem

MAX_PROCESSORS = 10_000_000  # per job; a line with more is broken
N_FIELDS = 18
FIELDS = (
    *("job number", "submit time", "wait time", "run time", "allocated processors", "average CPU time", "used memory"),
    *("requested processors", "requested time", "requested memory", "status", "user", "group", "executable", "queue"),
    *("partition", "preceding job", "think time"),
)
UNUSED = tuple(i for i, name in enumerate(FIELDS) if name in (
    *("wait time", "average CPU time", "used memory", "requested memory", "user", "group", "executable", "queue"),
    *("preceding job", "think time"),
))  # fmt: skip
REQUESTED_TIME, STATUS, PARTITION = (FIELDS.index(name) for name in ("requested time", "status", "partition"))
CANCELLED, PARTS = 5, (2, 3, 4)  # status codes
STATUSES = {-1: "not given", 0: "failed", 1: "completed", 2: "part", 3: "last part", 4: "last part, failed"}
STATUSES[CANCELLED] = "cancelled"
UNKNOWN = b"-1"


def jobs_of(
    path: str | os.PathLike[str], report: ImportReport, widest: int, is_whole: bool, partitions: frozenset[int]
) -> Iterator[tuple[float, ...]]:
    """(id, submit s, run s, processors, requested s or 0) of each usable line; the others go to the report."""
    total = 0
    for number, line in enumerate(lines_of(path), 1):
        if line.startswith(b";") or not line.strip():
            continue
        report.n_lines += 1
        fields = line.split(maxsplit=N_FIELDS)
        if len(fields) < N_FIELDS:
            report.drop(f"fewer than {N_FIELDS} fields", number)
            continue
        _count_unused(report, fields, is_whole)
        job = _job(fields)
        status, partition = _code(fields[STATUS]), _code(fields[PARTITION])
        reason = _reason(job, status, partition, partitions, widest, is_whole)
        report.count(FIELDS[STATUS], f"{status} ({STATUSES.get(status, 'unknown')})", not reason)
        report.count(FIELDS[PARTITION], str(partition), not reason)
        if reason or job is None:
            report.drop(reason, number)
            continue
        job_id, submit, run, allocated, requested = job
        processors = allocated if allocated > 0 else requested
        total += 1 if is_whole else int(processors)
        if total > 50 * MAX_PROCESSORS:
            remedy = "Is this the right file?"
            raise InputError([Problem(f"{path}:{number}:1", "at most 500 million tasks in all", "more", remedy)])
        yield job_id, submit, run, float(int(processors)), _asked_s(fields[REQUESTED_TIME])


def _count_unused(report: ImportReport, fields: list[bytes], is_whole: bool) -> None:
    """Count the values that nothing is made of."""
    unused = UNUSED if is_whole else (*UNUSED, REQUESTED_TIME)
    for i in unused:
        if fields[i] != UNKNOWN:
            report.unused[FIELDS[i]] = report.unused.get(FIELDS[i], 0) + 1
    if len(fields) > N_FIELDS:
        name = f"what follows the {N_FIELDS}th field"
        report.unused[name] = report.unused.get(name, 0) + 1


def _job(fields: list[bytes]) -> tuple[float, float, float, float, float] | None:
    """Id, submit time, run time, allocated and requested processors; None if they are no numbers."""
    try:
        job_id, submit, run, allocated, requested = (float(fields[i]) for i in (0, 1, 3, 4, 7))
    except ValueError:
        return None
    return job_id, submit, run, allocated, requested


def _reason(
    job: tuple[float, ...] | None,
    status: int,
    partition: int,
    partitions: frozenset[int],
    widest: int,
    is_whole: bool,
) -> str:
    """Why a line is dropped; nothing if it is not.

    A job with the status failed (0) or cancelled (5) that ran took its processors as any other, and is kept.
    """
    if job is None:
        return "not numbers"
    job_id, submit, run, allocated, requested = job
    processors = allocated if allocated > 0 else requested
    place = "the widest node" if is_whole else "all clusters"
    reasons = (
        (
            "a number out of range",
            not all(abs(value) < 2**53 for value in (job_id, submit, run, processors)),
        ),  # NaN too
        ("a part of a job that another line has whole (status 2, 3 or 4)", status in PARTS),
        ("cancelled before it ran (status 5)", status == CANCELLED and (run <= 0 or allocated == 0)),
        ("another partition", bool(partitions) and partition not in partitions),
        ("no submit time", submit < 0),
        ("run time 0 or less", run <= 0),
        ("no processors", processors < 1),
        (f"more than {MAX_PROCESSORS:,} processors", processors > MAX_PROCESSORS),
        (f"more than the {widest:,} processors of {place}", processors > widest),
    )
    return next((reason for reason, is_so in reasons if is_so), "")


def _code(text: bytes) -> int:
    """A code; -1 for what is none."""
    try:
        value = float(text)
    except ValueError:
        return -1
    return int(value) if abs(value) < 2**31 and value == int(value) else -1


def _asked_s(text: bytes) -> float:
    """The time that was asked for; 0 where there is none."""
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if 0 < value < 2**53 else 0.0
