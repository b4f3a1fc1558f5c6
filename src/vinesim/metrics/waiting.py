"""Explain why a task waited: which units could have run it, what they ran, and which tasks took free ones."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from vinesim.formats.results.explain_reader import read_record
from vinesim.formats.results.explain_record import ExplainRecord
from vinesim.formats.results.tables import ResultTables, open_result
from vinesim.metrics.blockers import blockers
from vinesim.metrics.cohort_waits import started_in_cohort
from vinesim.metrics.gang_shortages import WITHIN, Gang, GangRoom, gang_rooms, room_spans
from vinesim.metrics.openings import Changes, Place, during, openings
from vinesim.metrics.places import TaskDemand, allowed_units, demand_of_task, places_for
from vinesim.metrics.power_waits import PowerWait, power_waits, with_power
from vinesim.metrics.quota_waits import QuotaWait, partition_of_task, quota_waits, with_quotas
from vinesim.metrics.reservation_waits import reservation_waits, reserved_spans
from vinesim.metrics.run_columns import StoredColumns
from vinesim.metrics.shortages import IDLE, Span, overlaid, shortages
from vinesim.metrics.types_of_units import TypeOfUnit, count_down, count_free, count_opening, note_busy, types_of
from vinesim.metrics.wait import LOSSES, TERMINAL, LostRun, Waiting
from vinesim.model.errors import InputError, Problem
from vinesim.model.workload import NO_GANG

Piece = TypeVar("Piece", QuotaWait, PowerWait, GangRoom)
_TASK = """
SELECT task, task_type, arrival_us, eligible_us, init_us, finish_us FROM tasks WHERE job = $job
ORDER BY init_us IS NULL DESC, init_us DESC, task DESC LIMIT 1
"""
_GANG = "SELECT task FROM tasks WHERE job = $job AND init_us IS NOT DISTINCT FROM $init_us"
_UNFINISHED = """
SELECT task, job, finish_us, left_us FROM tasks LEFT JOIN (
    SELECT task, max(end_us) AS left_us FROM held WHERE outcome IN ('killed', 'withdrawn') GROUP BY task
) USING (task)
SEMI JOIN (SELECT job FROM jobs WHERE latency_us IS NULL) USING (job) ORDER BY task
"""
_OWN = "SELECT unit, begin_us, end_us, outcome FROM held WHERE task = $task AND part = 0 ORDER BY segment"
_ON_UNITS = """
SELECT held.task, tasks.job, held.unit, held.begin_us, coalesce(held.end_us, $end_us) AS end_us, held.amount
FROM held JOIN tasks USING (task)
WHERE (held.task <> $task OR held.begin_us < $until_us)
    AND held.begin_us <= $until_us AND coalesce(held.end_us, $end_us) >= $since_us
"""


def waiting_of(folder: str | Path, job: int) -> Waiting:
    """Explain why a job of a recorded run waited.

    Raises :class:`InputError` if the job or the record does not exist.
    """
    return waits_of(folder, [job])[0]


def waits_of(folder: str | Path, jobs: Sequence[int]) -> list[Waiting]:
    """Explain why several jobs of a recorded run waited. Raises :class:`InputError` as :func:`waiting_of` does."""
    with open_result(folder) as result:
        record = read_record(result)
        n_jobs = int(result.rows("SELECT count(*) FROM jobs")[0][0])
        problems = [
            Problem("--job", f"a job of the run, 0 to {n_jobs - 1}", str(job)) for job in jobs if not 0 <= job < n_jobs
        ]
        if problems:
            raise InputError(problems)
        return [explained(result, record, job) for job in jobs]


def jobs_with_id(folder: str | Path, job_id: int) -> list[int]:
    """Return the jobs with this original id; retries may share one. Raises :class:`InputError` if there is none."""
    with open_result(folder) as result:
        if not result.has("jobs", "job_id"):
            found, remedy = "none: their numbers count from 0", "Give --job N."
            raise InputError([Problem("--job-id", "jobs with their own numbers", found, remedy)])
        jobs = [job for (job,) in result.rows("SELECT job FROM jobs WHERE job_id = $id ORDER BY job", {"id": job_id})]
    if not jobs:
        raise InputError([Problem("--job-id", "the job_id of a job of the run", str(job_id))])
    return jobs


def slowest_jobs(folder: str | Path, count: int) -> list[int]:
    """Return the jobs with the longest latency, longest first.

    The latency of a job that never finished ends when it was killed, withdrawn or dropped, or with the run.
    """
    with open_result(folder) as result:
        return longest(result, count)


def longest(result: ResultTables, count: int) -> list[int]:
    """Return the jobs with the longest latency, as :func:`slowest_jobs` does, from a result that is already open."""
    run, end_us = StoredColumns(result), float(result.summary["makespan_us"])
    arrival_us, over_us = run.of("jobs", "arrival_us", "finish_us")
    task, job, *ends_us = result.columns(_UNFINISHED).values()
    ends_us.insert(1, _of_tasks(task, *run.given_up()))
    task_over_us = np.full(len(task), end_us)  # for a task that nothing else ended
    for known_us in reversed(ends_us):
        task_over_us = np.where(np.isnan(known_us), task_over_us, known_us)
    over_us[job] = -math.inf
    np.maximum.at(over_us, job, task_over_us)
    found = np.flatnonzero(arrival_us <= end_us)
    return found[np.argsort(arrival_us[found] - over_us[found], kind="stable")][:count].tolist()


def _of_tasks(wanted: np.ndarray, task: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the values of the wanted tasks, NaN for tasks without one. ``wanted`` and ``task`` are sorted."""
    found = np.full(len(wanted), math.nan)
    is_known = np.isin(wanted, task)
    found[is_known] = values[np.searchsorted(task, wanted[is_known])]
    return found


def explained(result: ResultTables, record: ExplainRecord, job: int) -> Waiting:
    """Explain why a job waited, from a result that is already open."""
    units = result.columns("SELECT unit_type, rack, shelf, capacity FROM units ORDER BY unit")
    found, demands, task_type, until_us = _who_waited(result, record, job, units)
    members = [demands] if demands.within == NO_GANG else _members(result, record, found, task_type)
    found.gang = _gang(demands, members)
    on_units = _others_on_units(result, found, until_us)
    found.lost_runs = [
        replace(run, for_jobs=started_in_cohort(record, found.task, run.end_us, on_units))
        if run.outcome == "preempted"
        else run
        for run in found.lost_runs
    ]
    quotas = quota_waits(record, found.task, members, units, on_units, found.since_us, until_us)
    found.quotas = _during(quotas, found.waits)
    is_allowed = allowed_units(record, found.task, units)
    if record.power_caps is not None:
        kinds = result.columns("SELECT task_type FROM tasks ORDER BY task")["task_type"]
        wait = found.since_us, until_us
        short = power_waits(record, demands, task_type, kinds, units, is_allowed, on_units, *wait)
        found.power = _during(short, found.waits)
    down = record.outages_of(units["rack"], units["shelf"])
    by_code = types_of(record, demands, task_type, found.requests, units, is_allowed)
    found.types = list(by_code.values())
    changes = Changes()
    changes.add_tasks(on_units)
    changes.add_outages(down)
    _note_openings(found, _allowed_places(record, found, demands, units, is_allowed, changes), until_us)
    usable = _usable(found, _allowed_places(record, found, demands, units, is_allowed, changes))
    nodes = {(place.rack, place.shelf) for place in usable}
    found.able_racks = sorted({rack for rack, _ in nodes}) if record.power_caps is not None else []
    _note_shortages(found, usable, until_us)
    if record.reservations:
        openings = found.task, _time_on_a_unit(found), found.openings
        found.reservations = reservation_waits(record, *openings)
        found.reserved = reserved_spans(record, *openings, found.gang is not None)
    if found.waits:
        waited = found.task, found.job, found.waits, with_limits(found.spans, found)
        found.blockers = blockers(result, record, *waited, nodes, units, on_units)
    note_busy(by_code, units["unit_type"], [row for row in on_units if is_allowed[row[2]]])
    down = {unit: times for unit, times in down.items() if is_allowed[unit]}
    count_down(by_code, units["unit_type"], down, found.waits)
    found.places = _places(result, found)
    found.job_ids = _job_ids(result, found)
    return found


def with_limits(spans: Sequence[Span], found: Waiting) -> list[Span]:
    """Split a wait further, by the quotas, power caps and reservations that kept the task from free places."""
    spans = with_power(with_quotas(spans, found.quotas), found.power, found.able_racks)
    return overlaid(spans, found.reserved, over=IDLE)


def _time_on_a_unit(found: Waiting) -> float:
    """Return the expected run time, us: by estimate and limit, otherwise as the task ran; 0 if it never did."""
    if found.expected_us is not None:
        return found.expected_us
    return 0.0 if found.start_us is None or found.finish_us is None else found.finish_us - found.start_us


def _who_waited(
    result: ResultTables, record: ExplainRecord, job: int, units: dict[str, np.ndarray]
) -> tuple[Waiting, TaskDemand, int, float]:
    """Return the task of the job that started last and the basics of its wait, its demand, its type's code, and the end
    of its wait, us."""
    task, task_type, arrival_us, eligible_us, init_us, finish_us = result.rows(_TASK, {"job": job})[0]
    _, gone_us = StoredColumns(result).given_up(task, task + 1)
    given_up_us = float(gone_us[0]) if init_us is None and len(gone_us) else None
    is_dropped = given_up_us is not None and _value(result, "task", task, "dropped_us") is not None
    until_us = init_us
    if init_us is None:
        ends_us = max(float(result.summary["makespan_us"]), arrival_us)
        until_us = ends_us if given_up_us is None else given_up_us
    own = result.rows(_OWN, {"task": task})
    n_lost = max((n for n, run in enumerate(own, 1) if run[3] in LOSSES), default=0)
    lost_runs, started = [LostRun(*run) for run in own[:n_lost]], own[n_lost:]
    unit = started[0][0] if started else None
    waits = [] if eligible_us is None else _waits(eligible_us, until_us, lost_runs)
    demands = demand_of_task(record, task, task_type)
    demand = demands.demand
    found = Waiting(
        job=job,
        job_id=_value(result, "job", job, "job_id"),
        expected_us=_expected(record, task),
        start_date=result.summary["provenance"].get("start_date"),
        task=task,
        n_tasks=_value(result, "job", job, "tasks"),
        task_type=record.task_types[task_type],
        demand="one slot" if math.isnan(demand) else "whole" if math.isinf(demand) else demand,
        n_units=demands.n_units,
        lead_types=demands.lead_types,
        companions=demands.companions,
        requests={name: float(values[task]) for name, values in record.requests.items() if values[task] > 0},
        partition=None if (one := partition_of_task(record, task)) is None else one.name,
        arrival_us=arrival_us,
        after=record.after.get(job, []),
        eligible_us=eligible_us,
        start_us=init_us,
        finish_us=finish_us,
        waited_us=sum(end - begin for begin, end in waits),
        is_withdrawn=given_up_us is not None and not is_dropped,
        is_dropped=is_dropped,
        unit=unit,
        unit_type=None if unit is None else record.processor_types[units["unit_type"][unit]],
        rack=None if unit is None else int(units["rack"][unit]),
        shelf=None if unit is None else int(units["shelf"][unit]),
        moves=max(0, len(started) - 1),
        lost_runs=lost_runs,
        cut_off=LostRun(*own[-1]) if started and own[-1][3] in TERMINAL else None,
        policy=str(result.summary["provenance"]["policy"]),
        exit_reason=str(result.summary["exit_reason"]),
        waits=waits,
    )
    return found, demands, task_type, until_us


def _value(result: ResultTables, key: str, number: int, column: str) -> Any:
    """Return a value of a job or task (``key``); None if it is missing, or the run has no such column."""
    query = f"SELECT {column} FROM {key}s WHERE {key} = $number"  # noqa: S608
    return result.rows(query, {"number": number})[0][0] if result.has(f"{key}s", column) else None


def _expected(record: ExplainRecord, task: int) -> float | None:
    expected_us = math.nan if record.expected_us is None else float(record.expected_us[task])
    return None if math.isnan(expected_us) else expected_us


def _members(result: ResultTables, record: ExplainRecord, found: Waiting, task_type: int) -> list[TaskDemand]:
    """Return the demands of the tasks of the job that started together with it; if it never started, of those that
    never did."""
    rows = result.rows(_GANG, {"job": found.job, "init_us": found.start_us})
    return [demand_of_task(record, int(other), task_type) for (other,) in rows]


def _others_on_units(result: ResultTables, found: Waiting, until_us: float) -> list[tuple[Any, ...]]:
    """Return what was on units while it waited, without the tasks that started with it: they took no place from it."""
    end_us = float(result.summary["makespan_us"])
    window = {"task": found.task, "since_us": found.since_us, "until_us": until_us, "end_us": end_us}
    rows = result.rows(_ON_UNITS, window)
    return rows if found.gang is None else [row for row in rows if row[1] != found.job or row[3] < until_us]


def _allowed_places(
    record: ExplainRecord,
    found: Waiting,
    demands: TaskDemand,
    units: dict[str, np.ndarray],
    is_allowed: np.ndarray,
    changes: Changes,
) -> list[Place]:
    """Return the places that its partition and node list allow, in their state before all changes."""
    kinds = [kind.name for kind in found.types if kind.is_lead or not found.on_nodes]
    every = places_for(demands, kinds, record.processor_types, units, changes, found.on_nodes)
    if is_allowed.all():
        return every
    nodes = set(zip(units["rack"][is_allowed].tolist(), units["shelf"][is_allowed].tolist(), strict=True))
    return [place for place in every if (place.rack, place.shelf) in nodes]


def _is_usable(place: Place, kind: TypeOfUnit) -> bool:
    return kind.is_lead and place.fits and not kind.lacks


def _note_openings(found: Waiting, places: list[Place], until_us: float) -> None:
    """Record when places had room for it, in total and by type."""
    by_name, arrival_us = {kind.name: kind for kind in found.types}, found.since_us
    free: dict[str, list[tuple[float, float]]] = {}
    for place in places:
        kind = by_name[place.unit_type]
        kind.can_run |= kind.is_lead and place.fits
        is_named = _is_usable(place, kind)
        for opening in openings(place, found.task, arrival_us, until_us):
            if opening.free_us <= arrival_us and (opening.taken_us is None or opening.taken_us > arrival_us):
                kind.free_at_arrival += 1
            part, free_us = during(opening, found.waits)
            if part is not None:
                count_opening(kind, part, free_us)
                found.openings += [part] * is_named
                free.setdefault(kind.name, []).append((part.free_us, part.end_us))
    for name, times in free.items():
        count_free(by_name[name], times, found.waits)
    found.openings.sort(key=lambda opening: (opening.free_us, opening.unit))


def _usable(found: Waiting, places: list[Place]) -> list[Place]:
    """Return the places that can run it and meet its requests."""
    by_name = {kind.name: kind for kind in found.types}
    return [place for place in places if _is_usable(place, by_name[place.unit_type])]


def _note_shortages(found: Waiting, usable: list[Place], until_us: float) -> None:
    """Record what usable places lacked while it waited; for a gang, for how many of its tasks there was room."""
    if found.gang is not None:
        found.gang_rooms = _during(gang_rooms(usable, found.gang, found.since_us, until_us), found.waits)
        found.spans = room_spans(found.gang_rooms, found.gang) if usable else []
        return
    found.fragmentation, lack, found.spans = shortages(usable, found.waits)
    found.shortage = lack if found.holds_several else None


def _places(result: ResultTables, found: Waiting) -> dict[str, str]:
    """Return the names of the nodes that an explanation mentions, by "rack/shelf"."""
    names = result.place_names
    if not (names.nodes or names.racks):
        return {}
    at = {(opening.rack, opening.shelf) for opening in found.openings}
    at |= {(rack, shelf) for room in found.gang_rooms for rack, shelf, _ in room.nodes}
    if found.rack is not None and found.shelf is not None:
        at.add((found.rack, found.shelf))
    return {f"{rack}/{shelf}": names.node(rack, shelf) for rack, shelf in sorted(at)}


def _job_ids(result: ResultTables, found: Waiting) -> dict[int, int]:
    """Return the original ids of the jobs that an explanation mentions, by job; empty if jobs have none."""
    if not result.has("jobs", "job_id"):
        return {}
    named = [job for one in found.openings for job in (one.freed_by, one.taken_by) if job is not None]
    named += found.after + [one.job for one in found.blockers] + [job for wait in found.quotas for job in wait.jobs]
    named += [job for run in found.lost_runs for job in run.for_jobs]
    rows = result.rows("SELECT job, job_id FROM jobs WHERE list_contains($jobs, job)", {"jobs": sorted(set(named))})
    return dict(rows)


def _gang(demands: TaskDemand, members: list[TaskDemand]) -> Gang | None:
    """Return the gang of the waiting task; None if it starts by itself."""
    if demands.within == NO_GANG or len(members) == 1:
        return None
    is_alike = all(repr(member) == repr(demands) for member in members)  # a demand may be NaN
    return Gang(len(members), WITHIN[demands.within], demands.per_node or len(members), is_alike, demands.n_nodes)


def _waits(eligible_us: float, until_us: float, lost_runs: list[LostRun]) -> list[tuple[float, float]]:
    """Return the start and end of each interval of waiting: before, between and after the lost runs."""
    edges = [eligible_us, *(edge for run in lost_runs for edge in (run.begin_us, run.end_us)), until_us]
    return [(begin, end) for begin, end in zip(edges[::2], edges[1::2], strict=True) if end > begin]


def _during(found: list[Piece], waits: list[tuple[float, float]]) -> list[Piece]:
    """Cut what was found to the intervals in which the task waited."""
    pieces = [(one, max(one.begin_us, begin), min(one.end_us, end)) for one in found for begin, end in waits]
    return [replace(one, begin_us=begin, end_us=end) for one, begin, end in pieces if end > begin]
