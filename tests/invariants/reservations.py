"""Reservations: no segment begins where, by what was expected of its task, it would run into one; in plain loops."""

import math
from collections.abc import Iterator

import numpy as np

from tests.invariants.facts import Facts


def nothing_runs_into_reservations(facts: Facts) -> Iterator[str]:
    """A task is given to a unit only if the least that is expected of it ends before a reservation that does not
    admit its user, or begins after it. Of tasks that start as one, the first decides."""
    work = facts.work
    for one in facts.scenario.reservations:
        nodes = None if one.nodes is None else set(map(tuple, one.nodes.tolist()))
        for hold in facts.folder.holds:
            if nodes is not None and facts.place[hold.unit] not in nodes:
                continue
            job = facts.job[hold.task]
            user = -1 if work.user is None else int(work.user[job])
            if (user >= 0 and work.user_names[user] in one.users) or hold.begin >= one.end_us:
                continue
            if (facts.consolidates and hold.amount == 0.0) or is_placed(facts, hold.task, hold.begin):
                continue
            if hold.begin >= one.start_us or hold.begin + expected_us(facts, hold.task, job) > one.start_us * (
                1 + 1e-12
            ):
                yield f"task {hold.task} was given unit {hold.unit} at {hold.begin}, before or in {one.name}"


def is_placed(facts: Facts, task: int, begin: float) -> bool:
    placed = facts.work.placed
    return placed is not None and placed[task] >= 0 and begin == 0.0


def expected_us(facts: Facts, task: int, job: int) -> float:
    """Return the least certain run time, us: an estimate for one type, or the shortest true time; at most the limit."""
    work, scenario = facts.work, facts.scenario
    if work.estimate_us is not None:
        found = 0.0 if len(scenario.running_types) > 1 else float(work.estimate_us[task])
    elif scenario.single_times_us is not None:
        able = scenario.affinity[:, facts.kind[task]] > 0
        found = float(np.min(scenario.single_times_us[task][able]))
    else:
        found = float(work.operations[task] / scenario.affinity[:, facts.kind[task]].max())
    return min(found, math.inf if work.limit_us is None else float(work.limit_us[job]))
