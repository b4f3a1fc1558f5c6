"""Partitions before a run: the nodes of each job, the quotas that it counts against, and jobs that no quota allows.

The jobs of one partition belong to one account, or, if the partition has quotas of each user, the jobs of one user in
it: they count against the same quotas.
"""

from typing import NamedTuple

import numpy as np

from vinesim.formats.source.quantities import amount_words
from vinesim.model.cohort import kept_of, types_of
from vinesim.model.errors import Problem
from vinesim.model.partition import user_words
from vinesim.model.scenario import Scenario
from vinesim.model.workload import NO_GANG, NO_PARTITION
from vinesim.state.demand import amounts
from vinesim.state.demand_classes import DemandClasses, units_of_partition
from vinesim.state.gangs import gangs_of
from vinesim.state.layout import OVERFULL


class Quotas(NamedTuple):
    """The quotas of a scenario; those of each partition come first."""

    columns: dict[str, np.ndarray]  # of the model: state/arrays.py
    of_account: list[list[int]]  # by account
    words: list[str]  # by quota


def quotas_of(scenario: Scenario, classes: DemandClasses) -> Quotas:
    """Return the quotas of a scenario with partitions."""
    work, names = scenario.workload, [p.name for p in scenario.datacenter.processor_types]
    partition = scenario.job_partition
    has_users = np.array([bool(one.user_quota) for one in scenario.partitions] + [False])[partition]
    user = np.where(has_users, -1 if work.user is None else work.user, -1)
    keys = np.stack([partition, user], axis=1)
    accounts, job_account = np.unique(keys, axis=0, return_inverse=True)
    number: dict[tuple[int, int, str], int] = {}
    sets: dict[str, int] = {}
    rows: list[tuple[int, float, float, float]] = []  # partition, nominal, kept, limit
    words: list[str] = []
    cohorts: dict[tuple[str, frozenset[str]], int] = {}
    cohort_of: list[int] = []

    def add(at: int, of: int, types: str, of_whom: str) -> None:
        one, number[at, of, types] = scenario.partitions[at], len(rows)
        sets.setdefault(types, len(sets))
        words.append(f"the quota of {of_whom} on {types}")
        if of >= 0 or one.cohort is None:
            most = (one.quota if of < 0 else one.user_quota)[types]
            rows.append((0 if of >= 0 else at + 1, most, most, most))
            cohort_of.append(-1)
        else:
            most = one.quota[types] + (one.borrowing_limit or {}).get(types, np.inf)
            rows.append((at + 1, one.quota[types], kept_of(one, types), most))
            cohort_of.append(cohorts.setdefault((one.cohort, frozenset(types_of(types))), len(cohorts)))

    for at, one in enumerate(scenario.partitions):
        for types in one.quota:
            more = "" if one.cohort is None else ", with what its cohort lends,"
            add(at, -1, types, f"partition {one.name}{more}")
    of_account: list[list[int]] = []
    for at, of_user in accounts.tolist():
        own: list[int] = []
        if at != NO_PARTITION:
            one = scenario.partitions[at]
            for types in one.user_quota if of_user >= 0 else ():
                add(at, of_user, types, f"{user_words(work.user_names[of_user])} in partition {one.name}")
            own = [number[at, -1, types] for types in one.quota]
            own += [number[at, of_user, types] for types in one.user_quota]
        of_account.append(own)
    count_types = np.array([[name in types_of(types) for name in names] for types in sets], bool)
    count_types = count_types.reshape(-1, len(names))
    is_free = np.array([not own for own in of_account])
    job_account = np.where(is_free[job_account.reshape(-1)], -1, job_account.reshape(-1)).astype(np.int32)
    whose, nominal, kept, limit = np.array(rows, np.float64).reshape(-1, 4).T
    cohort = np.array(cohort_of, np.int32)
    lent = np.bincount(cohort[cohort >= 0], (nominal - kept)[cohort >= 0], len(cohorts))
    limit[cohort >= 0] = np.minimum(limit, kept + np.append(lent, 0.0)[cohort])[cohort >= 0]
    n_each = np.bincount(cohort[cohort >= 0], minlength=len(cohorts))
    columns: dict[str, np.ndarray] = {
        "job_account": job_account,
        "account_first": np.cumsum([0, *map(len, of_account)]).astype(np.int32),
        "account_quota": np.array([quota for own in of_account for quota in own], np.int32),
        "quota_partition": whose.astype(np.int32),
        "quota_nominal": nominal,
        "quota_kept": kept,
        "quota_limit": limit,
        "quota_counts": np.array([sets[types] for _, _, types in number], np.int32),
        "quota_cohort": cohort,
        "cohort_first": np.cumsum([0, *n_each]).astype(np.int32),
        "cohort_quota": np.argsort(cohort, kind="stable")[len(cohort) - sum(n_each) :].astype(np.int32),
        "cohort_lent": lent,
        "counted_type": count_types,
        "class_least": _least(scenario, classes, count_types),
    }
    return Quotas(columns, of_account, words)


def _least(scenario: Scenario, classes: DemandClasses, types: np.ndarray) -> np.ndarray:
    """[T, K] the least that a task of each class holds of sets of processor types [K, P], on any unit."""
    center = scenario.datacenter
    found = np.full((len(classes.units), len(types)), np.inf)
    for t, p in np.argwhere(classes.can_lead):
        mine = (center.unit_type == p) & units_of_partition(center, scenario.partitions, int(classes.partition[t]))
        sizes = center.unit_capacity[mine]
        if classes.units[t] > 1:  # they count as the largest at their node
            at = np.unique(center.rack[mine] * np.int64(center.n_shelves) + center.shelf[mine], return_inverse=True)[1]
            sizes = np.zeros(int(at.max()) + 1)
            np.maximum.at(sizes, at, center.unit_capacity[mine])
        amount = float(amounts(classes.share[t], np.unique(sizes)).min())
        found[t] = np.minimum(found[t], np.where(types[:, p], classes.units[t] * amount, 0.0))
    return found + classes.companion @ types.T.astype(np.float64)


def over_quota(scenario: Scenario, classes: DemandClasses, quotas: Quotas) -> list[Problem]:
    """Find jobs that hold more than a quota allows even if they are alone."""
    work, columns, problems = scenario.workload, quotas.columns, []
    names = [p.name for p in scenario.datacenter.processor_types]
    is_gang = np.zeros(work.n_jobs, bool) if work.gang_within is None else gangs_of(work) != NO_GANG
    counted = [(account, quota) for account, own in enumerate(quotas.of_account) for quota in own]
    for k, types in enumerate(columns["counted_type"]):
        alone = columns["class_least"][classes.of_task, k]
        together = np.add.reduceat(alone, work.job_first[:-1])
        needed = np.where(is_gang, together, np.maximum.reduceat(alone, work.job_first[:-1]))
        name = "|".join(np.array(names)[types])
        for account, quota in counted:
            most = columns["quota_limit"][quota] if columns["quota_counts"][quota] == k else np.inf
            for job in np.flatnonzero((columns["job_account"] == account) & (needed > most * OVERFULL))[:5]:
                expected = f"at most {amount_words(name, most)}, {quotas.words[quota]}"
                found, remedy = amount_words(name, float(needed[job])), "Ask for less, or raise the quota."
                problems.append(Problem(("workload", "task", int(work.job_first[job])), expected, found, remedy))
    return problems


def partition_columns(
    scenario: Scenario, quotas: Quotas, node_rack: np.ndarray, node_shelf: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the columns of the model about partitions and quotas; the places are those of its nodes."""
    names = {one.cohort: at for at, one in enumerate(scenario.partitions) if one.cohort is not None}
    rows = [np.ones(len(node_rack), bool), *(one.has(node_rack, node_shelf) for one in scenario.partitions)]
    return {
        **quotas.columns,
        "job_partition": scenario.job_partition + np.int32(1),
        "partition_node": np.array(rows),
        "partition_cohort": np.array([-1, *(names.get(one.cohort or "", -1) for one in scenario.partitions)], np.int32),
        "partition_weight": np.array([1.0, *(one.weight for one in scenario.partitions)]),
    }
