"""Explain why a task waited: which units could have run it, what was on them, and who took them when they were free."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from vinesim.formats.results.explain_record import ExplainRecord, read_record
from vinesim.formats.results.tables import ResultTables, open_result
from vinesim.metrics.openings import Changes, Fragmentation, Opening, UnitRoom, fragmentation, openings
from vinesim.model.arrays import distinct
from vinesim.model.errors import InputError, Problem
from vinesim.state.demand import amount_of
from vinesim.state.layout import OVERFULL

_TASK = """
SELECT task, task_type, arrival_us, init_us, finish_us FROM tasks WHERE job = $job
ORDER BY init_us IS NULL DESC, init_us DESC, task DESC LIMIT 1
"""
_OWN = "SELECT unit, begin_us, end_us, outcome FROM held WHERE task = $task ORDER BY begin_us"
_ON_UNITS = """
SELECT held.task, tasks.job, held.unit, held.begin_us, coalesce(held.end_us, $end_us) AS end_us, held.amount
FROM held JOIN tasks USING (task)
WHERE (held.task <> $task OR held.begin_us < $until_us)
    AND held.begin_us <= $until_us AND coalesce(held.end_us, $end_us) >= $since_us
"""


@dataclass(frozen=True)
class LostRun:
    """A run of the waiting task that was ended by an outage."""

    unit: int
    begin_us: float
    end_us: float


@dataclass
class TypeOfUnit:
    """The units of one processor type, as seen by the waiting task."""

    name: str
    units: int
    can_run: bool  # it has an affinity above 0, and its capacity is at least what the task takes
    has_affinity: bool
    capacity: float
    takes: float  # what the task takes of one of them
    lacks: list[str]  # requests that it does not meet, such as "cores 12 > 6"
    free_at_arrival: int = 0
    first_free_us: float | None = None  # when one of them first had room for the task, from its arrival on
    busy_until_us: float | None = None  # if none had room while it waited: when the first of them finishes a task
    free_unit_us: float = 0.0  # how long they had room while it waited, summed over the units
    down_unit_us: float = 0.0  # how long their nodes were down while it waited, summed over the units
    taken_by_older: int = 0
    taken_by_younger: int = 0


@dataclass
class Waiting:
    """The wait of one task of a job: the one that started last."""

    job: int
    task: int
    n_tasks: int  # of the job
    task_type: str
    demand: float | str  # a number, "one slot" or "whole"
    requests: dict[str, float]
    arrival_us: float
    start_us: float | None  # None: it never started
    finish_us: float | None
    waited_us: float  # until it started, or until the run ended
    unit: int | None  # on which it started
    unit_type: str | None
    rack: int | None
    shelf: int | None
    moves: int  # to other units after its start
    lost_runs: list[LostRun]  # ended by outages before the start above
    policy: str
    exit_reason: str
    types: list[TypeOfUnit] = field(default_factory=list)
    openings: list[Opening] = field(default_factory=list)  # of units that can run it and meet its requests, by time
    fragmentation: Fragmentation | None = None  # of the same units


def waiting_of(folder: str | Path, job: int) -> Waiting:
    """Explain why a job of a recorded run waited. Raises :class:`InputError` if the job or the record does not
    exist."""
    with open_result(folder) as result:
        record = read_record(Path(folder))
        n_jobs = int(result.rows("SELECT count(*) FROM jobs")[0][0])
        if not 0 <= job < n_jobs:
            raise InputError([Problem("--job", f"a job of the run, 0 to {n_jobs - 1}", str(job))])
        return _waiting(result, record, job)


def _waiting(result: ResultTables, record: ExplainRecord, job: int) -> Waiting:
    task, task_type, arrival_us, init_us, finish_us = result.rows(_TASK, {"job": job})[0]
    units = result.columns("SELECT unit_type, rack, shelf, capacity FROM units ORDER BY unit")
    end_us = float(result.summary["makespan_us"])
    until_us = max(end_us, arrival_us) if init_us is None else init_us
    own = result.rows(_OWN, {"task": task})
    started = [unit for unit, begin_us, _, _ in own if init_us is not None and begin_us >= init_us]
    unit = started[0] if started else None
    demand = float(record.demand[task])
    found = Waiting(
        job=job,
        task=task,
        n_tasks=int(result.rows("SELECT tasks FROM jobs WHERE job = $job", {"job": job})[0][0]),
        task_type=record.task_types[task_type],
        demand="one slot" if math.isnan(demand) else "whole" if math.isinf(demand) else demand,
        requests={name: float(values[task]) for name, values in record.requests.items() if values[task] > 0},
        arrival_us=arrival_us,
        start_us=init_us,
        finish_us=finish_us,
        waited_us=until_us - arrival_us,
        unit=unit,
        unit_type=None if unit is None else record.processor_types[units["unit_type"][unit]],
        rack=None if unit is None else int(units["rack"][unit]),
        shelf=None if unit is None else int(units["shelf"][unit]),
        moves=max(0, len(started) - 1),
        lost_runs=[LostRun(where, begin, end) for where, begin, end, outcome in own if outcome == "interrupted"],
        policy=str(result.summary["provenance"]["policy"]),
        exit_reason=str(result.summary["exit_reason"]),
    )
    window = {"task": task, "since_us": arrival_us, "until_us": until_us, "end_us": end_us}
    on_units = result.rows(_ON_UNITS, window)
    down = record.outages_of(units["rack"], units["shelf"])
    by_code = {int(code): _type(record, found, task_type, demand, int(code), units) for code in _codes(units)}
    found.types = list(by_code.values())

    def rooms() -> Iterator[UnitRoom]:
        """Yield the units in their state before all changes."""
        changes = Changes()
        changes.add_tasks(on_units)
        changes.add_outages(down)
        for number, code in enumerate(units["unit_type"].tolist()):
            kind = by_code[code]
            yield UnitRoom(number, kind.name, kind.capacity, kind.takes, changes.of_unit[number])

    by_name = {kind.name: kind for kind in found.types}
    for room in rooms():
        kind = by_name[room.unit_type]
        for opening in openings(room, task, arrival_us, until_us):
            _count(kind, opening, arrival_us, until_us)
            if _is_usable(kind):
                found.openings.append(opening)
    found.openings.sort(key=lambda opening: (opening.free_us, opening.unit))
    usable = [room for room in rooms() if _is_usable(by_name[room.unit_type])]
    found.fragmentation = fragmentation(usable, arrival_us, until_us)
    for _, _, at, _, end, _ in on_units:
        kind = by_code[int(units["unit_type"][at])]
        if kind.first_free_us is None:
            kind.busy_until_us = end if kind.busy_until_us is None else min(kind.busy_until_us, end)
    for number, times in down.items():
        kind = by_code[int(units["unit_type"][number])]
        kind.down_unit_us += sum(max(0.0, min(up, until_us) - max(begin, arrival_us)) for begin, up in times)
    return found


def _codes(units: dict[str, np.ndarray]) -> np.ndarray:
    return distinct(units["unit_type"])


def _is_usable(kind: TypeOfUnit) -> bool:
    return kind.can_run and not kind.lacks


def _type(
    record: ExplainRecord, found: Waiting, task_type: int, demand: float, code: int, units: dict[str, np.ndarray]
) -> TypeOfUnit:
    has_affinity, capacity = bool(record.affinity[code, task_type] > 0), record.capacity[code]
    takes = amount_of(demand, capacity)
    return TypeOfUnit(
        name=record.processor_types[code],
        units=int((units["unit_type"] == code).sum()),
        can_run=has_affinity and takes <= capacity * OVERFULL,
        has_affinity=has_affinity,
        capacity=capacity,
        takes=takes,
        lacks=_lacking(found.requests, record.attributes[code]),
    )


def _lacking(requests: dict[str, float], provided: dict[str, float]) -> list[str]:
    short = [(name, wanted) for name, wanted in requests.items() if wanted > provided.get(name, np.inf)]
    return [f"{name} {wanted:g} > {provided[name]:g}" for name, wanted in short]


def _count(kind: TypeOfUnit, opening: Opening, arrival_us: float, until_us: float) -> None:
    if opening.free_us <= arrival_us and (opening.taken_us is None or opening.taken_us > arrival_us):
        kind.free_at_arrival += 1
    kind.first_free_us = opening.free_us if kind.first_free_us is None else min(kind.first_free_us, opening.free_us)
    kind.free_unit_us += (until_us if opening.taken_us is None else opening.taken_us) - opening.free_us
    kind.taken_by_older += opening.by_older is True
    kind.taken_by_younger += opening.by_older is False
