"""Partitions: which nodes their jobs use, and what these hold at once."""

from collections.abc import Iterator

from tests.invariants.facts import Facts
from tests.properties.held_plainly import Hold

OVER = 1 + 1e-8
NONE = -1


def _name(facts: Facts, hold: Hold) -> str:
    """The partition of a hold's job; empty if it has none."""
    code = int(facts.work.partition[facts.job[hold.task]])
    return "" if code == NONE else facts.work.partition_names[code]


def jobs_stay_on_the_nodes_of_their_partition(facts: Facts) -> Iterator[str]:
    nodes = {one.name: one.nodes for one in facts.scenario.partitions}
    for hold in facts.folder.holds if facts.work.partition is not None else ():
        mine = nodes.get(_name(facts, hold))
        if mine is not None and list(facts.place[hold.unit]) not in mine.tolist():
            yield f"task {hold.task} held unit {hold.unit}, outside its partition"


def quotas_are_kept(facts: Facts) -> Iterator[str]:
    """At no time do the jobs of a partition, or of a user in it, hold more than a quota says."""
    if facts.work.partition is None:
        return
    for one in facts.scenario.partitions:
        mine = [hold for hold in facts.folder.holds if _name(facts, hold) == one.name]
        of_user: dict[int, list[Hold]] = {}
        for hold in mine if one.user_quota else ():
            of_user.setdefault(int(facts.work.user[facts.job[hold.task]]), []).append(hold)
        for holds, quotas in [(mine, one.quota), *((holds, one.user_quota) for holds in of_user.values())]:
            for types, most in quotas.items():
                counted = [h for h in holds if facts.types[facts.unit_type[h.unit]].name in types.split("|")]
                for time in sorted({hold.begin for hold in counted}):
                    held = sum(hold.amount for hold in counted if hold.begin <= time < hold.end)
                    if held > most * OVER:
                        yield f"at {time} {held} of {types} are held in {one.name}, of {most}"
