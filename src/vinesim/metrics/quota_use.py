"""How much of their quotas the partitions used, borrowed and lent."""

from collections.abc import Mapping, Sequence

import numpy as np

from vinesim.formats.source.quantities import amount_words
from vinesim.metrics.tables import Tables
from vinesim.model.cohort import kept_of, types_of
from vinesim.model.partition import Partition

QUOTA_TITLES = {"quota": "quota", "used": "used", "borrowed": "borrowed", "lent": "lent", "peak": "peak"}
ROUNDING = 1e-9  # tolerance on sums of amounts taken and released


def quota_use(tables: Tables) -> dict[str, dict[str, dict[str, float]]]:
    """Return, by partition and quota: the ``quota``, the ``peak`` use, and means over the makespan.

    The means are of what was ``used``, what was ``borrowed`` beyond the quota, and what was ``lent``. A loan has no
    single lender: what a cohort's partitions borrow counts as lent by the others in proportion to what each of them has
    unused and may lend.
    """
    found: dict[str, dict[str, dict[str, float]]] = {one.name: {} for one in tables.scenario.partitions if one.quota}
    shared: dict[tuple[str, frozenset[str]], list[tuple[Partition, str]]] = {}
    for i, one in enumerate(tables.scenario.partitions):
        for types in one.quota:
            cohort = f"{i}" if one.cohort is None else f"cohort {one.cohort}"
            shared.setdefault((cohort, frozenset(types_of(types))), []).append((one, types))
    for members in shared.values():
        for (one, types), numbers in zip(members, _of_cohort(tables, members), strict=True):
            found[one.name][types] = numbers
    return found


def quota_rows(quotas: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[list[str]]:
    """Format the numbers of :func:`quota_use` as rows: partition and types, then a column for each of QUOTA_TITLES."""
    return [
        [f"{name}, {types}", *(amount_words(types, round(numbers[key], 3)) for key in QUOTA_TITLES)]
        for name, of in quotas.items()
        for types, numbers in of.items()
    ]


def _of_cohort(tables: Tables, members: Sequence[tuple[Partition, str]]) -> list[dict[str, float]]:
    """Return the numbers of each member of a cohort, given (partition, name of its quota); all count the same types."""
    time_us, used = _levels(tables, [one.name for one, _ in members], types_of(members[0][1]))
    quota = np.array([[one.quota[types]] for one, types in members])
    kept = np.array([[kept_of(one, types)] for one, types in members])
    borrowed = np.maximum(0.0, used - quota)
    unused = quota - np.maximum(kept, np.minimum(used, quota))
    lent = borrowed.sum(axis=0) * unused / np.maximum(unused.sum(axis=0), ROUNDING)
    took_us = np.diff(time_us)
    means = [(level * took_us).sum(axis=1) / max(took_us.sum(), ROUNDING) for level in (used, borrowed, lent)]
    return [
        {
            "quota": float(quota[i, 0]),
            **{name: float(mean[i]) for name, mean in zip(("used", "borrowed", "lent"), means, strict=True)},
            "peak": float(used[i].max(initial=0.0)),
        }
        for i in range(len(members))
    ]


def _levels(tables: Tables, partitions: Sequence[str], types: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return [T + 1] the times of changes, us, and [n, T] what each partition holds of these types between them."""
    work, held = tables.scenario.workload, tables.segments
    assert work.partition is not None
    names = [one.name for one in tables.scenario.datacenter.processor_types]
    counts = np.isin(np.array(names)[tables.unit_type], types)
    job = np.repeat(np.arange(work.n_jobs), np.diff(work.job_first))
    code = np.array([list(work.partition_names).index(name) if name in work.partition_names else -2
                     for name in partitions])  # fmt: skip
    of = work.partition[job[held.task]]
    rows = np.flatnonzero((held.unit >= 0) & counts[held.unit] & np.isin(of, code))
    row = np.argmax(of[rows][:, None] == code[None, :], axis=1)
    time_us = np.unique(np.concatenate([[0.0, tables.makespan_us], held.begin_us[rows], held.end_us[rows]]))
    change = np.zeros((len(partitions), len(time_us)))
    np.add.at(change, (row, np.searchsorted(time_us, held.begin_us[rows])), held.amount[rows])
    np.add.at(change, (row, np.searchsorted(time_us, held.end_us[rows])), -held.amount[rows])
    used = np.cumsum(change, axis=1)[:, :-1]
    return time_us, np.where(np.abs(used) < ROUNDING * (1.0 + np.abs(change).max(initial=0.0)), 0.0, used)
