"""Units: what they may run, how much of it, for how long they were active, and the series over time."""

from collections.abc import Iterator

from tests.invariants.facts import Facts

OVER = 1 + 1e-8  # demands such as 0.1 do not add up exactly


def amounts_are_the_demands(facts: Facts) -> Iterator[str]:
    """A task holds its demand of the unit, or nothing if it is consolidated behind another one."""
    has_amounts = "amount" in facts.folder.tables["tasks"]
    for hold in facts.folder.holds:
        expected = facts.takes(hold.task, hold.unit)
        may_follow = facts.consolidates and has_amounts
        if hold.amount != expected and not (may_follow and hold.amount == 0.0):
            yield f"task {hold.task} holds {hold.amount} of unit {hold.unit}, not {expected}"
        elif hold.amount == 0.0 < expected and not any(
            other.begin == hold.begin and (other.amount > 0 or facts.takes(other.task, hold.unit) == 0)
            for other in facts.holds_on[hold.unit]
        ):
            yield f"task {hold.task} holds nothing of unit {hold.unit}, and no task that it was started with does"


def units_can_run_their_tasks(facts: Facts) -> Iterator[str]:
    for hold in facts.folder.holds:
        if hold.part == 0 and facts.speed(hold.task, hold.unit) <= 0:
            yield f"task {hold.task} ran on unit {hold.unit}, which cannot run it"


def no_unit_over_its_capacity(facts: Facts) -> Iterator[str]:
    """No unit is over-committed unless the policy may do so; serving engines take any number of requests."""
    if facts.policy.may_overcommit:
        return
    for unit in (unit for unit in range(facts.n_units) if not facts.is_engine(unit)):
        for time in sorted({h.begin for h in facts.holds_on[unit]}):
            load = facts.load(unit, time)
            if load > facts.capacity(unit) * OVER:
                yield f"unit {unit} is loaded with {load} of {facts.capacity(unit)} at {time}"


def active_time_is_the_union_of_intervals(facts: Facts) -> Iterator[str]:
    """Active time is the union of intervals, allocated time the sum of share x time; both give the utilisations."""
    span = facts.makespan
    for unit, row in enumerate(facts.folder.units):
        allocated, active = facts.folder.measured(unit, 0.0, span)
        expected = {"allocated_us": allocated, "active_us": active}
        expected |= {"utilization": allocated / span if span else 0.0, "active": active / span if span else 0.0}
        for name, value in expected.items():
            if not facts.same(row[name], value, span * 1e-3 if name.endswith("_us") else 1e-3):
                yield f"unit {unit}: {name} is {row[name]}, not {value}"


def samples_are_the_shares(facts: Facts) -> Iterator[str]:
    """Each interval's shares are those of the tasks in it; the intervals cover the run."""
    interval, rows, groups = facts.scenario.sampling_us, facts.folder.utilization, facts.folder.groups()
    if (rows is None) != (interval is None or facts.makespan <= 0):
        yield "there are samples without an interval, or the reverse"
    if rows is None or interval is None:
        return
    for name in groups:
        edges = [0.0, *(row["t_end_us"] for row in rows if row["group"] == name)]
        begins = [row["t_start_us"] for row in rows if row["group"] == name]
        if begins != edges[:-1] or edges[-1] != facts.makespan:
            yield f"the intervals of {name} do not cover the run"
    for row in rows:
        expected = facts.folder.shares(groups[row["group"]], row["t_start_us"], row["t_end_us"])
        for name, share in zip(("utilization", "active"), expected, strict=True):
            if not facts.same(row[name], share, 1.0, 1e-7):
                yield f"{row['group']} from {row['t_start_us']}: {name} is {row[name]}, not {share}"
