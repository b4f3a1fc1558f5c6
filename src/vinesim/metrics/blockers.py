"""Find the job for which a policy kept units free while another job waited: by a reservation, or by queue order.

A policy declares whether it ``reserves`` units for waiting jobs or ``starts_in_order``. A job that has room then waits
only because of a job that arrived before it, is pending, and is within its quotas. If the policy reserves for the first
job only, that is the first such job that could start on the same nodes. If it reserves for every job, it is the job
that starts there next.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from vinesim.formats.results.explain_record import ExplainRecord
from vinesim.formats.results.tables import ResultTables
from vinesim.metrics.openings import Changes
from vinesim.metrics.places import TaskDemand, allowed_units, demand_of_task, places_for
from vinesim.metrics.quota_waits import quota_waits
from vinesim.metrics.run_columns import StoredColumns
from vinesim.metrics.shortages import IDLE, Span
from vinesim.metrics.types_of_units import lacking
from vinesim.model.workload import NO_GANG

RESERVED, BEHIND = "reserved", "behind"  # as the state of a part of a wait
Node = tuple[int, int]  # rack, shelf
_AHEAD = """
SELECT tasks.task, tasks.job, (SELECT tasks FROM jobs WHERE jobs.job = tasks.job) AS n_tasks, task_type,
    eligible_us, init_us, rack, shelf FROM tasks
WHERE task < $task AND job <> $job AND eligible_us <= $until_us AND coalesce(init_us, $until_us + 1) > $since_us
ORDER BY task
"""
_EARLIER = """
SELECT task, begin_us, end_us FROM held
WHERE part = 0 AND outcome IN ('preempted', 'interrupted', 'failed', 'prefilled')
    AND begin_us <= $until_us ORDER BY task, begin_us
"""


@dataclass(frozen=True)
class Blocker:
    """An interval in which a task had room, but the policy kept it for an earlier job."""

    begin_us: float
    end_us: float
    why: str  # RESERVED, or BEHIND in the policy's order
    job: int
    starts_us: float | None  # when it started; None: it did not
    n_more: int  # how many other earlier jobs had reservations too


@dataclass(frozen=True)
class _Ahead:
    """A task that arrived before the one that waited."""

    task: int
    job: int
    n_tasks: int  # of the job
    task_type: int
    since_us: float  # since when it waits for units
    over_us: float | None  # when it was no longer pending; None: it still is
    starts_us: float | None
    node: Node
    runs: Sequence[tuple[float, float]]  # before its last start

    def is_pending(self, at_us: float) -> bool:
        """Whether it is waiting immediately after this time."""
        is_over = self.over_us is not None and self.over_us <= at_us
        return self.since_us <= at_us and not is_over and not any(a <= at_us < b for a, b in self.runs)

    def until_us(self, at_us: float) -> float:
        """When it next starts or leaves the queue, given a time at which it is waiting; infinite if never."""
        starts = [begin for begin, _ in self.runs if begin > at_us]
        return min([*starts, *([] if self.over_us is None else [self.over_us])], default=np.inf)


@dataclass
class _Queue:
    """The tasks ahead of a waiting task."""

    result: ResultTables
    record: ExplainRecord
    units: dict[str, np.ndarray]
    on_units: Sequence[tuple[Any, ...]]
    window: dict[str, float]

    @cached_property
    def ahead(self) -> list[_Ahead]:
        """The tasks that were pending at some time during the wait, in queue order."""
        runs: dict[int, list[tuple[float, float]]] = {}
        if "segments" in self.result.names:
            for task, begin, end in self.result.rows(_EARLIER, {"until_us": self.window["until_us"]}):
                runs.setdefault(task, []).append((begin, end))
        given_up = dict(zip(*StoredColumns(self.result).given_up(end=int(self.window["task"])), strict=True))
        found = [
            _Ahead(task, job, n, kind, since, given_up.get(task, starts), starts, (rack, shelf), runs.get(task, ()))
            for task, job, n, kind, since, starts, rack, shelf in self.result.rows(_AHEAD, self.window)
        ]
        return [one for one in found if one.over_us is None or one.over_us > self.window["since_us"]]

    def demand_of(self, one: _Ahead) -> TaskDemand:
        return demand_of_task(self.record, one.task, one.task_type)

    def nodes(self, one: _Ahead) -> set[Node]:
        """Return the nodes on which a task could start if nothing else ran."""
        key = (repr(self.demand_of(one)), int(self.record.partition[one.task]), int(self.record.node_list[one.task]))
        if key not in self._nodes:
            self._nodes[key] = self._nodes_of(one)
        return self._nodes[key]

    @cached_property
    def _nodes(self) -> dict[tuple[str, int, int], set[Node]]:
        return {}

    def _nodes_of(self, one: _Ahead) -> set[Node]:
        record, demands, units = self.record, self.demand_of(one), self.units
        wanted = {name: float(values[one.task]) for name, values in record.requests.items() if values[one.task] > 0}
        leads = [
            name
            for code, name in enumerate(record.processor_types)
            if demands.may_run_on(record, code) and not lacking(wanted, record.attributes[code])
        ]
        several = demands.n_units > 1 or bool(demands.companions)
        places = places_for(demands, leads, record.processor_types, units, Changes(), several)
        is_allowed = allowed_units(record, one.task, units)
        allowed = set(zip(units["rack"][is_allowed].tolist(), units["shelf"][is_allowed].tolist(), strict=True))
        return {(place.rack, place.shelf) for place in places if place.fits} & allowed

    def is_over_quota(self, one: _Ahead, at_us: float) -> bool:
        """Whether a quota leaves too little for a task at this time, so that the policy skips it."""
        if one.task not in self._over_quota:
            demands, window = self.demand_of(one), (self.window["since_us"], self.window["until_us"])
            members = [demands] * (1 if demands.within == NO_GANG else one.n_tasks)
            found = quota_waits(self.record, one.task, members, self.units, self.on_units, *window)
            self._over_quota[one.task] = [(wait.begin_us, wait.end_us) for wait in found]
        return any(begin <= at_us < end for begin, end in self._over_quota[one.task])

    @cached_property
    def _over_quota(self) -> dict[int, list[tuple[float, float]]]:
        return {}


def blockers(
    result: ResultTables,
    record: ExplainRecord,
    task: int,
    job: int,
    waits: Sequence[tuple[float, float]],
    spans: Iterable[Span],
    nodes: set[Node],
    units: dict[str, np.ndarray],
    on_units: Sequence[tuple[Any, ...]],
) -> list[Blocker]:
    """Return the jobs for which the policy kept room free while a task waited, in order of time.

    Args:
        result: The tables of the run.
        record: The explain record of the run; it has what the policy declares.
        task: The task that waited.
        job: The job of the task.
        waits: Start and end of each interval in which the task waited, us.
        spans: The wait by state; only spans in the state IDLE are examined.
        nodes: The nodes on which the task could start.
        units: The columns of the table of units.
        on_units: Task, job, unit, start, end and amount of everything held during the wait.
    """
    idle = [span for span in spans if span.state == IDLE]
    choose = CHOICES.get(record.reserves) or (_any if record.starts_in_order else None)
    if not idle or choose is None:
        return []
    window = {"task": task, "job": job, "since_us": waits[0][0], "until_us": waits[-1][1]}
    queue = _Queue(result, record, units, on_units, window)
    found: list[Blocker] = []
    for span in idle:
        at_us = span.begin_us
        while at_us < span.end_us:
            chosen, n_more = choose(queue, at_us, nodes)
            if chosen is None:
                break
            until_us = min(span.end_us, chosen.until_us(at_us))
            why = RESERVED if record.reserves else BEHIND
            _add(found, Blocker(at_us, until_us, why, chosen.job, chosen.starts_us, n_more))
            at_us = until_us
    return found


def _add(found: list[Blocker], one: Blocker) -> None:
    """Append a blocker; extend the last one instead if it is the same job's and ends where this one begins."""
    last = found[-1] if found else None
    if last is not None and (last.job, last.end_us) == (one.job, one.begin_us):
        found[-1] = Blocker(last.begin_us, one.end_us, one.why, one.job, one.starts_us, max(last.n_more, one.n_more))
    else:
        found.append(one)


Chosen = tuple[_Ahead | None, int]


def _pending(queue: _Queue, at_us: float, is_meant: Callable[[_Ahead], bool]) -> Iterable[_Ahead]:
    waiting = (one for one in queue.ahead if one.is_pending(at_us) and is_meant(one))
    return (one for one in waiting if not queue.is_over_quota(one, at_us))


def _any(queue: _Queue, at_us: float, nodes: set[Node]) -> Chosen:
    """Return the first pending task: under a strict order, everything behind it waits."""
    return next(iter(_pending(queue, at_us, lambda one: True)), None), 0


def _first(queue: _Queue, at_us: float, nodes: set[Node]) -> Chosen:
    """Return the first pending task that could start on these nodes: only that one has a reservation."""
    return next(iter(_pending(queue, at_us, lambda one: bool(queue.nodes(one) & nodes))), None), 0


def _next(queue: _Queue, at_us: float, nodes: set[Node]) -> Chosen:
    """Return the task that starts next on these nodes, and how many jobs besides its own could start there."""
    found = list(_pending(queue, at_us, lambda one: bool(queue.nodes(one) & nodes)))
    if not found:
        return None, 0
    jobs = {one.job for one in found}
    there = [one for one in found if one.starts_us is not None and one.node in nodes]
    chosen = min(there, key=lambda one: (one.starts_us, one.task)) if there else found[0]
    return chosen, len(jobs) - 1


CHOICES = {"first": _first, "all": _next}  # by what the policy reserves for
