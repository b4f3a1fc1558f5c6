"""Find when the quotas of a waiting job left no room for it."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from vinesim.formats.results.explain_record import ExplainRecord
from vinesim.metrics.places import Asked
from vinesim.metrics.shortages import Span
from vinesim.model.partition import Partition, types_of, user_words
from vinesim.model.workload import NO_PARTITION
from vinesim.state.demand import amount_of
from vinesim.state.layout import OVERFULL

QUOTA = "quota"  # as the state of a part of a wait


@dataclass(frozen=True)
class QuotaWait:
    """A time during which a quota left too little for the waiting job."""

    whose: str  # "user ada in partition gpu", or "partition gpu"
    types: str  # the processor types that it counts, as A100|T4
    begin_us: float
    end_us: float
    held: float  # at its begin
    most: float
    needed: float  # the least that the waiting task holds, with its gang


def partition_of_task(record: ExplainRecord, task: int) -> Partition | None:
    """Return the partition of a task of a recorded run."""
    number = int(record.partition[task])
    return None if number == NO_PARTITION else record.partitions[number]


def quota_waits(
    record: ExplainRecord,
    task: int,
    members: Sequence[Asked],
    units: dict[str, np.ndarray],
    rows: Iterable[Sequence[float]],
    since_us: float,
    until_us: float,
) -> list[QuotaWait]:
    """Return when quotas left too little, by time.

    Args:
        record: of the run.
        task: that waited.
        members: what it and the tasks that start with it hold.
        units: columns of the table of units.
        rows: task, job, unit, begin, end and amount of all that was held meanwhile.
        since_us: when the wait began.
        until_us: when it was over.
    """
    one = partition_of_task(record, task)
    if one is None:
        return []
    mine = [row for row in rows if record.partition[int(row[0])] == record.partition[task]]
    of_user = [row for row in mine if record.user[int(row[0])] == record.user[task]]
    quotas = [(f"partition {one.name}", mine, types, most) for types, most in one.quota.items()]
    if one.user_quota:
        whose = f"{user_words(record.users[int(record.user[task])])} in partition {one.name}"
        quotas += [(whose, of_user, types, most) for types, most in one.user_quota.items()]
    found = []
    for whose, those, types, most in quotas:
        names, needed = types_of(types), sum(_least(record, asked, types_of(types), units, one) for asked in members)
        held = [row for row in those if record.processor_types[units["unit_type"][int(row[2])]] in names]
        for begin_us, end_us, total in _levels(held, since_us, until_us):
            if needed > 0 and total + needed > most * OVERFULL:
                found.append(QuotaWait(whose, types, begin_us, end_us, total, most, needed))
    return sorted(found, key=lambda wait: wait.begin_us)


def _least(
    record: ExplainRecord, asked: Asked, names: Sequence[str], units: dict[str, np.ndarray], one: Partition
) -> float:
    """Return the least that a task holds of some processor types on any unit of its partition that can run it."""
    beside = sum(amount for name, amount in asked.companions.items() if name in names)
    is_there = one.has(units["rack"], units["shelf"])
    able = [
        0.0
        if record.processor_types[code] not in names
        else asked.n_units
        * amount_of(asked.demand, float(units["capacity"][is_there & (units["unit_type"] == code)].min()))
        for code in np.unique(units["unit_type"][is_there]).tolist()
        if asked.may_run_on(record, code)
    ]
    return min(able, default=0.0) + beside


def _levels(rows: Sequence[Sequence[float]], since_us: float, until_us: float) -> list[tuple[float, float, float]]:
    """Return begin, end and what was held together, for each time during which that was the same."""
    changes = sorted((time, amount) for row in rows for time, amount in ((row[3], row[5]), (row[4], -row[5])))
    found: list[tuple[float, float, float]] = []
    total, begin_us = 0.0, since_us
    for time, amount in [*changes, (until_us, 0.0)]:
        end_us = min(time, until_us)
        if end_us > begin_us:
            if found and found[-1][2] == total:  # as much was taken at once as was left
                begin_us = found.pop()[0]
            found.append((begin_us, end_us, total))
            begin_us = end_us
        total += amount
    return found


def with_quotas(spans: Sequence[Span], waits: Sequence[QuotaWait]) -> list[Span]:
    """Return the parts of a wait with those during which a quota left too little as parts of their own."""
    times = sorted({time for wait in waits for time in (wait.begin_us, wait.end_us)})
    found = []
    for span in spans:
        edges = [span.begin_us, *(time for time in times if span.begin_us < time < span.end_us), span.end_us]
        for begin_us, end_us in itertools.pairwise(edges):
            is_over = any(wait.begin_us <= begin_us and end_us <= wait.end_us for wait in waits)
            found.append(Span(begin_us, end_us, QUOTA if is_over else span.state))
    return found
