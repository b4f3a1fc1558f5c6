"""The numbers of the summary follow from the tables."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.invariants.facts import Facts
from tests.properties.held_plainly import nearest_rank

RANKS = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99_9", 0.999))


def counts_of_the_summary(facts: Facts) -> Iterator[str]:
    rows, summary = facts.folder.tasks, facts.folder.summary
    by_type = {name: 0 for name in facts.folder.groups() if name != "all"}
    prefilled = [hold.unit for hold in facts.folder.holds if hold.outcome == "prefilled"]
    for unit in [row["unit"] for row in rows if row["unit"] >= 0] + prefilled:
        by_type[facts.folder.names[facts.unit_type[unit]]] += 1
    expected = {
        "tasks.count": len(rows),
        "tasks.finished": sum(not facts.is_missing(row["finish_us"]) for row in rows),
        "tasks.by_type": by_type,
        "jobs.count": len(facts.folder.jobs),
        "jobs.finished": sum(not facts.is_missing(row["finish_us"]) for row in facts.folder.jobs),
    }
    killed = {facts.job[hold.task] for hold in facts.folder.holds if hold.outcome == "killed"}
    if facts.work.limit_us is not None:
        expected["jobs.killed"] = len(killed)
    if facts.work.withdraw_us is not None:
        is_open = [facts.is_missing(row["finish_us"]) and j not in killed for j, row in enumerate(facts.folder.jobs)]
        is_late = [at <= facts.makespan for at in facts.work.withdraw_us]
        expected["jobs.withdrawn"] = sum(a and b for a, b in zip(is_open, is_late, strict=True))
        expected["jobs.started"] = sum(not facts.is_missing(row["start_us"]) for row in facts.folder.jobs)
    if facts.policy.may_drop:
        expected["jobs.refused"] = sum(bool(row["refused"]) for row in facts.folder.jobs)
        dropped = {facts.job[task] for task, row in enumerate(rows) if not facts.is_missing(row["dropped_us"])}
        is_over = [j in killed or not facts.is_missing(row["finish_us"]) for j, row in enumerate(facts.folder.jobs)]
        late_us = np.inf if facts.work.withdraw_us is None else facts.work.withdraw_us
        is_late = np.broadcast_to(late_us <= facts.makespan, len(is_over))
        expected["jobs.ended"] = sum(
            j in dropped and not facts.is_missing(row["start_us"]) and not is_over[j] and not is_late[j]
            for j, row in enumerate(facts.folder.jobs)
        )
    for name, value in expected.items():
        part, _, key = name.partition(".")
        if summary[part][key] != value:
            yield f"{name} is {summary[part][key]}, not {value}"


def types_that_run_nothing_are_named(facts: Facts) -> Iterator[str]:
    """Overall figures leave them out."""
    reported = facts.folder.summary["provenance"].get("resources", [])
    found = [facts.types[p].name for p in sorted(set(facts.unit_type)) if not facts.scenario.affinity[p].any()]
    if reported != found:
        yield f"{reported} run nothing, not {found}"


def latencies_of_the_summary(facts: Facts) -> Iterator[str]:
    """Mean, percentiles and maximum of waits, responses and latencies, of what finished."""
    rows, jobs, summary = facts.folder.tasks, facts.folder.jobs, facts.folder.summary
    columns = {
        ("tasks", "latency_us"): [row["finish_us"] - row["arrival_us"] for row in rows],
        ("tasks", "wait_us"): [waited(facts, row) for row in rows],
        ("tasks", "response_us"): [row["finish_us"] - row["init_us"] for row in rows],
        ("jobs", "latency_us"): [row["finish_us"] - row["arrival_us"] for row in jobs],
        ("jobs", "wait_us"): [row["start_us"] - facts.eligible[row["job"]] + away(facts, row) for row in jobs],
        ("jobs", "time_to_start_us"): [row["start_us"] - facts.eligible[row["job"]] for row in jobs],
        ("jobs", "bounded_slowdown"): [
            max(1.0, row["latency_us"] / max(row["finish_us"] - row["start_us"] - away(facts, row), 10e6))
            if not facts.is_missing(row["latency_us"])
            else math.nan
            for row in jobs
        ],
    }
    for (part, name), values in columns.items():
        yield from spread(facts, f"{part}.{name}", summary[part][name], values)


def waited(facts: Facts, row: dict[str, Any]) -> float:
    """Return how long a task had no unit from the eligibility of its job to its last start."""
    waits, free = 0.0, facts.eligible[row["job"]]
    for hold in sorted(facts.holds_of.get(row["task"], ()), key=lambda hold: hold.begin):
        if hold.begin < row["init_us"]:
            waits, free = waits + (hold.begin - free), hold.end
    return waits + (row["init_us"] - free)


def before(facts: Facts, row: dict[str, Any]) -> float:
    """Return how long a task held units before its last start."""
    return math.fsum(h.end - h.begin for h in facts.holds_of.get(row["task"], ()) if h.begin < row["init_us"])


def away(facts: Facts, row: dict[str, Any]) -> float:
    """Return how long no task of a job held a unit between the job's first start and its last."""
    tasks = range(facts.work.job_first[row["job"]], facts.work.job_first[row["job"] + 1])
    holds = sorted((hold.begin, hold.end) for task in tasks for hold in facts.holds_of.get(task, ()))
    if not holds:
        return 0.0
    gaps, until = [], holds[0][0]
    for begin, end in holds:
        gaps.append(max(0.0, begin - until))
        until = max(until, end)
    return math.fsum(gaps)


def spread(facts: Facts, name: str, reported: dict[str, Any], values: list[float]) -> Iterator[str]:
    """Yield the errors in a reported distribution of the finite values."""
    there = [value for value in values if math.isfinite(value)]
    expected: dict[str, float | None] = dict.fromkeys(("mean", "max", *(rank for rank, _ in RANKS)))
    if there:
        ranks = {rank: nearest_rank(there, share) for rank, share in RANKS}
        expected = {"mean": math.fsum(there) / len(there), "max": max(there), **ranks}
    for key, value in expected.items():
        if not facts.same(reported[key], value):
            yield f"{name}.{key} is {reported[key]}, not {value}"


def utilization_of_the_summary(facts: Facts) -> Iterator[str]:
    """Utilisation of all units and of each type is the allocated share weighted by capacity; so are percentiles."""
    reported = facts.folder.summary["utilization"]
    if any(reported[name] != value for name, value in reported["allocated"].items()):
        yield "the headline is not what is allocated"
    groups = facts.folder.groups()
    both = {name: facts.folder.shares(units, 0.0, facts.makespan) for name, units in groups.items()}
    for place, (part, column) in enumerate((("allocated", "utilization"), ("active", "active"))):
        shares = [facts.folder.units[unit][column] for unit in groups["all"]]
        of_group = {name: values[place] for name, values in both.items()}
        expected = {"overall": of_group.pop("all"), **{f"by_type.{name}": share for name, share in of_group.items()}}
        expected |= {f"percentiles.{rank}": nearest_rank(shares, share) for rank, share in RANKS}
        for name, value in expected.items():
            group, _, key = name.partition(".")
            found = reported[part][group][key] if key else reported[part][group]
            if not facts.same(found, value, 1e-3):
                yield f"{part}.{name} is {found}, not {value}"


def deadlines_that_were_missed(facts: Facts) -> Iterator[str]:
    """A job misses its deadline if it has one and is not done by then."""
    reported, jobs = facts.folder.summary.get("deadlines"), facts.folder.jobs
    if (reported is None) != (facts.work.deadline_us is None):
        yield "deadlines are reported without any, or the reverse"
    if reported is None:
        return
    n = sum(math.isfinite(row["deadline_us"]) for row in jobs)
    missed = sum(is_missed(row) for row in jobs)
    if (reported["missed"], reported["missed_pct"]) != (missed, 100.0 * missed / max(1, n)):
        yield f"{reported['missed']} ({reported['missed_pct']} %) missed, not {missed} of {n}"


def is_missed(job: dict[str, Any]) -> bool:
    return math.isfinite(job["deadline_us"]) and not job["finish_us"] <= job["deadline_us"]
