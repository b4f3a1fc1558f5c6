"""Format points in time for people: as dates if the run's start date is known, otherwise as times since its start."""

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from vinesim.formats.source.quantities import format_time_us, time_or_dash, time_us
from vinesim.model.errors import InputError, Problem

EXPECTED_DATE = "a date, such as 2024-05-06 or 2024-05-06 00:06:46"


def date_of(value: Any, where: str) -> datetime:
    """Parse a date in ISO 8601 format. Raises :class:`InputError`."""
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

    start: datetime | None = None  # the date of its time 0; None if unknown

    @classmethod
    def of(cls, start: str | None, where: str = "start_date") -> "Clock":
        """Return the clock of a run with a start date, None if unknown. Raises :class:`InputError`."""
        return cls(None if start is None else date_of(start, where))

    @property
    def start_s(self) -> float | None:
        """The start as s since 1970, in the time zone of its text."""
        return None if self.start is None else self.start.replace(tzinfo=UTC).timestamp()

    def at(self, us: float | None) -> str:
        """Format a point in time, to the second if it is a date: ``2024-05-06 00:06:46``, or ``3.00 h``."""
        if self.start is not None and us is not None:
            try:
                return f"{self.start + timedelta(microseconds=us):%Y-%m-%d %H:%M:%S}"
            except (OverflowError, ValueError):  # infinite, or beyond the year 9999
                pass
        return time_or_dash(us)

    def span(self, begin_us: float, end_us: float | None) -> str:
        """Format a span of time; if it is too short for the digits of its ends, add its length."""
        begin, end = self.at(begin_us), self.at(end_us)
        if begin == end and end_us is not None and end_us > begin_us:
            return f"at {begin} for {format_time_us(end_us - begin_us)}"
        if self.start is not None and begin[:10] == end[:10]:
            end = end[11:]  # on the same day
        return f"from {begin} to {end}"

    def window_us(self, begin: float | str, end: float | str | None, end_us: float = math.inf) -> tuple[float, float]:
        """Parse the start and end of a part of a run, by default its end. Raises :class:`InputError`."""
        since_us = self.time_us(begin, "--from")
        until_us = end_us if end in (None, math.inf) else min(self.time_us(end, "--to"), end_us)
        if since_us >= until_us:
            within = "" if math.isinf(end_us) else f", within the run of {format_time_us(end_us)}"
            found = f"{self.at(since_us)} and {self.at(until_us)}"
            raise InputError([Problem("--from and --to", f"0 <= from < to{within}", found)])
        return since_us, until_us

    def time_us(self, value: float | str, where: str) -> float:
        """Parse a point in time: in us, with a unit, or a date if the run has dates. Raises :class:`InputError`."""
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
