"""The jobs of a site, from the records of ``sacct``, one for each start of a job.

A job that was requeued has several records (``sacct --duplicates``). Each task of an array has a record; those that
were still pending share one: ``300_[4-9%2]``. Steps (``12.batch``) are left out. Several files, such as one per month,
are one log; if two of them have the same record, the later one counts.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from sys import intern
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from vinesim.formats.slurm.lines import Unread
from vinesim.formats.slurm.submit_line import OF_NEEDS, submit_options
from vinesim.formats.slurm.tables import WRONG_NUMBER, read_table
from vinesim.formats.slurm.values import NOTHING, duration_s, memory_mib, time_s, tres
from vinesim.formats.source.clock import is_without_zone

MAX_TASKS = 1_000_000  # most tasks in an array's pending record
AGAIN = "the record of a job that is there again"
R = TypeVar("R")
ALIKE = 65_536  # cached requests; jobs with equal requests share one, because a log may have millions of jobs
_REQUESTED = ("ReqTRES", "ReqCPUS", "ReqNodes", "ReqMem", "ReqGRES")
_ALLOCATED = ("AllocTRES", "AllocCPUS", "NCPUS", "AllocNodes", "NNodes", "AllocGRES")
_READ = (  # the columns used; sacct has a hundred
    "JobID", "JobIDRaw", "JobName", "User", "Account", "QOS", "Partition", "Submit", "Eligible", "Start", "End",
    "ElapsedRaw", "Elapsed", "Suspended", "TimelimitRaw", "Timelimit", "State", "ExitCode", "NodeList",
    "Constraints", "Reservation", *_REQUESTED, *_ALLOCATED,
)  # fmt: skip
_UNFINISHED = ("PENDING", "RUNNING", "SUSPENDED", "REQUEUED", "RESIZING")
_PENDING = re.compile(r"(\d{1,18})_\[([\d,\-:]+)(?:%(\d+))?\]", re.ASCII)
_MEMBER = re.compile(r"(\d{1,18})(?:_(\d{1,18})|\+(\d{1,18}))?", re.ASCII)
_NUMBER = re.compile(r"\d{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Record:
    """A job from its submission or requeue until its end; times in s since 1970, None if missing."""

    submit_s: float
    eligible_s: float | None
    start_s: float | None  # None: it never started
    end_s: float | None
    elapsed_s: float  # run time without the time that it was suspended
    suspended_s: float
    state: str  # the first word: COMPLETED, CANCELLED and so on
    allocated: Mapping[str, float]  # resources, over all nodes; memory in MiB
    nodes: str  # the nodes that it ran on, a list of hosts


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """A job, or a task of an array, or a component of a heterogeneous job."""

    number: int  # JobIDRaw
    array: int | None  # the number of its array
    index: int | None  # its index in the array
    component: tuple[int, int] | None  # the number of its heterogeneous job, and its index in that
    name: str  # kept only if a dependency refers to it
    user: str
    account: str
    partitions: tuple[str, ...]
    qos: str
    limit_s: float | None
    requested: Mapping[str, float]  # resources, of all nodes together; memory in MiB
    constraint: str
    reservation: str
    exit_ok: bool  # whether it ended with exit code 0
    options: Mapping[str, str]  # options of its submission about its needs, by long name
    records: tuple[Record, ...]  # in order of time
    line: int  # of its first record

    @property
    def key(self) -> tuple[int, int | None]:
        """The number of the job, or of its array or heterogeneous job, and its index in that; see ``keys_of``."""
        if self.component is not None:
            return self.component
        return (self.number, None) if self.array is None else (self.array, self.index)


@dataclass
class JobTable:
    """The jobs of a file, and counts of what could not be read."""

    jobs: list[SlurmJob] = field(default_factory=list)
    n_lines: int = 0
    dropped: dict[str, list[int]] = field(default_factory=dict)  # dropped lines, by reason
    n_steps: int = 0  # lines of steps, which are left out
    n_dates: int = 0  # records whose submission is a date instead of s since 1970
    n_without_zone: int = 0  # those of them without a time zone
    unread: Unread = field(default_factory=Unread)  # unreadable values of jobs that are kept

    def drop(self, reason: str, line: int) -> None:
        """Record a line that is left out."""
        self.dropped.setdefault(reason, []).append(line)


def read_jobs(*paths: Path) -> JobTable:
    """Read the output of ``sacct --parsable2``. Raises :class:`InputError` for a file that cannot be read."""
    table = JobTable()
    rows: dict[str, list[_Row]] = {}
    for path in paths:
        _read(path, table, rows)
    known = set[tuple[int, int | None, float]]()
    for name in sorted(rows, key=lambda name: -rows[name][-1].line if "[" in name else -math.inf):
        mine = rows.pop(name)
        for records in [mine] if len(mine) == 1 else by_job(mine, _identity, lambda row: table.drop(AGAIN, row.line)):
            table.jobs += _unknown(list(_jobs(name, records, table)), known, table)
    table.jobs.sort(key=lambda job: (job.records[0].submit_s, job.array or job.number, job.index or 0, job.number))
    return table


def _unknown(jobs: list[SlurmJob], known: set[tuple[int, int | None, float]], table: JobTable) -> list[SlurmJob]:
    """Return the tasks of an array without another line; a later file may have some that were pending in this one."""
    if not jobs or jobs[0].array is None:
        return jobs
    keys = [(*job.key, job.records[0].submit_s) for job in jobs]
    found = [job for job, key in zip(jobs, keys, strict=True) if key not in known]
    known.update(keys)
    if not found:
        table.drop(AGAIN, jobs[0].line)
    return found


class Identity(NamedTuple):
    """Identifies a record: which job of its number it belongs to, which record of that job it is, and its state."""

    user: str
    name: str  # of the job
    submit: str  # as text
    state: str


class _Row(NamedTuple):
    """A line of a file, reduced to what is needed, because there may be millions."""

    line: int
    places: Mapping[str, int]  # the index of each column in the values
    values: tuple[str, ...]
    options: Mapping[str, str]

    def get(self, name: str) -> str:
        """Return the value of a column; "" if it is missing."""
        place = self.places.get(name)
        return "" if place is None else self.values[place]


def _identity(row: _Row) -> Identity:
    return Identity(row.get("User"), row.get("JobName"), row.get("Submit"), row.get("State"))


def _read(path: Path, table: JobTable, rows: dict[str, list[_Row]]) -> None:
    places = dict[str, int]()
    for line, row in read_table(path):
        table.n_lines += 1
        if isinstance(row, int):
            table.drop(WRONG_NUMBER, line)
            continue
        places = places or {name: i for i, name in enumerate(name for name in _READ if name in row)}
        number = row.get("JobIDRaw") or row.get("JobID", "")
        if "." in number or "." in row.get("JobID", ""):
            table.n_steps += 1
        elif time_s(row.get("Submit", "")) is None:
            table.drop("Submit: no time that can be read", line)
        else:
            table.n_dates += "-" in row["Submit"]
            table.n_without_zone += is_without_zone(row["Submit"])
            values = tuple([intern(row[name]) for name in places])
            name = row.get("JobID") or number
            place = name.rpartition("+")[2] if "+" in name else ""
            options = _needs(submit_options(row.get("SubmitLine", ""), int(place) if place.isdecimal() else 0))
            rows.setdefault(name, []).append(_Row(line, places, values, options))


def by_job(rows: Iterable[R], of: Callable[[R], Identity], drop: Callable[[R], object]) -> list[list[R]]:
    """Group the records of one number by job, because Slurm reuses numbers. ``drop`` gets duplicate records.

    The first of equal records counts, or a later one that completes an unfinished one.
    """
    jobs: dict[tuple[str, str], dict[str, R]] = {}
    for row in rows:
        user, name, submit, _ = of(row)
        records = jobs.setdefault((user, name), {})
        known = records.get(submit)
        if known is None or of(known).state in _UNFINISHED:
            records[submit] = row
        if known is not None:
            drop(row if records[submit] is known else known)
    return [list(records.values()) for records in jobs.values()]


def _jobs(name: str, rows: list[_Row], table: JobTable) -> Iterator[SlurmJob]:
    """Yield the job of these records, or the tasks of a pending array's record."""
    pending, member = _PENDING.fullmatch(name), _MEMBER.fullmatch(name)
    raw = rows[0].get("JobIDRaw") or name
    if pending:
        array = int(pending[1])
        indexes = _indexes(pending[2])
        if not indexes:
            table.drop(f"JobID: no array of 1 to {MAX_TASKS:,} tasks", rows[0].line)
        for index in indexes:
            yield _job(array, array, index, None, rows, table.unread)
    elif member is None or not _NUMBER.fullmatch(raw):
        table.drop("JobID: no number of a job", rows[0].line)
    elif member[3]:
        yield _job(int(raw), None, None, (int(member[1]), int(member[3])), rows, table.unread)
    else:
        place = int(member[2]) if member[2] else None
        yield _job(int(raw), None if place is None else int(member[1]), place, None, rows, table.unread)


def keys_of(name: str) -> list[tuple[int, int | None]]:
    """Return the (number, index) pairs of a JobID: the number of a job, array or heterogeneous job, and an index.

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
            tasks = range(int(low), int(high if dash and high else low) + 1, int(step or 1) or 1)
            if len(found) + len(tasks) > MAX_TASKS:
                return []
            found += tasks
    return found


def _job(
    number: int,
    array: int | None,
    index: int | None,
    component: tuple[int, int] | None,
    rows: list[_Row],
    unread: Unread,
) -> SlurmJob:
    row, last, options = rows[0], rows[-1], rows[0].options
    limit, state = last.get("TimelimitRaw") or last.get("Timelimit"), last.get("State")
    constraint = row.get("Constraints") or options.get("constraint", "")
    records = tuple(sorted((_record(one, unread) for one in rows), key=lambda one: one.submit_s))
    reservation = row.get("Reservation")
    return SlurmJob(
        number=number,
        array=array,
        index=index,
        component=component,
        name=row.get("JobName") if "singleton" in options.get("dependency", "") else "",
        user=row.get("User"),
        account=row.get("Account"),
        partitions=_partitions(row.get("Partition")),
        qos=row.get("QOS"),
        limit_s=duration_s(limit) if limit not in NOTHING and not limit.startswith("Partition") else None,
        requested=_requested(*map(row.get, _REQUESTED)) or records[-1].allocated,
        constraint="" if constraint in NOTHING else constraint,
        reservation="" if reservation in NOTHING else reservation,
        exit_ok=last.get("ExitCode") in ("", "0:0") and not state.startswith(("FAILED", "CANCELLED")),
        options=options,
        records=records,
        line=row.line,
    )


def _record(row: _Row, unread: Unread) -> Record:
    submit = time_s(row.get("Submit"))
    assert submit is not None
    eligible, start, end = (_read_or_note(row, name, time_s, unread) for name in ("Eligible", "Start", "End"))
    state = intern((row.get("State").split() or [""])[0])
    column = "ElapsedRaw" if row.get("ElapsedRaw") else "Elapsed"
    elapsed = _read_or_note(row, column, _elapsed_s, unread)
    if elapsed is None:
        elapsed = max(0.0, end - start) if start is not None and end is not None else 0.0
    if state == "CANCELLED" and elapsed == 0:
        start = None
    nodes = row.get("NodeList")
    return Record(
        submit_s=submit,
        eligible_s=eligible,
        start_s=start,
        end_s=end,
        elapsed_s=elapsed,
        suspended_s=duration_s(row.get("Suspended") or "0", 1.0) or 0.0,
        state=state,
        allocated=_allocated(*map(row.get, _ALLOCATED)),
        nodes="" if nodes in NOTHING or nodes == "None assigned" else nodes,
    )


def _elapsed_s(text: str) -> float | None:
    found = duration_s(text, 1.0)
    return None if found == math.inf else found


def _read_or_note(row: _Row, name: str, read: Callable[[str], float | None], unread: Unread) -> float | None:
    text = row.get(name)
    found = read(text)
    if found is None and text not in NOTHING:
        unread[f"{name}: not read"].append(row.line)
    return found


def _needs(given: Mapping[str, str]) -> Mapping[str, str]:
    return _shared(*((name, given[name]) for name in sorted(OF_NEEDS.intersection(given))))


@lru_cache(ALIKE)
def _partitions(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))


@lru_cache(ALIKE)
def _shared(*options: tuple[str, str]) -> Mapping[str, str]:
    return MappingProxyType(dict(options))


@lru_cache(ALIKE)
def _requested(resources: str, cpus: str, nodes: str, memory: str, gres: str) -> Mapping[str, float]:
    """Return what a job requested: ReqTRES, or the older columns."""
    found = _completed(tres(resources), cpu=(cpus,), node=(nodes,))
    if "mem" not in found and (amount := memory_mib(memory)) is not None:
        of = {"n": "node", "c": "cpu"}.get(amount[1], "")  # 4Gn is per node, 2000Mc per CPU, 4G in total
        found["mem"] = amount[0] * found.get(of, 1.0)
    return MappingProxyType(_with_gres(found, gres, found.get("node", 1.0)))


@lru_cache(ALIKE)
def _allocated(resources: str, cpus: str, n_cpus: str, nodes: str, n_nodes: str, gres: str) -> Mapping[str, float]:
    """Return what a job held: AllocTRES, or the older columns."""
    return MappingProxyType(_with_gres(_completed(tres(resources), cpu=(cpus, n_cpus), node=(nodes, n_nodes)), gres, 1))


def _with_gres(found: dict[str, float], text: str, times: float) -> dict[str, float]:
    for item in filter(None, text.split(",")):
        name, _, number = item.rpartition(":")
        if name and number.isdecimal():
            found.setdefault(f"gres/{name}", float(number) * times)
    return found


def _completed(found: dict[str, float], **more: tuple[str, ...]) -> dict[str, float]:
    """Add each missing amount from the first of its texts that is a number."""
    for name, texts in more.items():
        for text in texts:
            if name not in found and text.isascii() and text.isdigit():
                found[name] = float(text)
    return found
