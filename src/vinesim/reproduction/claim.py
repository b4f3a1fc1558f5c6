"""A claim: a statement of a paper, what the runs give for it, and a verdict by a declared tolerance."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from vinesim.reproduction.criteria import Criterion, Each, Share, number, parts
from vinesim.reproduction.data import Data

MOST_SHOWN = 8  # parts of a measurement shown one by one; more are summarised
MOST_NAMED = 6  # failing parts that are named


class Kind(StrEnum):
    """Who makes the statement, and whether runs can contradict it."""

    CLAIM = "claim"  # a statement of the paper, measured from runs that could have come out otherwise
    FINDING = "finding"  # VineSim's own, not in the paper
    GIVEN = "given"  # an input of the experiments, or arithmetic on inputs, compared with the printed values


class Verdict(StrEnum):
    """How far the runs support a claim."""

    REPRODUCED = "reproduced"
    PARTLY = "partly"
    NOT = "not reproduced"


@dataclass(frozen=True)
class OtherReading:
    """The same claim under another reading of the paper, measured and judged for information."""

    reading: str
    measure: Callable[[Data], Any]


@dataclass(frozen=True)
class Judged:
    """A claim with its measurement and verdict."""

    claim: "Claim"
    measured: str
    verdict: Verdict
    other_reading: str = ""

    def row(self) -> dict[str, str]:
        """Return the row of ``--json``; ``note`` and ``other_reading`` are present only if there are any."""
        claim = self.claim
        row = {
            "claim": claim.id,
            "kind": str(claim.kind),
            "source": claim.source,
            "statement": claim.statement,
            "expected": claim.expected,
            "measured": self.measured,
            "rule": claim.rule,
            "verdict": str(self.verdict),
        }
        if claim.note or self.verdict is not Verdict.REPRODUCED:
            row["note"] = claim.note or "outside the rule"
        if self.other_reading:
            row["other_reading"] = self.other_reading
        return row


@dataclass(frozen=True)
class Claim:
    """One statement, of the paper unless ``kind`` says otherwise.

    ``measure`` returns a number, a text, a sequence or a mapping of labels to them; ``judge`` says when that agrees
    with the paper, ``partly`` when it agrees in part. ``note`` says how the text is read, what was chosen to make it
    agree, or why it does not.
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
    kind: Kind = Kind.CLAIM

    @property
    def rule(self) -> str:
        """When the claim counts as reproduced, and when as partly reproduced."""
        return f"reproduced: {self.judge}" + (f"; partly: {self.partly}" if self.partly is not None else "")

    def check(self, data: Data) -> Judged:
        """Measure, and judge the result."""
        measured = self.measure(data)
        other = ""
        if self.other_reading is not None:
            found = self.other_reading.measure(data)
            other = f"{self.other_reading.reading}: {shown(found, self.unit, self.judge)} ({self._verdict(found)})"
        return Judged(self, shown(measured, self.unit, self.judge), self._verdict(measured), other)

    def _verdict(self, measured: Any) -> Verdict:
        if self.judge.holds(measured):
            return Verdict.REPRODUCED
        return Verdict.PARTLY if self.partly is not None and self.partly.holds(measured) else Verdict.NOT


def shown(measured: Any, unit: str = "", judge: Criterion | None = None) -> str:
    """Write a measurement in words: four significant digits, labels before their values, the unit at the end.

    Many labelled numbers that must each meet a criterion are summarised: how many do, the smallest, the largest, and
    which do not.
    """
    if measured is None:
        return "-"
    if isinstance(measured, Mapping):
        is_long = len(measured) > MOST_SHOWN
        text = _summary(measured, judge) if is_long and isinstance(judge, Each | Share) else _labelled(measured)
    else:
        text = ", ".join(number(value) for value in parts(measured))
    return f"{text} {unit}" if unit and text else text


def _labelled(measured: Mapping[Any, Any]) -> str:
    return ", ".join(f"{label}: {number(value)}" for label, value in measured.items())


def _summary(measured: Mapping[Any, Any], judge: Each | Share) -> str:
    least, most = min(measured, key=measured.__getitem__), max(measured, key=measured.__getitem__)
    failing = {label: value for label, value in measured.items() if not judge.criterion.holds(value)}
    text = f"{len(measured) - len(failing)} of {len(measured)}"
    text += f"; from {number(measured[least])} ({least}) to {number(measured[most])} ({most})"
    if failing:
        text += "; not " + _labelled(dict(list(failing.items())[:MOST_NAMED]))
        text += f" and {len(failing) - MOST_NAMED} more" if len(failing) > MOST_NAMED else ""
    return text
