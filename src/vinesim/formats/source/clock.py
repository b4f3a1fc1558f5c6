"""Show points in time to people: as dates if it is known when the run began, otherwise as the time since then."""

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from vinesim.formats.source.quantities import format_time_us, time_or_dash, time_us
from vinesim.model.errors import InputError, Problem

EXPECTED_DATE = "a date, such as 2024-05-06 or 2024-05-06 00:06:46"


def date_of(value: Any, where: str) -> datetime:
    """Read a date as ISO 8601 writes it. Raises :class:`InputError`."""
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise InputError([Problem(where, EXPECTED_DATE, repr(value)[:60])]) from None


def is_without_zone(text: str) -> bool:
    """Whether a text is a date without a time zone."""
    try:
        return datetime.fromisoformat(text.strip()).tzinfo is None
    except ValueError:
        return False


@dataclass(frozen=True)
class Clock:
    """The clock of a run."""

    start: datetime | None = None  # when its time 0 was; None: not known

    @classmethod
    def of(cls, start: str | None, where: str = "start_date") -> "Clock":
        """Return the clock of a run that began at a date; None: not known. Raises :class:`InputError`."""
        return cls(None if start is None else date_of(start, where))

    @property
    def start_s(self) -> float | None:
        """Its start as s since 1970, in the zone in which it is written."""
        return None if self.start is None else self.start.replace(tzinfo=UTC).timestamp()

    def at(self, us: float | None) -> str:
        """Write a point in time, to the second if it is a date: ``2024-05-06 00:06:46``, or ``3.00 h``."""
        if self.start is not None and us is not None:
            try:
                return f"{self.start + timedelta(microseconds=us):%Y-%m-%d %H:%M:%S}"
            except (OverflowError, ValueError):  # infinite, or beyond the year 9999
                pass
        return time_or_dash(us)

    def span(self, begin_us: float, end_us: float | None) -> str:
        """Say from when to when; of a short span, which the digits do not show, how long."""
        begin, end = self.at(begin_us), self.at(end_us)
        if begin == end and end_us is not None and end_us > begin_us:
            return f"at {begin} for {format_time_us(end_us - begin_us)}"
        if self.start is not None and begin[:10] == end[:10]:
            end = end[11:]  # the day is the same
        return f"from {begin} to {end}"

    def window_us(self, begin: float | str, end: float | str | None, end_us: float = math.inf) -> tuple[float, float]:
        """Read the begin and end of a part of a run that ends at ``end_us``, the default end. Raises
        :class:`InputError`."""
        since_us = self.time_us(begin, "--from")
        until_us = end_us if end in (None, math.inf) else min(self.time_us(end, "--to"), end_us)
        if since_us >= until_us:
            within = "" if math.isinf(end_us) else f", within the run of {format_time_us(end_us)}"
            found = f"{self.at(since_us)} and {self.at(until_us)}"
            raise InputError([Problem("--from and --to", f"0 <= from < to{within}", found)])
        return since_us, until_us

    def time_us(self, value: float | str, where: str) -> float:
        """Read a point in time: a time with a unit or in us, or a date if the run has dates. Raises
        :class:`InputError`."""
        try:
            return time_us(value, where)
        except InputError as error:
            if self.start is None:
                raise
            problem = error.problems[0]
        try:
            date = datetime.fromisoformat(str(value))
        except ValueError:
            raise InputError([replace(problem, expected=f"{problem.expected}; or {EXPECTED_DATE}")]) from None
        if (date.tzinfo is None) != (self.start.tzinfo is None):
            date = date.replace(tzinfo=self.start.tzinfo)
        return max(0.0, (date - self.start) / timedelta(microseconds=1))
