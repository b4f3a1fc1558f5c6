"""Why a task waited: which units could have run it, what was on them, and who took them when they became free."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.formats.explain_record import ExplainRecord, read_record
from vinesim.formats.result_tables import ResultTables, open_result
from vinesim.model.errors import InputError, Problem

FULL = 1.0 + 1e-9  # of a capacity: demands such as 0.1 do not add up exactly

_TASK = """
SELECT task, job, task_type, unit, arrival_us, init_us, finish_us FROM tasks WHERE job = $job
ORDER BY init_us IS NULL DESC, init_us DESC, task DESC LIMIT 1
"""
_ON_UNITS = """
SELECT task, job, unit, init_us, coalesce(finish_us, $end_us) AS finish_us FROM tasks
WHERE unit >= 0 AND task <> $task AND init_us <= $until_us AND coalesce(finish_us, $end_us) >= $since_us
"""


@dataclass(frozen=True)
class Opening:
    """A unit had room for the task from ``free_us`` on, until another task took it or the wait was over."""

    unit: int
    unit_type: str
    free_us: float
    freed_by: int | None  # job; None: it was free before
    taken_us: float | None  # None: it was free until the wait was over
    taken_by: int | None  # job
    by_older: bool | None  # the job that took it had arrived earlier


@dataclass
class TypeOfUnit:
    """The units of one processor type, as seen by the waiting task."""

    name: str
    units: int
    can_run: bool  # its affinity to the task is above 0
    lacks: list[str]  # requests that it does not meet, as "cores 12 > 6"
    free_at_arrival: int = 0
    first_free_us: float | None = None  # when one of them first had room for the task, from its arrival on
    busy_until_us: float | None = None  # if none had room while it waited: when the first of them ends its work
    free_unit_us: float = 0.0  # time for which they had room while it waited, added up over the units
    taken_by_older: int = 0
    taken_by_younger: int = 0


@dataclass
class Waiting:
    """The wait of one task of a job: the one that started last."""

    job: int
    task: int
    n_tasks: int  # of the job
    task_type: str
    demand: float  # 0 = the whole unit
    requests: dict[str, float]
    arrival_us: float
    start_us: float | None  # None: it never started
    finish_us: float | None
    waited_us: float  # until it started, or until the run ended
    unit: int | None
    unit_type: str | None
    rack: int | None
    shelf: int | None
    policy: str
    exit_reason: str
    types: list[TypeOfUnit] = field(default_factory=list)
    openings: list[Opening] = field(default_factory=list)  # of units that can run it and meet its requests, by time


def waiting_of(folder: str | Path, job: int) -> Waiting:
    """Why a job of a recorded run waited. Raises :class:`InputError` for a job or a record that is not there."""
    with open_result(folder) as result:
        record = read_record(Path(folder))
        n_jobs = int(result.rows("SELECT count(*) FROM jobs")[0][0])
        if not 0 <= job < n_jobs:
            raise InputError([Problem("--job", f"a job of the run, 0 to {n_jobs - 1}", str(job))])
        return _waiting(result, record, job)


def _waiting(result: ResultTables, record: ExplainRecord, job: int) -> Waiting:
    task, _, task_type, unit, arrival_us, init_us, finish_us = result.rows(_TASK, {"job": job})[0]
    units = result.columns("SELECT unit_type, rack, shelf FROM units ORDER BY unit")
    end_us = float(result.summary["makespan_us"])
    until_us = max(end_us, arrival_us) if init_us is None else init_us
    unit_type = None if unit < 0 else int(units["unit_type"][unit])
    found = Waiting(
        job=job,
        task=task,
        n_tasks=int(result.rows("SELECT tasks FROM jobs WHERE job = $job", {"job": job})[0][0]),
        task_type=record.task_types[task_type],
        demand=float(record.demand[task]),
        requests={name: float(values[task]) for name, values in record.requests.items() if values[task] > 0},
        arrival_us=arrival_us,
        start_us=init_us,
        finish_us=finish_us,
        waited_us=until_us - arrival_us,
        unit=None if unit < 0 else unit,
        unit_type=None if unit_type is None else record.processor_types[unit_type],
        rack=None if unit_type is None else int(units["rack"][unit]),
        shelf=None if unit_type is None else int(units["shelf"][unit]),
        policy=str(result.summary["provenance"]["policy"]),
        exit_reason=str(result.summary["exit_reason"]),
    )
    window = {"task": task, "since_us": arrival_us, "until_us": until_us, "end_us": end_us}
    on_units = result.rows(_ON_UNITS, window)
    by_type = {
        int(code): TypeOfUnit(
            record.processor_types[code],
            int((units["unit_type"] == code).sum()),
            bool(record.affinity[code, task_type] > 0),
            _lacking(found.requests, record.attributes[code]),
        )
        for code in np.unique(units["unit_type"])
    }
    found.types = list(by_type.values())
    by_name = {kind.name: kind for kind in found.types}
    for opening in _openings(record, units["unit_type"], task, arrival_us, until_us, on_units):
        kind = by_name[opening.unit_type]
        _count(kind, opening, arrival_us, until_us)
        if kind.can_run and not kind.lacks:
            found.openings.append(opening)
    found.openings.sort(key=lambda opening: (opening.free_us, opening.unit))
    for _, _, at, _, end in on_units:
        kind = by_type[int(units["unit_type"][at])]
        if kind.first_free_us is None:
            kind.busy_until_us = end if kind.busy_until_us is None else min(kind.busy_until_us, end)
    return found


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


def _openings(
    record: ExplainRecord,
    unit_type: np.ndarray,
    task: int,
    arrival_us: float,
    until_us: float,
    on_units: list[tuple[Any, ...]],
) -> Iterator[Opening]:
    """The times at which each unit had room for the task while it waited."""
    capacity = np.array(record.capacity)
    changes: dict[int, list[tuple[float, int, int, int, float]]] = defaultdict(list)
    for other, job, unit, init_us, finish_us in on_units:
        if not record.is_follower[other]:
            amount = float(record.demand[other]) or float(capacity[unit_type[unit]])
            changes[unit].append((finish_us, 0 if finish_us > init_us else 2, other, job, -amount))
            changes[unit].append((init_us, 1, other, job, amount))
    for unit, code in enumerate(unit_type.tolist()):
        name = record.processor_types[code]
        limit = capacity[code] * FULL - (float(record.demand[task]) or float(capacity[code]))
        load, freed_by = 0.0, None
        free_us = arrival_us if limit >= 0 else None
        for time_us, _, other, job, amount in sorted(changes[unit]):
            if time_us > until_us:
                break
            load += amount
            has_room = load <= limit
            if has_room and free_us is None:
                free_us, freed_by = max(time_us, arrival_us), job if time_us >= arrival_us else None
            elif not has_room and free_us is not None:
                if time_us >= arrival_us:
                    yield Opening(unit, name, free_us, freed_by, time_us, job, other < task)
                free_us = None
        if free_us is not None:
            yield Opening(unit, name, free_us, freed_by, None, None, None)
