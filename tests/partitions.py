"""Random scenarios with partitions and quotas: gangs or single tasks, of one unit or of several, that may end early."""

from dataclasses import replace
from typing import Any

import numpy as np

import vinesim as vs
from tests.gangs import gang_scenario
from tests.strategies import SeededDice
from vinesim.model.workload import NO_GANG, NO_PARTITION
from vinesim.state.build import build_model


def partition_scenario(
    seed: int, policy: Any = "high", options: Any = None, early: bool = False, has_rates: bool = False
) -> vs.Scenario:
    """Return the scenario of a seed. Jobs that no partition could run have none. Rates as in ``real_scenario``."""
    return with_partitions(gang_scenario(seed, policy, options, early, has_rates), seed)


def with_partitions(case: vs.Scenario, seed: int) -> vs.Scenario:
    """Return the scenario with partitions for some jobs; a job that its partition could never run has none."""
    dice = SeededDice(seed + 20_000)
    center, work, n_jobs = case.datacenter, case.workload, case.workload.n_jobs
    if work.user is None:
        work = replace(work, user=np.array([dice.integer(0, 1) for _ in range(n_jobs)]), user_names=("ada", "bob"))
    places = np.unique(np.stack([center.rack, center.shelf], axis=1), axis=0)
    used = list(center.count_by_type())
    names = [*used, "|".join(used)]
    partitions = []
    for number in range(dice.integer(1, 3)):
        chosen = np.array([dice.integer(0, 2) > 0 for _ in places])
        if not chosen.any() or dice.integer(0, 2) == 0:
            chosen[:] = True
        amounts = (1.0, 2.0, 3.5, 8.0)
        quotas = [{dice.pick(names): dice.pick(amounts) for _ in range(dice.integer(0, 2))} for _ in range(2)]
        nodes = None if chosen.all() and dice.integer(0, 1) else places[chosen]
        partitions.append(vs.Partition(f"part{number}", nodes, *quotas))
    partitions = in_cohorts(partitions, SeededDice(seed + 30_000))
    of = np.array([dice.integer(-1, len(partitions) - 1) for _ in range(n_jobs)])
    of[0] = max(0, of[0])
    labels = tuple(one.name for one in partitions)
    task_job = np.repeat(np.arange(n_jobs), np.diff(work.job_first))
    while (of != NO_PARTITION).any():
        found = replace(
            case, workload=replace(work, partition=of, partition_names=labels), partitions=tuple(partitions)
        )
        try:
            build_model(found)
            return found
        except vs.InputError as wrong:
            jobs = task_job[[problem.path[-1] for problem in wrong.problems if isinstance(problem.path[-1], int)]]
            alone = jobs[of[jobs] == NO_PARTITION]
            if not len(jobs) or (len(alone) and work.gang_within is None):
                raise
            of[jobs] = NO_PARTITION
            if len(alone):  # more is known of gangs where classes of demands are looked at
                work = without_gangs(work, alone)
    return replace(case, workload=work)


def in_cohorts(partitions: list[vs.Partition], dice: SeededDice) -> list[vs.Partition]:
    """Return the partitions, some of them in cohorts that lend what they do not use."""
    names = sorted({name for one in partitions for name in one.quota})
    if not names or dice.integer(0, 1) == 0:
        return partitions
    found = []
    for one in partitions:
        quota = {name: one.quota.get(name, dice.pick((0.0, 1.0, 4.0))) for name in names[:1]}
        borrowing = {name: dice.pick((0.0, 1.0, 2.5)) for name in quota if dice.integer(0, 2) == 0}
        lending = {name: most * dice.pick((0.0, 0.5)) for name, most in quota.items() if dice.integer(0, 2) == 0}
        terms = {"borrowing_limit": borrowing, "lending_limit": lending, "weight": dice.pick((0.0, 1.0, 2.0))}
        found.append(replace(one, quota=quota, cohort="shared", **terms))
    return found


def without_gangs(work: vs.Workload, jobs: np.ndarray) -> vs.Workload:
    """Return the workload with these jobs no longer gangs."""
    columns = {"gang_within": NO_GANG, "gang_spread": False, "tasks_per_node": 0, "gang_nodes": 0}
    given = {name: np.array(getattr(work, name)) for name in columns if getattr(work, name) is not None}
    for name, column in given.items():
        column[jobs] = columns[name]
    return replace(work, **given)
