"""Find when the quotas of a waiting job left no room for it."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vinesim.formats.results.explain_record import ExplainRecord
from vinesim.metrics.cohort_waits import lent_too_much, members_of
from vinesim.metrics.places import TaskDemand
from vinesim.metrics.shortages import Span, overlaid
from vinesim.model.cohort import types_of
from vinesim.model.partition import Partition, user_words
from vinesim.model.workload import NO_PARTITION
from vinesim.state.demand import amount_of
from vinesim.state.layout import OVERFULL

QUOTA = "quota"  # as the state of a part of a wait


@dataclass(frozen=True)
class QuotaWait:
    """An interval in which a quota left too little for the waiting job."""

    whose: str  # "user ada in partition gpu", "partition gpu", or "cohort research"
    types: str  # the processor types that it counts, as A100|T4
    begin_us: float
    end_us: float
    held: float  # at its begin
    most: float  # including what it may borrow; for a cohort, what its partitions lend
    needed: float  # the least that the waiting task needs, with its gang
    jobs: tuple[int, ...]  # the jobs that held it then, by decreasing amount


def partition_of_task(record: ExplainRecord, task: int) -> Partition | None:
    """Return the partition of a task of a recorded run."""
    number = int(record.partition[task])
    return None if number == NO_PARTITION else record.partitions[number]


def quota_waits(
    record: ExplainRecord,
    task: int,
    members: Sequence[TaskDemand],
    units: dict[str, np.ndarray],
    rows: Iterable[Sequence[float]],
    since_us: float,
    until_us: float,
) -> list[QuotaWait]:
    """Return the intervals in which quotas left too little for a task, in order of time.

    Args:
        record: The explain record of the run.
        task: The task that waited.
        members: What the task, and each task that starts with it, demands.
        units: The columns of the table of units.
        rows: Task, job, unit, start, end and amount of everything held during the wait.
        since_us: When the wait began.
        until_us: When the wait ended.
    """
    one = partition_of_task(record, task)
    if one is None:
        return []
    rows = list(rows)
    mine = [row for row in rows if record.partition[int(row[0])] == record.partition[task]]
    of_user = [row for row in mine if record.user[int(row[0])] == record.user[task]]
    free = 0.0 if one.cohort is None else math.inf
    borrows = {types: (one.borrowing_limit or {}).get(types, free) for types in one.quota}
    quotas = [(f"partition {one.name}", mine, types, most + borrows[types]) for types, most in one.quota.items()]
    if one.user_quota:
        whose = f"{user_words(record.users[int(record.user[task])])} in partition {one.name}"
        quotas += [(whose, of_user, types, most) for types, most in one.user_quota.items()]
    found = []
    for whose, those, types, most in quotas:
        names = types_of(types)
        needed = sum(_least(record, demands, names, units, one) for demands in members)
        held = [row for row in those if record.processor_types[units["unit_type"][int(row[2])]] in names]
        for begin_us, end_us, total in _levels(held, since_us, until_us):
            if needed > 0 and total + needed > most * OVERFULL:
                jobs = _holders(held, begin_us)
                found.append(QuotaWait(whose, types, begin_us, end_us, total, most, needed, jobs))
    for types in one.quota if one.cohort is not None else ():
        needed = sum(_least(record, demands, types_of(types), units, one) for demands in members)
        found += _cohort_waits(record, task, one, types, needed, units, rows, since_us, until_us)
    return sorted(found, key=lambda wait: wait.begin_us)


def _cohort_waits(
    record: ExplainRecord,
    task: int,
    one: Partition,
    types: str,
    needed: float,
    units: dict[str, np.ndarray],
    rows: Sequence[Sequence[float]],
    since_us: float,
    until_us: float,
) -> Iterator[QuotaWait]:
    """Yield the intervals in which the task's cohort had too little left to lend, one per amount lent."""
    names, shared = types_of(types), members_of(record, one, types)
    counted = [row for row in rows if record.processor_types[units["unit_type"][int(row[2])]] in names]
    held = {at: [row for row in counted if record.partition[int(row[0])] == at] for at, _, _ in shared}
    all_held = [row for of in held.values() for row in of]
    last: QuotaWait | None = None
    own = int(record.partition[task])
    for begin_us, end_us, used, most in lent_too_much(shared, held, own, needed, since_us, until_us):
        if last is not None and (last.end_us, last.held) == (begin_us, used):
            last = replace(last, end_us=end_us)
            continue
        if last is not None:
            yield last
        last = QuotaWait(
            f"cohort {one.cohort}", types, begin_us, end_us, used, most, needed, _holders(all_held, begin_us)
        )
    if last is not None:
        yield last


def _holders(rows: Sequence[Sequence[float]], at_us: float) -> tuple[int, ...]:
    """Return the jobs that hold something at this time, by decreasing amount."""
    held: dict[int, float] = {}
    for _, job, _, begin_us, end_us, amount in rows:
        if begin_us <= at_us < end_us:
            held[int(job)] = held.get(int(job), 0.0) + amount
    return tuple(sorted(held, key=lambda job: (-held[job], job)))


def _least(
    record: ExplainRecord, demands: TaskDemand, names: Sequence[str], units: dict[str, np.ndarray], one: Partition
) -> float:
    """Return the least that a task would hold of the types ``names`` on any unit of its partition that can run it."""
    companions = sum(amount for name, amount in demands.companions.items() if name in names)
    is_there = one.has(units["rack"], units["shelf"])
    able = [
        0.0
        if record.processor_types[code] not in names
        else demands.n_units
        * amount_of(demands.demand, float(units["capacity"][is_there & (units["unit_type"] == code)].min()))
        for code in np.unique(units["unit_type"][is_there]).tolist()
        if demands.may_run_on(record, code)
    ]
    return min(able, default=0.0) + companions


def _levels(rows: Sequence[Sequence[float]], since_us: float, until_us: float) -> list[tuple[float, float, float]]:
    """Return (start, end, total amount held) of each interval in which the total is constant."""
    changes = sorted((time, amount) for row in rows for time, amount in ((row[3], row[5]), (row[4], -row[5])))
    found: list[tuple[float, float, float]] = []
    total, begin_us = 0.0, since_us
    for time, amount in [*changes, (until_us, 0.0)]:
        end_us = min(time, until_us)
        if end_us > begin_us:
            if found and found[-1][2] == total:  # a release and a start of the same amount at the same instant
                begin_us = found.pop()[0]
            found.append((begin_us, end_us, total))
            begin_us = end_us
        total += amount
    return found


def with_quotas(spans: Sequence[Span], waits: Sequence[QuotaWait]) -> list[Span]:
    """Split a wait further: while a quota left too little, the state is QUOTA."""
    return overlaid(spans, [Span(wait.begin_us, wait.end_us, QUOTA) for wait in waits])
