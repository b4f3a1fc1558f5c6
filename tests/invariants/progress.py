"""The segments of a task together do its work exactly once, apart from what was lost."""

import math
from collections.abc import Iterator

from tests.invariants.facts import Facts
from tests.properties.held_plainly import Hold

UNSURE = 1e-7  # of a checkpoint: rounding decides whether it was reached


def work_done_is_work_asked(facts: Facts) -> Iterator[str]:
    """From segment to segment what is left of a task decreases by what was done and kept; the last one does the rest.
    On a unit that shares its speed, what counts is its share of the speed."""
    if not facts.keeps_progress or facts.is_batch or facts.consolidates:
        return
    for task, holds in facts.holds_of.items():
        if facts.is_engine(holds[-1].unit):
            continue  # whose steps take longer the more it serves
        left: float | None = 1.0
        for number, hold in enumerate(holds):
            whole = (facts.overhead(task, hold.unit) + facts.computing(task, hold.unit)) * facts.factor(task)
            before = facts.transfer(task, hold.unit) + _of(facts.work.restart_us, task, 0.0) * (number > 0)
            if facts.scenario.datacenter.takes_ahead:  # data came while the unit computed others
                before = max(0.0, facts.given(task) + before - hold.begin)
            work = whole * left if whole < math.inf else math.inf
            got = facts.service(task, hold.unit, hold.begin, hold.end)
            slack = 1e-8 * (before + (work if work < math.inf else 0.0)) + 1e-12 * facts.makespan
            if hold.outcome == "finished" and abs(got - before - work) > slack:
                yield f"task {task} got {got} us on unit {hold.unit} at its end, not {before + work}"
            if hold.outcome != "finished" and got > before + work + slack:
                yield f"task {task} got {got} us on unit {hold.unit}, more than {before + work}, and was not done"
            left = _left(facts, task, hold, left, min(max(0.0, got - before), work), work)
            if left is None:
                break


def limits_are_kept(facts: Facts) -> Iterator[str]:
    """No segment is longer than its job's limit, and what is killed was as long. For consolidated tasks the limit of
    the leader counts."""
    if facts.consolidates:
        return
    for hold in facts.folder.holds:
        limit = _of(facts.work.limit_us, facts.job[hold.task], math.inf)
        took = hold.end - hold.begin
        if took > limit + 1e-9 * facts.makespan:
            yield f"task {hold.task} was on unit {hold.unit} for {took} us, beyond its limit"
        if hold.outcome == "killed" and not facts.same(took, limit, facts.makespan):
            yield f"task {hold.task} was killed after {took} us, its limit is {limit}"


def _of(column, row, default):
    return default if column is None else float(column[row])


def _left(facts: Facts, task: int, hold: Hold, left: float, done: float, work: float) -> float | None:
    """Return the work left after a segment; None if it depends on rounding."""
    if work in (0.0, math.inf):
        return left
    mode = "checkpoint" if hold.outcome in ("interrupted", "failed") else facts.scenario.preemption
    if mode == "checkpoint":
        every = _of(facts.work.checkpoint_us, task, math.inf)
        if every == math.inf:
            return left
        if abs(done / every - round(done / every)) < UNSURE and done > 0:
            return None
        done = math.floor(done / every) * every
    return left if mode == "restart" else left * (1.0 - min(done / work, 1.0))
