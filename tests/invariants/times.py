"""The times of each task: their order, how long it takes, where it is, and outages."""

import itertools
import math
from collections.abc import Iterator

from tests.invariants.facts import Facts


def times_in_order(facts: Facts) -> Iterator[str]:
    """arrival <= init <= start <= finish <= the run's end."""
    for row in facts.folder.tasks:
        names = ("arrival_us", "init_us", "start_us", "finish_us")
        times = [(name, row[name]) for name in names if not facts.is_missing(row[name])]
        for (one, before), (other, after) in itertools.pairwise(times):
            if after < before:
                yield f"task {row['task']}: {other} {after} is before {one} {before}"
        if not facts.is_missing(row["finish_us"]) and facts.is_missing(row["start_us"]):
            yield f"task {row['task']} ended and never started"
        if any(time > facts.makespan for name, time in times if name != "arrival_us"):
            yield f"task {row['task']}: a time is after the run's end {facts.makespan}"


def nothing_starts_before_it_may(facts: Facts) -> Iterator[str]:
    """No task begins before its job has arrived and all that the job waits for are over."""
    for hold in facts.folder.holds:
        if not hold.begin >= facts.eligible[facts.job[hold.task]]:
            yield f"task {hold.task} begins at {hold.begin}, eligible at {facts.eligible[facts.job[hold.task]]}"


def segments_follow_one_another(facts: Facts) -> Iterator[str]:
    """A task is somewhere from its last start to its end without a gap; runs that were lost come before."""
    n_lost = 0
    for row in facts.folder.tasks:
        task, mine, run = row["task"], facts.holds_of.get(row["task"], []), facts.last_run(row["task"])
        lost = [h for h in mine if h.outcome in ("interrupted", "failed")]
        n_lost += len(lost)
        if row.get("restarts", 0) != len(lost):
            yield f"task {task} restarted {row.get('restarts', 0)} times, and was interrupted {len(lost)} times"
        if not facts.same(row.get("lost_us", 0.0), math.fsum(h.end - h.begin for h in lost), facts.makespan, 1e-12):
            yield f"task {task}: lost_us is not the time of the runs that were lost"
        if any(a.end > b.begin for a, b in itertools.pairwise(mine)):
            yield f"task {task} was on two units at a time"
        if (row["unit"] < 0) != (not run):
            yield f"task {task} has a unit and no segment, or the reverse"
        if not run or row["unit"] < 0:
            continue
        end = row["finish_us"]
        is_done = not facts.is_missing(end)
        if (run[0].begin, run[-1].unit) != (row["init_us"], row["unit"]):
            yield f"task {task}: its segments begin and end elsewhere than the task"
        expected = (end, "finished") if is_done else (facts.makespan, "unfinished")
        is_over = not is_done and run[-1].outcome in ("killed", "withdrawn")
        if (run[-1].end, run[-1].outcome) != expected and not is_over:
            yield f"task {task}: its last segment ends {run[-1].outcome} at {run[-1].end}"
        if any(a.end != b.begin or a.outcome != "moved" or a.unit == b.unit for a, b in itertools.pairwise(run)):
            yield f"task {task}: a segment does not go on where the one before it ends"
    ended_early = any(hold.outcome not in ("finished", "unfinished") for hold in facts.folder.holds)
    has_parts = any(hold.part > 0 for hold in facts.folder.holds)
    if facts.folder.has_segments != (ended_early or has_parts):
        yield "there is a table of segments though none ended early and no task held several units, or the reverse"
    summed = facts.folder.summary.get("outages", {"restarts": 0})["restarts"]
    if summed != n_lost:
        yield f"the summary counts {summed} restarts, the segments {n_lost}"


def service_time(facts: Facts) -> Iterator[str]:
    """From init to finish a task gets its transfer, its overhead and its execution on the unit where it began: to the
    bit on a unit of its own speed, in all on a unit that shares its speed. Consolidated tasks add up. What goes on
    where it was left is checked by ``work_done_is_work_asked``."""
    if facts.keeps_progress:
        return
    for tasks, is_sure in facts.consolidated:
        task = tasks[0]
        row, run = facts.folder.tasks[task], facts.last_run(task)
        unit, begin = run[0].unit, run[0].begin
        if facts.is_engine(unit):
            continue  # whose steps take longer the more it serves
        transfer = facts.transfer(task, unit)
        execution = facts.overhead(task, unit) + facts.computing(task, unit)
        for other in tasks[1:]:
            transfer += facts.transfer(other, unit)
            execution += facts.overhead(other, unit) + facts.computing(other, unit) - facts.overhead(other, unit)
        if (known := facts.joined(len(tasks), task, unit)) is not None:
            execution = facts.overhead(task, unit) + known
        execution *= facts.factor(task)
        if not is_sure:
            continue
        for other in tasks[1:]:
            if any(not facts.same(facts.folder.tasks[other][name], row[name], slack=0.0) for name in TIMES):
                yield f"task {other} was consolidated with task {task}, and has other times"
        started = max(begin, facts.given(task) + transfer)
        if not facts.is_missing(row["start_us"]) and not facts.same(row["start_us"], started, slack=1e-12):
            yield f"task {task} starts at {row['start_us']}, not after its transfer at {started}"
        finish, needed = started + execution, transfer + execution
        slack = 1e-9 * needed + 1e-14 * facts.makespan * (1 + 2 * len(facts.holds_on[unit]))
        if facts.is_missing(row["finish_us"]):
            got = facts.service(task, unit, begin, facts.makespan)
            if run[-1].unit == unit and got > needed + slack:
                yield f"task {task} had {got} us of the {needed} that it needs and has no finish"
        elif facts.shares_speed(unit):
            got = facts.service(task, unit, begin, row["finish_us"])
            if abs(got - needed) > slack:
                yield f"task {task} got {got} us of service, not {needed}"
        elif row["finish_us"] != finish and (len(tasks) == 1 or abs(row["finish_us"] - finish) > slack):
            yield f"task {task} ends at {row['finish_us']}, not at {finish}"


TIMES = ("init_us", "start_us", "finish_us")


def nothing_on_a_node_that_is_down(facts: Facts) -> Iterator[str]:
    """No task begins on a node that is down, none runs on there unless the node is drained, and what is interrupted is
    interrupted by an outage, or as maintenance starts."""
    cuts = {one.start_us for one in facts.scenario.reservations if one.interrupts}
    for hold in facts.folder.holds:
        ended = hold.end in cuts
        for outage in facts.outages:
            if (outage.rack, outage.shelf) != facts.place[hold.unit]:
                continue
            if outage.down_us < hold.begin < outage.up_us:
                yield f"task {hold.task} begins at {hold.begin} on unit {hold.unit}, which is down"
            is_there = hold.begin <= outage.down_us < hold.end and not hold.begin == outage.down_us == outage.up_us
            if outage.running == "requeue" and is_there and outage.down_us < facts.makespan:
                yield f"task {hold.task} runs on past {outage.down_us} on unit {hold.unit}, which is down"
            ended |= outage.running == "requeue" and hold.end == outage.down_us
        for outage in facts.outages if facts.is_of_gang(hold.task) else ():  # it goes down with the others
            members = range(*facts.work.job_first[facts.job[hold.task] :][:2])
            places = {facts.place[h.unit] for t in members for h in facts.holds_of.get(t, ()) if h.end == hold.end}
            ended |= (outage.rack, outage.shelf) in places and hold.end == outage.down_us
        if hold.outcome in ("interrupted", "failed") and not ended:
            yield f"task {hold.task} was interrupted at {hold.end} on unit {hold.unit} by no outage"
