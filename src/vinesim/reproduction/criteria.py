"""Criteria for when a measurement agrees with a claim; each claim declares its own.

A measurement is a number, a text, a sequence of them, or a mapping of labels to them. NaN agrees with nothing.
In words, a criterion states its tolerance in numbers, which is shown next to every verdict.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, Protocol


class Criterion(Protocol):
    """A condition that a measurement meets or does not meet."""

    def holds(self, measured: Any) -> bool:
        """Whether the measurement meets it."""

    def __str__(self) -> str:
        """The criterion in words."""


@dataclass(frozen=True)
class Within:
    """A number within a share ``rel`` of ``value``."""

    value: float
    rel: float

    def holds(self, measured: Any) -> bool:
        """Whether |measured - value| <= rel x |value|."""
        return abs(measured - self.value) <= self.rel * abs(self.value)

    def __str__(self) -> str:
        margin = self.rel * abs(self.value)
        span = f"{number(self.value - margin)} to {number(self.value + margin)}"
        return f"within {100 * self.rel:g} % of {number(self.value)} ({span})"


@dataclass(frozen=True)
class Between:
    """A number from ``low`` to ``high``, both included."""

    low: float
    high: float

    def holds(self, measured: Any) -> bool:
        """Whether low <= measured <= high."""
        return self.low <= measured <= self.high

    def __str__(self) -> str:
        return f"{number(self.low)} to {number(self.high)}"


@dataclass(frozen=True)
class Above:
    """A number above ``limit``."""

    limit: float

    def holds(self, measured: Any) -> bool:
        """Whether measured > limit."""
        return measured > self.limit

    def __str__(self) -> str:
        return f"above {number(self.limit)}"


@dataclass(frozen=True)
class Below:
    """A number below ``limit``."""

    limit: float

    def holds(self, measured: Any) -> bool:
        """Whether measured < limit."""
        return measured < self.limit

    def __str__(self) -> str:
        return f"below {number(self.limit)}"


@dataclass(frozen=True)
class Equal:
    """Equal to ``value``: a number up to rounding (1e-9), anything else exactly."""

    value: Any

    def holds(self, measured: Any) -> bool:
        """Whether the two are equal."""
        if isinstance(self.value, int | float) and not isinstance(self.value, bool):
            return math.isclose(measured, self.value, rel_tol=1e-9, abs_tol=1e-12)
        return bool(measured == self.value)

    def __str__(self) -> str:
        if isinstance(self.value, bool):
            return number(self.value)
        if isinstance(self.value, Mapping):
            return "exactly " + ", ".join(f"{label}: {number(value)}" for label, value in self.value.items())
        return f"exactly {number(self.value)}"


@dataclass(frozen=True)
class Rising:
    """Numbers each larger than the one before; with ``slack`` a drop by that share is allowed."""

    slack: float = 0.0

    def holds(self, measured: Any) -> bool:
        """Whether they rise in the order given."""
        return all(b > a if self.slack == 0 else b >= a * (1 - self.slack) for a, b in pairwise(parts(measured)))

    def __str__(self) -> str:
        return "rising" + (f", drops of up to {100 * self.slack:g} % allowed" if self.slack else "")


@dataclass(frozen=True)
class Falling:
    """Numbers each smaller than the one before; with ``slack`` a rise by that share is allowed."""

    slack: float = 0.0

    def holds(self, measured: Any) -> bool:
        """Whether they fall in the order given."""
        return all(b < a if self.slack == 0 else b <= a * (1 + self.slack) for a, b in pairwise(parts(measured)))

    def __str__(self) -> str:
        return "falling" + (f", rises of up to {100 * self.slack:g} % allowed" if self.slack else "")


@dataclass(frozen=True)
class Alike:
    """Numbers that differ by at most a share ``rel`` of the smallest."""

    rel: float

    def holds(self, measured: Any) -> bool:
        """Whether largest - smallest <= rel x |smallest|."""
        numbers = parts(measured)
        least = min(numbers)
        return all(number - least <= self.rel * abs(least) for number in numbers)

    def __str__(self) -> str:
        return f"equal within {100 * self.rel:g} %"


@dataclass(frozen=True)
class Each:
    """Every part of the measurement meets ``criterion``; there is at least one."""

    criterion: Criterion

    def holds(self, measured: Any) -> bool:
        """Whether every part meets it."""
        found = parts(measured)
        return bool(found) and all(self.criterion.holds(part) for part in found)

    def __str__(self) -> str:
        return f"each {self.criterion}"


@dataclass(frozen=True)
class Some:
    """At least one part of the measurement meets ``criterion``."""

    criterion: Criterion

    def holds(self, measured: Any) -> bool:
        """Whether a part meets it."""
        return any(self.criterion.holds(part) for part in parts(measured))

    def __str__(self) -> str:
        return f"at least one {self.criterion}"


@dataclass(frozen=True)
class Share:
    """At least a share ``at_least`` of the parts meets ``criterion``."""

    at_least: float
    criterion: Criterion

    def holds(self, measured: Any) -> bool:
        """Whether enough parts meet it."""
        met = [self.criterion.holds(part) for part in parts(measured)]
        return bool(met) and sum(met) >= self.at_least * len(met)

    def __str__(self) -> str:
        return f"at least {100 * self.at_least:g} % of them {self.criterion}"


class Parts:
    """The parts of the measurement meet one criterion each, in order."""

    def __init__(self, *criteria: Criterion):
        self.criteria = criteria

    def holds(self, measured: Any) -> bool:
        """Whether there is a part for each criterion, and each meets its own."""
        found = parts(measured)
        return len(found) == len(self.criteria) and all(
            criterion.holds(part) for criterion, part in zip(self.criteria, found, strict=True)
        )

    def __str__(self) -> str:
        text = "; ".join(_joined(list(alike)) for _, alike in groupby(self.criteria, key=_tolerance))
        return f"in order: {text}" if len(self.criteria) > 1 else text


def _tolerance(criterion: Criterion) -> str:
    """Return the key by which criteria are grouped: everything but the value that a relative tolerance refers to."""
    return f"within {100 * criterion.rel:g} % of" if isinstance(criterion, Within) else str(criterion)


def _joined(alike: list[Criterion]) -> str:
    """Write consecutive criteria of one kind in words."""
    if len({str(criterion) for criterion in alike}) == 1:
        return str(alike[0]) + (f" ({len(alike)} times)" if len(alike) > 1 else "")
    return f"{_tolerance(alike[0])} {', '.join(number(of.value) for of in alike if isinstance(of, Within))}"


class All:
    """The whole measurement meets every criterion."""

    def __init__(self, *criteria: Criterion):
        self.criteria = criteria

    def holds(self, measured: Any) -> bool:
        """Whether it meets all of them."""
        return all(criterion.holds(measured) for criterion in self.criteria)

    def __str__(self) -> str:
        return " and ".join(str(criterion) for criterion in self.criteria)


@dataclass(frozen=True)
class About:
    """The order of magnitude of ``value``: up to a factor of the square root of ten either way."""

    value: float

    def holds(self, measured: Any) -> bool:
        """Whether value / sqrt(10) <= measured <= value * sqrt(10)."""
        return self.value / math.sqrt(10) <= measured <= self.value * math.sqrt(10)

    def __str__(self) -> str:
        low, high = self.value / math.sqrt(10), self.value * math.sqrt(10)
        return f"about {number(self.value)}: {number(low)} to {number(high)}"


def parts(measured: Any) -> list[Any]:
    """The parts of a measurement: the values of a mapping, the items of a sequence, or the one value."""
    if isinstance(measured, Mapping):
        return list(measured.values())
    return list(measured) if isinstance(measured, Iterable) and not isinstance(measured, str) else [measured]


def number(value: Any) -> str:
    """Write a value in words: four significant digits, a truth value as yes or no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
