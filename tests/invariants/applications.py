"""Client-server applications: the table, consolidation, gangs, and the nodes that hold their data."""

import math
from collections import defaultdict
from collections.abc import Iterator

from tests.invariants.facts import Facts
from tests.invariants.numbers import RANKS, is_missed
from tests.properties.held_plainly import nearest_rank
from vinesim.model.application import application_names, listed_by_code

MINUTE_US = 6e7


def the_table_is_its_requests(facts: Facts) -> Iterator[str]:
    """Each number of each application follows from the jobs and the tasks."""
    rows, work = facts.folder.applications, facts.work
    if (rows is None) != (work.application is None or work.deadline_us is None):
        yield "there is a table of applications without any with deadlines, or the reverse"
    if rows is None:
        return
    codes = sorted(set(work.application.tolist()))
    if [row["application"] for row in rows] != codes:
        yield "the applications are not those that have requests, each once"
        return
    for row in rows:
        code = row["application"]
        jobs = [job for job in facts.folder.jobs if job["application"] == code]
        for name, value in expected_of(facts, code, jobs).items():
            if not (row[name] == value or (not isinstance(value, str) and facts.same(row[name], value))):
                yield f"application {code}: {name} is {row[name]}, not {value}"
    reported = facts.folder.summary["applications"]["mean"]
    in_time = [1 - row["missed"] / row["requests"] for row in rows]
    squares = math.fsum(share**2 for share in in_time)
    expected = {
        "missed_pct": 100 * (1 - math.fsum(in_time) / len(in_time)),
        "worst_missed_pct": 100 * (1 - min(in_time)),
        "jain": math.fsum(in_time) ** 2 / (len(in_time) * squares) if squares else 1.0,
        "reach_99_pct": sum(share >= 0.99 for share in in_time),
    }
    for name, value in expected.items():
        if not facts.same(reported[name], value, 1e-3):
            yield f"mean.{name} is {reported[name]}, not {value}"


def expected_of(facts: Facts, code: int, jobs: list[dict[str, float]]) -> dict[str, object]:
    """Return the expected row of one application."""
    numbers = {job["job"] for job in jobs}
    tasks = [row for row in facts.folder.tasks if row["job"] in numbers]
    started = [row for row in tasks if row["unit"] >= 0]
    missed = sum(map(is_missed, jobs))
    latency = [job["latency_us"] for job in jobs if math.isfinite(job["latency_us"])]
    minutes: dict[float, list[bool]] = defaultdict(list)
    for job in jobs:
        minutes[job["arrival_us"] // MINUTE_US].append(is_missed(job))
    by_minute = [100 * sum(flags) / len(flags) for flags in minutes.values()]
    deployed = sorted(set(facts.unit_type))
    fastest = [max(deployed, key=lambda p: (facts.scenario.affinity[p, row["task_type"]], -p)) for row in started]
    on_fastest = sum(row["unit_type"] == best for row, best in zip(started, fastest, strict=True))
    mine = {row["task"] for row in started}
    consolidated = [(tasks, is_sure) for tasks, is_sure in facts.consolidated if tasks[0] in mine]
    found = {
        "name": application_names(facts.work)[code],
        "requests": len(jobs),
        "missed": missed,
        "missed_pct": 100 * missed / len(jobs),
        "missed_pct_minutes": math.fsum(by_minute) / len(by_minute),
        "missed_pct_worst_minute": max(by_minute),
        "dropped": sum(facts.folder.tasks[facts.work.job_first[job]]["unit"] < 0 for job in sorted(numbers)),
        "goodput_per_s": (len(jobs) - missed) / max(facts.makespan, 1e-9) * 1e6,
        **{f"{name}_us": nearest_rank(latency, share) if latency else math.nan for name, share in RANKS},
        "on_fastest": on_fastest / max(1, len(started)),
    }
    if all(is_sure for _, is_sure in consolidated):
        found["consolidated_mean"] = len(started) / max(1, len(consolidated))
    return found


def consolidation_within_the_limit(facts: Facts) -> Iterator[str]:
    """No more requests start as one than their application allows. Under a policy that preempts, tasks that start on a
    unit at the same time in several groups cannot be distinguished."""
    if getattr(facts.policy, "preempts", False):
        return
    listed = listed_by_code(facts.work, facts.scenario.applications)
    for tasks, is_sure in facts.consolidated:
        code = facts.application(tasks[0])
        one = listed[code] if 0 <= code < len(listed) else None
        is_of_tests = facts.policy.name == "test_consolidate"
        most = facts.policy.most if is_of_tests else 1 if one is None else one.max_consolidated
        if is_sure and len(tasks) > most:
            yield f"{len(tasks)} tasks from task {tasks[0]} on were started as one, more than {most}"


def _heeded(facts: Facts) -> list[tuple[int, object]]:
    """Return (code, application) of those that the policy reads."""
    if "application" not in facts.groups or facts.work.application is None:
        return []
    listed = listed_by_code(facts.work, facts.scenario.applications)
    return [(code, one) for code, one in enumerate(listed) if one is not None]


def gangs_start_at_once(facts: Facts) -> Iterator[str]:
    """All members of a gang start at one time, each on its own node, on one processor type; or none does."""
    if facts.scenario.outages:  # some nodes of a request may be lost
        return
    for code, one in _heeded(facts):
        if one.gang_size == 1:
            continue
        for job in facts.folder.jobs:
            if job["application"] != code:
                continue
            gang = facts.folder.tasks[facts.work.job_first[job["job"]] : facts.work.job_first[job["job"] + 1]]
            there = [member for member in gang if member["unit"] >= 0]
            if there and (
                len(there) < len(gang)
                or len({(member["init_us"], member["unit_type"]) for member in gang}) > 1
                or len({(member["rack"], member["shelf"]) for member in gang}) < len(gang)
            ):
                yield f"the {len(gang)} members of gang {job['job']} did not start at once"


def applications_stay_on_their_nodes(facts: Facts) -> Iterator[str]:
    """Requests run on nodes with their application's data; under policies of the tests, only gangs do."""
    is_of_tests = facts.policy.name.startswith("test_")
    for code, one in _heeded(facts):
        for hold in facts.folder.holds if one.nodes else ():
            if is_of_tests and not facts.is_on_nodes(hold.task):
                continue
            if facts.application(hold.task) == code and facts.place[hold.unit] not in one.nodes:
                yield f"task {hold.task} ran at {facts.place[hold.unit]}, which has no data of {one.name}"
