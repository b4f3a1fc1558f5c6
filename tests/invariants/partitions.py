"""Partitions: which nodes their jobs use, and what these hold at once."""

import math
from collections.abc import Iterator

from tests.invariants.facts import Facts
from tests.properties.held_plainly import Hold

OVER = 1 + 1e-8
NONE = -1


def _name(facts: Facts, hold: Hold) -> str:
    """Return the partition of a hold's job; empty if it has none."""
    code = int(facts.work.partition[facts.job[hold.task]])
    return "" if code == NONE else facts.work.partition_names[code]


def jobs_stay_on_the_nodes_of_their_partition(facts: Facts) -> Iterator[str]:
    nodes = {one.name: one.nodes for one in facts.scenario.partitions}
    for hold in facts.folder.holds if facts.work.partition is not None else ():
        mine = nodes.get(_name(facts, hold))
        if mine is not None and list(facts.place[hold.unit]) not in mine.tolist():
            yield f"task {hold.task} held unit {hold.unit}, outside its partition"


def quotas_are_kept(facts: Facts) -> Iterator[str]:
    """At no time do the jobs of a partition, or of a user in it, hold more than a quota says, with what it borrows."""
    if facts.work.partition is None:
        return
    for one in facts.scenario.partitions:
        mine = [hold for hold in facts.folder.holds if _name(facts, hold) == one.name]
        of_user: dict[int, list[Hold]] = {}
        for hold in mine if one.user_quota else ():
            of_user.setdefault(int(facts.work.user[facts.job[hold.task]]), []).append(hold)
        free = math.inf if one.cohort else 0.0
        most_of_all = {types: most + (one.borrowing_limit or {}).get(types, free) for types, most in one.quota.items()}
        for holds, quotas in [(mine, most_of_all), *((holds, one.user_quota) for holds in of_user.values())]:
            for types, most in quotas.items():
                for time, held in _held_of(facts, holds, types):
                    if held > most * OVER:
                        yield f"at {time} {held} of {types} are held in {one.name}, of {most}"


def cohorts_lend_no_more_than_they_have(facts: Facts) -> Iterator[str]:
    """At no time do the partitions of a cohort hold more above what each keeps than all of them lend."""
    if facts.work.partition is None:
        return
    for cohort in {one.cohort for one in facts.scenario.partitions if one.cohort}:
        members = [one for one in facts.scenario.partitions if one.cohort == cohort]
        for types in {frozenset(types.split("|")) for one in members for types in one.quota}:
            lent, levels = 0.0, []
            for one in members:
                for name, most in one.quota.items():
                    if frozenset(name.split("|")) == types:
                        lends = min(most, (one.lending_limit or {}).get(name, most))
                        lent += lends
                        mine = [hold for hold in facts.folder.holds if _name(facts, hold) == one.name]
                        levels.append((most - lends, dict(_held_of(facts, mine, name))))
            for time in sorted({time for _, held in levels for time in held}):
                used = sum(max(0.0, _at(held, time) - kept) for kept, held in levels)
                if used > lent * OVER + 1e-9:
                    yield f"at {time} {used} of {sorted(types)} are lent in {cohort}, of {lent}"


def _held_of(facts: Facts, holds: list[Hold], types: str) -> Iterator[tuple[float, float]]:
    """Return the amount of some types that is held from each change on, by time."""
    counted = [h for h in holds if facts.types[facts.unit_type[h.unit]].name in types.split("|")]
    for time in sorted({time for hold in counted for time in (hold.begin, hold.end)}):
        yield time, sum(hold.amount for hold in counted if hold.begin <= time < hold.end)


def _at(levels: dict[float, float], time: float) -> float:
    """Return the last level that begins by a time."""
    before = [begin for begin in levels if begin <= time]
    return levels[max(before)] if before else 0.0
