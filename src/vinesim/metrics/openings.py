"""Find when units had room for a waiting task, and when there was room in total but on no single unit."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from vinesim.state.layout import FULL, OVERFULL

DOWN, LEAVES, COMES, COMES_AND_LEAVES = -1, 0, 1, 2  # the order of simultaneous changes of a unit


class Change(NamedTuple):
    """A change of a unit: a task comes or leaves, or its node goes down or comes up."""

    time_us: float
    order: int
    task: int  # -1: the node
    job: int
    amount: float  # change of the load
    down: int  # 1: it goes down, -1: it comes up


@dataclass(frozen=True)
class Opening:
    """A time from ``free_us`` on when a unit had room for the task, until another task took it or the wait was over."""

    unit: int
    unit_type: str
    free_us: float
    freed_by: int | None  # job; None: it was free before, or its node came up
    taken_us: float | None  # None: it was free until the wait was over
    taken_by: int | None  # job; None: its node went down
    by_older: bool | None  # whether the job that took it arrived earlier; None: not another job


@dataclass(frozen=True)
class Fragmentation:
    """A time when there was room enough for the task in total, on units that can run it, but on no single one."""

    time_us: float  # how long this lasted
    at_us: float  # when the total room was largest
    room: float  # the total room then
    units: int  # units with any room then
    largest: float  # the most room on one of them then
    needed: float  # the least that the task takes of any of them


@dataclass
class UnitRoom:
    """A unit as the waiting task sees it."""

    unit: int
    unit_type: str
    capacity: float
    needed: float  # what the task takes of it
    changes: list[Change]
    load: float = 0.0
    n_down: int = 0

    def apply(self, change: Change) -> None:
        """Apply the change."""
        self.load += change.amount
        self.n_down += change.down

    @property
    def has_room(self) -> bool:
        """Whether the task could start on it, by the engine's rule."""
        is_full = self.n_down > 0 or self.load >= self.capacity * FULL
        return not is_full and self.load + self.needed <= self.capacity * OVERFULL

    @property
    def room(self) -> float:
        """The capacity that is left."""
        return 0.0 if self.n_down else max(0.0, self.capacity - self.load)


@dataclass
class Changes:
    """The changes of all units, by unit."""

    of_unit: dict[int, list[Change]] = field(default_factory=lambda: defaultdict(list))

    def add_tasks(self, rows: Iterable[Sequence[float]]) -> None:
        """Add rows of (task, job, unit, begin, end, amount)."""
        for task, job, unit, begin_us, end_us, amount in rows:
            if amount > 0:
                last = LEAVES if end_us > begin_us else COMES_AND_LEAVES
                here = self.of_unit[int(unit)]
                here.append(Change(begin_us, COMES, int(task), int(job), amount, 0))
                here.append(Change(end_us, last, int(task), int(job), -amount, 0))

    def add_outages(self, outages: Mapping[int, Iterable[tuple[float, float]]]) -> None:
        """Add the times during which the node of each unit is down."""
        for unit, times in outages.items():
            for down_us, up_us in times:
                self.of_unit[unit].append(Change(down_us, DOWN, -1, -1, 0.0, 1))
                self.of_unit[unit].append(Change(up_us, LEAVES, -1, -1, 0.0, -1))


def openings(unit: UnitRoom, task: int, since_us: float, until_us: float) -> Iterator[Opening]:
    """Yield the times when a unit had room for the waiting task."""
    free_us, freed_by = (since_us if unit.has_room else None), None
    for change in sorted(unit.changes):
        if change.time_us > until_us:
            break
        unit.apply(change)
        if unit.has_room and free_us is None:
            is_freed = change.time_us >= since_us and change.task >= 0
            free_us, freed_by = max(change.time_us, since_us), change.job if is_freed else None
        elif not unit.has_room and free_us is not None:
            is_for_a_while = change.task >= 0 or change.time_us > free_us  # a unit that goes down at once had no room
            if change.time_us >= since_us and is_for_a_while:
                taken_by = None if change.task < 0 else change.job
                by_older = None if change.task in (-1, task) else change.task < task
                yield Opening(unit.unit, unit.unit_type, free_us, freed_by, change.time_us, taken_by, by_older)
            free_us = None
    if free_us is not None:
        yield Opening(unit.unit, unit.unit_type, free_us, freed_by, None, None, None)


def fragmentation(units: Sequence[UnitRoom], since_us: float, until_us: float) -> Fragmentation | None:
    """Return when the units had room in total but none of them alone, while the task waited; None if never.

    ``units`` are those that can run the task, in their state before all changes.
    """
    needed = min((unit.needed for unit in units), default=0.0)
    if needed <= 0.0:
        return None
    place = {unit.unit: unit for unit in units}
    n_open, room = sum(unit.has_room for unit in units), sum(unit.room for unit in units)
    time_us, best, now_us = 0.0, (0.0, 0.0, 0, 0.0), since_us
    every = sorted((change, unit.unit) for unit in units for change in unit.changes)
    for change, number in [*every, (Change(until_us, LEAVES, -1, -1, 0.0, 0), -1)]:
        end_us = min(max(change.time_us, since_us), until_us)
        if end_us > now_us:
            if not n_open and room >= needed * FULL:
                time_us += end_us - now_us
                if room > best[0] * OVERFULL:
                    rooms = [unit.room for unit in units if unit.room > unit.capacity * (1.0 - FULL)]
                    best = (room, now_us, len(rooms), max(rooms))
            now_us = end_us
        if change.time_us > until_us or number < 0:
            break
        unit = place[number]
        n_open, room = n_open - unit.has_room, room - unit.room
        unit.apply(change)
        n_open, room = n_open + unit.has_room, room + unit.room
    most, at_us, n_units, largest = best
    return Fragmentation(time_us, at_us, most, n_units, largest, needed) if time_us > 0.0 else None
