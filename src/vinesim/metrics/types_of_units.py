"""What the units of each processor type offered to a waiting task."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vinesim.formats.results.explain_record import ExplainRecord
from vinesim.metrics.openings import Opening
from vinesim.metrics.places import TaskDemand
from vinesim.model.arrays import distinct
from vinesim.state.demand import amount_of


@dataclass
class TypeOfUnit:
    """The units of one processor type that the waiting task's partition and node list allow."""

    name: str
    units: int  # 0: the task's partition or node list has none
    can_run: bool  # the task could start on one of them if nothing else ran, whatever it requests
    has_affinity: bool  # above 0
    is_asked_for: bool  # the task asks to run on this type
    companion: float  # what the task holds of one of them as a companion; 0: nothing
    capacity: float  # of the largest unit
    takes: float  # what the task takes of the largest unit if it runs there
    lacks: list[str]  # requests that the type does not meet, such as "cores 12 > 6"
    free_at_arrival: int = 0
    first_free_us: float | None = None  # when one of them first had room for the task, from its arrival on
    busy_until_us: float | None = None  # if none had room while it waited: when the first of them finishes a task
    free_unit_us: float = 0.0  # how long they had room while it waited, summed over the units
    free_us: float = 0.0  # how long any of them had room while it waited
    down_unit_us: float = 0.0  # how long their nodes were down while it waited, summed over the units
    taken_by_older: int = 0
    taken_by_younger: int = 0

    @property
    def is_lead(self) -> bool:
        """Whether the task may run on the type, provided that a unit is large enough."""
        return self.has_affinity and self.is_asked_for and not self.companion


def types_of(
    record: ExplainRecord,
    demands: TaskDemand,
    task_type: int,
    requests: dict[str, float],
    units: dict[str, np.ndarray],
    is_allowed: np.ndarray,
) -> dict[int, TypeOfUnit]:
    """Return the types of the units by code, all counts 0. ``is_allowed`` [U] marks the units that the task may use."""
    codes = distinct(units["unit_type"]).tolist()
    return {code: _type(record, demands, task_type, requests, code, units, is_allowed) for code in codes}


def _type(
    record: ExplainRecord,
    demands: TaskDemand,
    task_type: int,
    requests: dict[str, float],
    code: int,
    units: dict[str, np.ndarray],
    is_allowed: np.ndarray,
) -> TypeOfUnit:
    name, every = record.processor_types[code], units["unit_type"] == code
    mine = every & is_allowed
    capacity = float(units["capacity"][mine if mine.any() else every].max())
    return TypeOfUnit(
        name=name,
        units=int(mine.sum()),
        can_run=False,
        has_affinity=bool(record.affinity[code, task_type] > 0),
        is_asked_for=not demands.lead_types or name in demands.lead_types,
        companion=demands.companions.get(name, 0.0),
        capacity=capacity,
        takes=amount_of(demands.demand, capacity),
        lacks=lacking(requests, record.attributes[code]),
    )


def lacking(requests: dict[str, float], provided: dict[str, float]) -> list[str]:
    """Return the requests that are not met, such as ``cores 12 > 6``."""
    short = [(name, wanted) for name, wanted in requests.items() if wanted > provided.get(name, np.inf)]
    return [f"{name} {wanted:g} > {provided[name]:g}" for name, wanted in short]


def count_opening(kind: TypeOfUnit, opening: Opening, free_us: float) -> None:
    """Add an opening, cut to the time in which the task waited, and how long the unit had room in it, us."""
    kind.first_free_us = opening.free_us if kind.first_free_us is None else min(kind.first_free_us, opening.free_us)
    kind.free_unit_us += free_us
    kind.taken_by_older += opening.by_older is True
    kind.taken_by_younger += opening.by_older is False


def count_free(kind: TypeOfUnit, openings: Iterable[tuple[float, float]], waits: Sequence[tuple[float, float]]) -> None:
    """Set for how long any unit of a type had room while the task waited."""
    done_us = -np.inf
    for begin_us, end_us in sorted(openings):
        first = max(begin_us, done_us)
        kind.free_us += sum(max(0.0, min(end_us, end) - max(first, begin)) for begin, end in waits)
        done_us = max(done_us, end_us)


def note_busy(by_code: dict[int, TypeOfUnit], unit_type: np.ndarray, on_units: list[tuple[Any, ...]]) -> None:
    """Set until when types that never had room were busy: until the first of their tasks ends."""
    for _, _, at, _, end_us, _ in on_units:
        kind = by_code[int(unit_type[at])]
        if kind.first_free_us is None:
            kind.busy_until_us = end_us if kind.busy_until_us is None else min(kind.busy_until_us, end_us)


def count_down(
    by_code: dict[int, TypeOfUnit],
    unit_type: np.ndarray,
    down: dict[int, list[tuple[float, float]]],
    waits: list[tuple[float, float]],
) -> None:
    """Add up how long units of each type were down while the task waited."""
    for number, times in down.items():
        by_code[int(unit_type[number])].down_unit_us += sum(
            max(0.0, min(up_us, end) - max(down_us, begin)) for down_us, up_us in times for begin, end in waits
        )
