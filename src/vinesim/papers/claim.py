"""A claim: a statement of a paper, what the runs give for it, and the verdict by a tolerance declared beside it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from vinesim.papers.criteria import Criterion, parts
from vinesim.papers.data import Data


class Verdict(StrEnum):
    """How far a claim is borne out by the runs."""

    REPRODUCED = "reproduced"
    PARTLY = "partly"
    NOT = "not reproduced"


@dataclass(frozen=True)
class OtherReading:
    """The same claim under another reading of the paper: measured and judged too, for information."""

    reading: str
    measure: Callable[[Data], Any]


@dataclass(frozen=True)
class Finding:
    """A claim with its measurement and verdict."""

    claim: "Claim"
    measured: str
    verdict: Verdict
    other_reading: str = ""

    def row(self) -> dict[str, str]:
        """The row of ``--json``; the note only where the verdict is not "reproduced"."""
        claim = self.claim
        row = {
            "claim": claim.id,
            "source": claim.source,
            "statement": claim.statement,
            "expected": claim.expected,
            "measured": self.measured,
            "verdict": str(self.verdict),
        }
        if self.verdict is not Verdict.REPRODUCED:
            row["note"] = claim.note or f"the tolerance is: {claim.judge}"
        if self.other_reading:
            row["other_reading"] = self.other_reading
        return row


@dataclass(frozen=True)
class Claim:
    """One statement of a paper.

    ``measure`` gives a number, a text, a sequence or a mapping of labels to them; ``judge`` says when that agrees with
    the paper, ``partly`` when it agrees in part. ``note`` says why it is not reproduced, or how the text is read.
    """

    id: str  # as F4.2: figure 4, second claim
    source: str  # section and figure
    statement: str
    expected: str
    measure: Callable[[Data], Any]
    judge: Criterion
    partly: Criterion | None = None
    note: str = ""
    unit: str = ""
    other_reading: OtherReading | None = None

    @property
    def rule(self) -> str:
        """When the claim counts as reproduced, and as partly."""
        return f"reproduced if {self.judge}" + (f"; partly if {self.partly}" if self.partly is not None else "")

    def check(self, data: Data) -> Finding:
        """Measure, and judge the measurement."""
        measured = self.measure(data)
        other = ""
        if self.other_reading is not None:
            found = self.other_reading.measure(data)
            other = f"{self.other_reading.reading}: {shown(found, self.unit)} ({self._verdict(found)})"
        return Finding(self, shown(measured, self.unit), self._verdict(measured), other)

    def _verdict(self, measured: Any) -> Verdict:
        if self.judge.holds(measured):
            return Verdict.REPRODUCED
        return Verdict.PARTLY if self.partly is not None and self.partly.holds(measured) else Verdict.NOT


def shown(measured: Any, unit: str = "") -> str:
    """A measurement in words: four significant digits, labels before their values, the unit at the end."""
    if measured is None:
        return "-"
    if isinstance(measured, Mapping):
        text = ", ".join(f"{label}: {_one(value)}" for label, value in measured.items())
    else:
        text = ", ".join(_one(value) for value in parts(measured))
    return f"{text} {unit}" if unit and text else text


def _one(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
