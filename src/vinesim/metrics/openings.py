"""Find when there was room for a waiting task, on a unit or on a node."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from vinesim.state.layout import FULL, OVERFULL

DOWN, LEAVES, COMES, COMES_AND_LEAVES = -1, 0, 1, 2  # the order of simultaneous changes of a unit


class Change(NamedTuple):
    """A change of a unit: a task starts or ends there, or its node goes down or comes up."""

    time_us: float
    order: int
    task: int  # -1: the node
    job: int
    amount: float  # change of the load
    down: int  # 1: it goes down, -1: it comes up


@dataclass(frozen=True)
class Opening:
    """An interval, ``free_us`` to ``end_us``, in which a place had room for the waiting task.

    It ends when another task takes the room or the wait is over. A preempted or interrupted task waits several times.
    """

    unit: int  # the first unit of the place that could run the task
    unit_type: str
    rack: int
    shelf: int
    free_us: float
    freed_by: int | None  # the job that left; None: it was free before, or its node came up
    end_us: float
    taken_us: float | None  # None: it was free until a wait of the task was over
    taken_by: int | None  # the job that took the room; None: its node went down
    by_older: bool | None  # whether the job that took it arrived earlier; None: not another job


@dataclass
class UnitRoom:
    """A unit and what is left of it for the waiting task."""

    unit: int
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
    def fits(self) -> bool:
        """Whether the task could start on it if nothing else did."""
        return self.needed <= self.capacity * OVERFULL

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
class Place:
    """A place where the waiting task could start: one unit, or the units of one node that it would hold.

    ``parts`` are the candidate units: first those of the lead, of which the task holds ``n_units``, then those of each
    companion, of which it holds one.
    """

    unit_type: str  # of the lead
    rack: int
    shelf: int
    n_units: int
    parts: list[list[UnitRoom]]  # the units of the lead's type, and of each companion's

    @property
    def unit(self) -> int:
        """The first unit of the lead."""
        return self.parts[0][0].unit

    @property
    def changes(self) -> list[tuple[Change, UnitRoom]]:
        """The changes of all units."""
        return [(change, unit) for units in self.parts for unit in units for change in unit.changes]

    @property
    def fits(self) -> bool:
        """Whether the task could start there if nothing else did."""
        return all(sum(unit.fits for unit in self.parts[c]) >= self.wanted(c) for c in range(len(self.parts)))

    @property
    def has_room(self) -> bool:
        """Whether the task could start there."""
        return all(self.has_part(c) for c in range(len(self.parts)))

    def wanted(self, part: int) -> int:
        """Return how many units of a part the task holds."""
        return 1 if part else self.n_units

    def has_part(self, part: int) -> bool:
        """Whether enough units of a part have room."""
        return sum(unit.has_room for unit in self.parts[part]) >= self.wanted(part)


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


def openings(place: Place, task: int, since_us: float, until_us: float) -> Iterator[Opening]:
    """Yield the times when a place had room for the waiting task."""
    where = (place.unit, place.unit_type, place.rack, place.shelf)
    free_us, freed_by = (since_us if place.has_room else None), None
    for change, unit in sorted(place.changes, key=lambda found: (found[0], found[1].unit)):
        if change.time_us > until_us:
            break
        unit.apply(change)
        if place.has_room and free_us is None:
            is_freed = change.time_us >= since_us and change.task >= 0
            free_us, freed_by = max(change.time_us, since_us), change.job if is_freed else None
        elif free_us is not None and not place.has_room:
            is_for_a_while = change.task >= 0 or change.time_us > free_us  # a unit that goes down at once had no room
            if change.time_us >= since_us and is_for_a_while:
                taken_by = None if change.task < 0 else change.job
                by_older = None if change.task in (-1, task) else change.task < task
                yield Opening(*where, free_us, freed_by, change.time_us, change.time_us, taken_by, by_older)
            free_us = None
    if free_us is not None:
        yield Opening(*where, free_us, freed_by, until_us, None, None, None)


def during(opening: Opening, waits: Sequence[tuple[float, float]]) -> tuple[Opening | None, float]:
    """Cut an opening to the time in which the task waited; also return how long the place was free in that time, us.

    The opening is None if the task was on a unit throughout and did not take the place itself. ``waits`` are the start
    and end of each interval in which it waited.
    """
    end_us = opening.end_us
    meets = [(begin, end) for begin, end in waits if begin <= end_us and opening.free_us <= end]
    meets = [wait for wait in meets if wait[0] < end_us or opening.free_us == end_us]
    if not meets:
        is_own = opening.by_older is None and opening.taken_by is not None
        return (opening if is_own else None), 0.0
    free_us = sum(min(end, end_us) - max(begin, opening.free_us) for begin, end in meets)
    if opening.free_us < meets[0][0]:
        opening = replace(opening, free_us=meets[0][0], freed_by=None)
    if end_us > meets[-1][1]:
        opening = replace(opening, end_us=meets[-1][1], taken_us=None, taken_by=None, by_older=None)
    return opening, free_us
