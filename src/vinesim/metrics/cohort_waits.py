"""Find when a cohort had too little left to lend to a waiting job, and which jobs reclaimed what it had lent."""

from collections.abc import Iterator, Sequence

import numpy as np

from vinesim.formats.results.explain_record import ExplainRecord
from vinesim.model.cohort import kept_of, types_of
from vinesim.model.partition import Partition
from vinesim.state.layout import OVERFULL

Row = Sequence[float]  # task, job, unit, begin, end and amount of what was held


def members_of(record: ExplainRecord, one: Partition, types: str) -> list[tuple[int, Partition, str]]:
    """Return (index, partition, name of the quota) of each partition in a cohort that has a quota on the same types."""
    return [
        (at, other, name)
        for at, other in enumerate(record.partitions)
        if other.cohort is not None and other.cohort == one.cohort
        for name in other.quota
        if set(types_of(name)) == set(types_of(types))
    ]


def lent_too_much(
    members: Sequence[tuple[int, Partition, str]],
    rows: dict[int, list[Row]],
    own: int,
    needed: float,
    since_us: float,
    until_us: float,
) -> Iterator[tuple[float, float, float, float]]:
    """Yield the intervals in which a cohort had too little left for the partition ``own``.

    Each is (start, end, amount lent, most that can be lent). ``rows`` are what the jobs of each partition held.
    """
    times = [time for at, _, _ in members for row in rows[at] for time in (row[3], row[4])]
    edges = np.unique([since_us, until_us, *(time for time in times if since_us < time < until_us)])
    used, wanted, most = np.zeros(len(edges) - 1), np.zeros(len(edges) - 1), 0.0
    for at, one, name in members:
        kept = kept_of(one, name)
        held = sum((row[5] * ((edges[:-1] >= row[3]) & (edges[:-1] < row[4])) for row in rows[at]), np.zeros(len(used)))
        used += np.maximum(0.0, held - kept)
        wanted += np.maximum(0.0, held + needed * (at == own) - kept)
        most += one.quota[name] - kept
    is_short = (wanted > most * OVERFULL) & (wanted > used)
    for i in np.flatnonzero(is_short).tolist():
        yield float(edges[i]), float(edges[i + 1]), float(used[i]), most


def started_in_cohort(record: ExplainRecord, task: int, at_us: float, rows: Sequence[Row]) -> tuple[int, ...]:
    """Return the jobs in other partitions of a task's cohort that started at this time."""
    own = int(record.partition[task])
    cohort = record.partitions[own].cohort if own >= 0 else None
    if cohort is None:
        return ()
    others = {at for at, one in enumerate(record.partitions) if one.cohort == cohort and at != own}
    return tuple(
        sorted({int(row[1]) for row in rows if row[3] == at_us and int(record.partition[int(row[0])]) in others})
    )
