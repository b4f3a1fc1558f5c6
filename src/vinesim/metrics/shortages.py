"""Find what a waiting task lacked and for how long: one of its parts, or enough room at a single place."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from vinesim.metrics.openings import Change, Place, UnitRoom
from vinesim.state.layout import FULL, OVERFULL


@dataclass(frozen=True)
class Fragmentation:
    """The time in which the places that can run the task had enough room in total, but no single one had enough."""

    time_us: float  # how long this lasted
    at_us: float  # when the total room was largest
    room: float  # the total room of the lead's units then
    units: int  # places with any room then: units, or nodes if the task holds several units
    largest: float  # the most room at one of them then
    needed: float  # the least that the task takes at any of them


@dataclass(frozen=True)
class Shortage:
    """What a task that holds several units lacked, while no node had room for all of it."""

    time_us: float  # how long that was
    nowhere_us: list[float]  # by part, the lead and the companions: how long no node had room for it
    scattered_us: float  # how long there was room for each part somewhere, but not for all at one node
    at_us: float  # when the most units of the lead had room
    n_free: int  # how many had room then


class Span(NamedTuple):
    """A part of a wait in which the places were in one of STATES."""

    begin_us: float
    end_us: float
    state: str


IDLE, SCATTERED, DOWN, BUSY = "idle", "scattered", "down", "busy"
STATES = {  # of the places that can run a waiting task
    IDLE: "a unit with room was left idle",
    SCATTERED: "room enough in all, but at no single place",
    DOWN: "no place with room, and nodes were down",
    BUSY: "no place with room",
}


class _Sums:
    """The totals over all places, updated place by place."""

    def __init__(self, places: Sequence[Place]):
        n_parts = len(places[0].parts)
        self.n_open, self.n_free = 0, 0  # places with room for all; units of the lead with room
        self.n_down = 0  # units of the lead that are down
        self.n_with = [0] * n_parts  # places with room for the part
        self.room = [0.0] * n_parts  # what is left of the part's units
        self._n_places: dict[int, int] = {}  # of each unit: a companion can serve leads of several types
        for unit in (unit for place in places for units in place.parts for unit in units):
            self._n_places[unit.unit] = self._n_places.get(unit.unit, 0) + 1
        for place in places:
            self.add(place, 1)

    def add(self, place: Place, sign: int) -> None:
        """Add what a place has (``sign`` 1), or subtract it (-1)."""
        has = [place.has_part(c) for c in range(len(place.parts))]
        self.n_open += sign * all(has)
        self.n_free += sign * sum(unit.has_room for unit in place.parts[0])
        self.n_down += sign * sum(unit.n_down > 0 for unit in place.parts[0])
        for c, units in enumerate(place.parts):
            self.n_with[c] += sign * has[c]
            self.room[c] += sign * sum(unit.room / self._n_places[unit.unit] for unit in units)


class _Lacking:
    """Accumulates what was lacking."""

    def __init__(self, places: Sequence[Place], waits: Sequence[tuple[float, float]]):
        self._places, self._needed, self._sums = places, _needed(places), _Sums(places)
        self._waits, self._n_over = waits, 0  # when the task waited, and how many of these times are over
        self._now_us = self._most_at_us = waits[0][0]
        self._pieces_us = self._scattered_us = self._closed_us = 0.0
        self._nowhere_us = [0.0] * len(self._needed)
        self.spans: list[Span] = []
        self._n_free = -1  # the most units of the lead that had room
        self._best: tuple[float, float, int, float] = (0.0, 0.0, 0, 0.0)  # room, at, places, largest

    def apply(self, change: Change, place: Place, unit: UnitRoom) -> None:
        """Apply a change of a unit of a place."""
        self._sums.add(place, -1)
        unit.apply(change)
        self._sums.add(place, 1)

    def advance(self, end_us: float) -> None:
        """Account for the time up to ``end_us``, in which nothing changed; only intervals of waiting count."""
        while self._n_over < len(self._waits) and self._now_us < end_us:
            since_us, until_us = self._waits[self._n_over]
            if min(end_us, until_us) > max(self._now_us, since_us):
                self._count(max(self._now_us, since_us), min(end_us, until_us))
            self._now_us = min(end_us, until_us)
            self._n_over += until_us <= end_us

    def _count(self, begin_us: float, end_us: float) -> None:
        span_us, sums = end_us - begin_us, self._sums
        self.spans.append(Span(begin_us, end_us, IDLE if sums.n_open else DOWN if sums.n_down else BUSY))
        if sums.n_open:
            return
        self._closed_us += span_us
        self._nowhere_us = [us + span_us * (not n) for us, n in zip(self._nowhere_us, sums.n_with, strict=True)]
        self._scattered_us += span_us * all(sums.n_with)
        if sums.n_free > self._n_free:
            self._most_at_us, self._n_free = begin_us, sums.n_free
        enough = (room >= least * FULL for room, least in zip(sums.room, self._needed, strict=True))
        if any(self._needed) and all(enough):
            self._pieces_us += span_us
            self.spans[-1] = self.spans[-1]._replace(state=SCATTERED)
            if sums.room[0] > self._best[0] * OVERFULL:
                self._best = (sums.room[0], begin_us, *_pieces(self._places))

    def results(self) -> tuple[Fragmentation | None, Shortage | None]:
        """Return the fragmentation and the shortage; None for one that never occurred."""
        room, at_us, n_places, largest = self._best
        pieces = Fragmentation(self._pieces_us, at_us, room, n_places, largest, self._needed[0])
        lack = Shortage(self._closed_us, self._nowhere_us, self._scattered_us, self._most_at_us, self._n_free)
        return pieces if self._pieces_us > 0.0 else None, lack if self._n_free >= 0 else None


def shortages(
    places: Sequence[Place], waits: Sequence[tuple[float, float]]
) -> tuple[Fragmentation | None, Shortage | None, list[Span]]:
    """Return what a waiting task lacked, and its wait in parts by the state of the places.

    A :class:`Fragmentation` or :class:`Shortage` that never occurred is None. ``places`` are those that can run the
    task, in their state before all changes; ``waits`` are the start and end of each interval in which it waited.
    """
    if not places or not waits:
        return None, None, []
    found, until_us = _Lacking(places, waits), waits[-1][1]
    every = [(change, place, unit) for place in places for change, unit in place.changes]
    every.sort(key=lambda changed: (changed[0], changed[2].unit, changed[1].unit))
    for change, place, unit in every:
        found.advance(min(change.time_us, until_us))
        if change.time_us > until_us:
            break
        found.apply(change, place, unit)
    found.advance(until_us)
    return *found.results(), merged(found.spans)


def merged(spans: Sequence[Span]) -> list[Span]:
    """Join adjacent spans of the same state."""
    found: list[Span] = []
    for span in spans:
        if found and found[-1].state == span.state and found[-1].end_us == span.begin_us:
            found[-1] = found[-1]._replace(end_us=span.end_us)
        else:
            found.append(span)
    return found


def overlaid(spans: Sequence[Span], others: Sequence[Span], over: str = "") -> list[Span]:
    """Replace the parts of spans that ``others`` overlap; with ``over``, only of spans in that state."""
    times = sorted({time for other in others for time in (other.begin_us, other.end_us)})
    found = []
    for span in spans:
        edges = [span.begin_us, *(time for time in times if span.begin_us < time < span.end_us), span.end_us]
        for begin_us, end_us in pairwise(edges):
            here = [other.state for other in others if other.begin_us <= begin_us and end_us <= other.end_us]
            is_meant = bool(here) and over in ("", span.state)
            found.append(Span(begin_us, end_us, here[0] if is_meant else span.state))
    return found


def _needed(places: Sequence[Place]) -> list[float]:
    """Return, for each part, the least that the task takes at any place."""
    n_parts = len(places[0].parts) if places else 0
    return [
        min(place.wanted(c) * min(unit.needed for unit in place.parts[c] if unit.fits) for place in places)
        for c in range(n_parts)
    ]


def _pieces(places: Sequence[Place]) -> tuple[int, float]:
    """Return how many places have any room for the lead, and the most room at one of them."""
    rooms = [sum(unit.room for unit in place.parts[0]) for place in places]
    sizes = [max(unit.capacity for unit in place.parts[0]) for place in places]
    rooms = [room for room, size in zip(rooms, sizes, strict=True) if room > size * (1.0 - FULL)]
    return len(rooms), max(rooms)
