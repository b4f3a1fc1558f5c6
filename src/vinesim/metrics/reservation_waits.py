"""Find when a waiting job had room only on nodes whose reservations did not admit it."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from vinesim.formats.results.explain_record import ExplainRecord
from vinesim.metrics.openings import Opening
from vinesim.metrics.shortages import Span, merged
from vinesim.model.reservation import Reservation

RESERVATION = "reservation"  # as the state of a part of a wait
Times = list[tuple[float, float]]  # begin and end


@dataclass(frozen=True)
class ReservationWait:
    """An interval in which the task had room on nodes of a reservation that does not admit its job."""

    name: str
    begin_us: float
    end_us: float
    start_us: float  # of the reservation
    over_us: float | None  # when the reservation ends; None: never
    users: tuple[str, ...]  # whom the reservation admits; empty: nobody, it is maintenance


def reservation_waits(
    record: ExplainRecord, task: int, expected_us: float, openings: Sequence[Opening]
) -> list[ReservationWait]:
    """Return the intervals in which reservations excluded the task where it had room, in order of time.

    A reservation excludes it from ``expected_us`` before the reservation starts, because the task would run into it.
    ``openings`` are the intervals in which places had room for the task.
    """
    found = []
    for one in _against(record, task):
        over_us = None if math.isinf(one.end_us) else one.end_us
        for begin_us, end_us in _union(time for times in _closed(one, expected_us, openings) for time in times):
            found.append(ReservationWait(one.name, begin_us, end_us, one.start_us, over_us, one.users))
    return sorted(found, key=lambda wait: (wait.begin_us, wait.name))


def reserved_spans(
    record: ExplainRecord, task: int, expected_us: float, openings: Sequence[Opening], is_gang: bool
) -> list[Span]:
    """Return the intervals in which reservations excluded the task at every place that had room; for a gang, at any of
    these places."""
    of_each = [_closed(one, expected_us, openings) for one in _against(record, task)]
    closed = [[time for times in mine for time in times] for mine in zip(*of_each, strict=True)]
    edges = {time for one in openings for time in (one.free_us, one.end_us)}
    edges |= {time for times in closed for pair in times for time in pair}
    reserved = []
    for begin_us, end_us in pairwise(sorted(edges)):
        here = [
            any(begin <= begin_us and end_us <= end for begin, end in times)
            for opening, times in zip(openings, closed, strict=False)
            if opening.free_us <= begin_us and end_us <= opening.end_us
        ]
        if here and (any(here) if is_gang else all(here)):
            reserved.append(Span(begin_us, end_us, RESERVATION))
    return merged(reserved)


def _against(record: ExplainRecord, task: int) -> list[Reservation]:
    """Return the reservations that do not admit a task."""
    user = int(record.user[task])
    return [one for one in record.reservations if user < 0 or record.users[user] not in one.users]


def _closed(one: Reservation, expected_us: float, openings: Sequence[Opening]) -> list[Times]:
    """Yield the part of each opening, if any, in which the reservation does not let the task start there."""
    is_on = one.has(np.array([opening.rack for opening in openings]), np.array([place.shelf for place in openings]))
    times = [
        (max(opening.free_us, one.start_us - expected_us), min(opening.end_us, one.end_us)) for opening in openings
    ]
    return [[time] if on and time[0] < time[1] else [] for on, time in zip(is_on, times, strict=True)]


def _union(times: Iterable[tuple[float, float]]) -> Times:
    """Merge intervals that overlap or touch."""
    found: Times = []
    for begin_us, end_us in sorted(times):
        if found and begin_us <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end_us)
        else:
            found.append((begin_us, end_us))
    return found
