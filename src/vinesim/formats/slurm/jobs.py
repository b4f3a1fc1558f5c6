"""The jobs of a site: the records of ``sacct``, as many for a job as it was started.

A job that was requeued has several records (``sacct --duplicates``). The tasks of an array have a record each; those
that were still pending share one: ``300_[4-9%2]``. Steps (``12.batch``) are left out.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from sys import intern
from types import MappingProxyType

from vinesim.formats.slurm.submit_line import OF_NEEDS, submit_options
from vinesim.formats.slurm.tables import read_table
from vinesim.formats.slurm.values import NOTHING, duration_s, time_s, tres

MAX_TASKS = 1_000_000  # of an array's pending record
ALIKE = 65_536  # different requests, of which all jobs that have the same share one: a log may have millions of jobs
_REQUESTED = ("ReqTRES", "ReqCPUS", "ReqNodes")
_ALLOCATED = ("AllocTRES", "AllocCPUS", "NCPUS", "AllocNodes", "NNodes", "AllocGRES")
_PENDING = re.compile(r"(\d+)_\[([\d,\-:]+)(?:%(\d+))?\]")
_MEMBER = re.compile(r"(\d+)(?:_(\d+)|\+(\d+))?")


@dataclass(frozen=True, slots=True)
class Record:
    """A job from when it was submitted, or requeued, until it left; times in s since 1970, None where there is none."""

    submit_s: float
    eligible_s: float | None
    start_s: float | None  # None: it never started
    end_s: float | None
    elapsed_s: float  # on its nodes, without the time it was suspended
    suspended_s: float
    state: str  # the first word: COMPLETED, CANCELLED ...
    reason: str
    allocated: Mapping[str, float]  # resources, of all nodes together; memory in MiB
    nodes: str  # those that it ran on, a list of hosts
    flags: frozenset[str]


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """A job, or a task of an array, or a component of a heterogeneous job."""

    number: int  # JobIDRaw
    array: int | None  # the number of its array
    index: int | None  # in its array
    component: tuple[int, int] | None  # the number of its heterogeneous job, and its place in that
    name: str
    user: str
    account: str
    partitions: tuple[str, ...]
    qos: str
    limit_s: float | None
    requested: Mapping[str, float]  # resources, of all nodes together; memory in MiB
    constraint: str
    reservation: str
    exit_ok: bool  # whether it ended with exit code 0
    options: Mapping[str, str]  # of its submission that say what it needs, by long name
    records: tuple[Record, ...]  # in the order of time
    line: int  # of its first record


@dataclass
class JobTable:
    """The jobs of a file, and what was not understood."""

    jobs: list[SlurmJob] = field(default_factory=list)
    n_lines: int = 0
    dropped: Counter[str] = field(default_factory=Counter)  # lines, by reason
    first_line: dict[str, int] = field(default_factory=dict)  # of each reason
    columns: tuple[str, ...] = ()

    def drop(self, reason: str, line: int) -> None:
        """Count a line that is left out."""
        self.dropped[reason] += 1
        self.first_line.setdefault(reason, line)


def read_jobs(path: Path) -> JobTable:
    """Read the output of ``sacct --parsable2``. Raises :class:`InputError` for a file that cannot be read."""
    table = JobTable()
    rows: dict[str, list[tuple[int, tuple[str, ...]]]] = {}  # line, values by column
    for line, row in read_table(path):
        table.n_lines += 1
        if isinstance(row, int):
            table.drop("a wrong number of fields", line)
            continue
        table.columns = table.columns or tuple(row)
        number = row.get("JobIDRaw") or row.get("JobID", "")
        if "." in number or "." in row.get("JobID", ""):
            continue
        if time_s(row.get("Submit", "")) is None:
            table.drop("Submit: no time that can be read", line)
            continue
        rows.setdefault(row.get("JobID") or number, []).append((line, tuple(map(intern, row.values()))))
    for name in list(rows):
        records = [(line, dict(zip(table.columns, values, strict=True))) for line, values in rows.pop(name)]
        table.jobs += _jobs(name, records, table)
    table.jobs.sort(key=lambda job: (job.records[0].submit_s, job.array or job.number, job.index or 0, job.number))
    return table


def _jobs(name: str, rows: list[tuple[int, dict[str, str]]], table: JobTable) -> Iterator[SlurmJob]:
    """Yield the job of some records, or the tasks of the record of an array that was pending."""
    line, row = rows[0]
    pending, member = _PENDING.fullmatch(name), _MEMBER.fullmatch(name)
    raw = row.get("JobIDRaw") or name
    if pending:
        array = int(pending[1])
        for index in _indexes(pending[2]):
            yield _job(array, array, index, None, rows)
    elif member is None or not (raw.isascii() and raw.isdigit()):
        table.drop("JobID: no number of a job", line)
    elif member[3]:
        yield _job(int(raw), None, None, (int(member[1]), int(member[3])), rows)
    else:
        yield _job(int(raw), int(member[1]) if member[2] else None, int(member[2]) if member[2] else None, None, rows)


def keys_of(name: str) -> list[tuple[int, int | None]]:
    """Return what a JobID stands for: number, or that of the array or heterogeneous job, and place in it; [] for none.

    ``12`` is (12, None), ``12_3`` and ``12+3`` are (12, 3), and ``12_[3-5%2]`` are (12, 3), (12, 4) and (12, 5).
    """
    if pending := _PENDING.fullmatch(name):
        return [(int(pending[1]), index) for index in _indexes(pending[2])]
    member = _MEMBER.fullmatch(name)
    return [] if member is None else [(int(member[1]), int(place) if (place := member[2] or member[3]) else None)]


def _indexes(text: str) -> list[int]:
    found = list[int]()
    for part in text.split(","):
        span, _, step = part.partition(":")
        low, dash, high = span.partition("-")
        if low.isdigit():
            found += range(int(low), int(high if dash and high else low) + 1, int(step or 1) or 1)
    return found[:MAX_TASKS]


def _job(
    number: int, array: int | None, index: int | None, component: tuple[int, int] | None,
    rows: list[tuple[int, dict[str, str]]],
) -> SlurmJob:  # fmt: skip
    line, row = rows[0]
    last = rows[-1][1]
    given = submit_options(row.get("SubmitLine", ""))
    options = _shared(*((name, given[name]) for name in sorted(OF_NEEDS.intersection(given))))
    limit = last.get("TimelimitRaw") or last.get("Timelimit", "")
    constraint = row.get("Constraints", "") or options.get("constraint", "")
    return SlurmJob(
        number=number,
        array=array,
        index=index,
        component=component,
        name=row.get("JobName", ""),
        user=row.get("User", ""),
        account=row.get("Account", ""),
        partitions=tuple(filter(None, row.get("Partition", "").split(","))),
        qos=row.get("QOS", ""),
        limit_s=duration_s(limit) if limit not in NOTHING and not limit.startswith("Partition") else None,
        requested=_requested(*(row.get(name, "") for name in _REQUESTED)),
        constraint="" if constraint in NOTHING else constraint,
        reservation="" if row.get("Reservation", "") in NOTHING else row["Reservation"],
        exit_ok=last.get("ExitCode", "0:0") == "0:0" and not last.get("State", "").startswith(("FAILED", "CANCELLED")),
        options=options,
        records=tuple(sorted((_record(row) for _, row in rows), key=lambda one: one.submit_s)),
        line=line,
    )


def _record(row: dict[str, str]) -> Record:
    submit = time_s(row["Submit"])
    assert submit is not None
    start, end = time_s(row.get("Start", "")), time_s(row.get("End", ""))
    state = (row.get("State", "").split() or [""])[0]
    elapsed = duration_s(row["ElapsedRaw"], 1.0) if row.get("ElapsedRaw") else duration_s(row.get("Elapsed", ""), 1.0)
    if elapsed is None:
        elapsed = end - start if start is not None and end is not None else 0.0
    if state == "CANCELLED" and elapsed == 0:
        start = None
    return Record(
        submit_s=submit,
        eligible_s=time_s(row.get("Eligible", "")),
        start_s=start,
        end_s=end,
        elapsed_s=elapsed,
        suspended_s=duration_s(row.get("Suspended", "") or "0", 1.0) or 0.0,
        state=state,
        reason=row.get("Reason", ""),
        allocated=_allocated(*(row.get(name, "") for name in _ALLOCATED)),
        nodes="" if row.get("NodeList", "") in NOTHING or row["NodeList"] == "None assigned" else row["NodeList"],
        flags=_flags(row.get("Flags", "")),
    )


@lru_cache(ALIKE)
def _shared(*options: tuple[str, str]) -> Mapping[str, str]:
    return MappingProxyType(dict(options))


@lru_cache(ALIKE)
def _flags(text: str) -> frozenset[str]:
    return frozenset(filter(None, text.split(",")))


@lru_cache(ALIKE)
def _requested(resources: str, cpus: str, nodes: str) -> Mapping[str, float]:
    """Return what a job asked for: ReqTRES, or what the older columns say."""
    return MappingProxyType(_completed(tres(resources), cpu=(cpus,), node=(nodes,)))


@lru_cache(ALIKE)
def _allocated(resources: str, cpus: str, n_cpus: str, nodes: str, n_nodes: str, gres: str) -> Mapping[str, float]:
    """Return what a job held: AllocTRES, or what the older columns say."""
    found = _completed(tres(resources), cpu=(cpus, n_cpus), node=(nodes, n_nodes))
    for item in filter(None, gres.split(",")):
        parts = item.split(":")
        if parts[-1].isdigit():
            found.setdefault(f"gres/{':'.join(parts[:-1])}", float(parts[-1]))
    return MappingProxyType(found)


def _completed(found: dict[str, float], **more: tuple[str, ...]) -> dict[str, float]:
    """Add amounts that are missing, from the first text that is a number."""
    for name, texts in more.items():
        for text in texts:
            if name not in found and text.isascii() and text.isdigit():
                found[name] = float(text)
    return found
