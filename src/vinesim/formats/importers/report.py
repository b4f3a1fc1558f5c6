"""The report of an import: how it read a file, which lines it dropped and why, and which values it did not use."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

MAX_LINES = 10  # line numbers shown per reason
MAX_VALUES = 20  # values shown per column


class Guess(NamedTuple):
    """The guessed meaning of a column: one of VineSim's names, or ``ignore``, and the reason."""

    meaning: str
    why: str
    is_doubtful: bool = False  # whether it may be wrong in a way that would change the results of a simulation

    def __str__(self) -> str:
        return f"{self.meaning}: {self.why}" + " !" * self.is_doubtful

    def as_document(self) -> dict[str, Any]:
        """Return it for ``--json``."""
        return {"is": self.meaning, "why": self.why, "is_doubtful": self.is_doubtful}


class Finding(NamedTuple):
    """A finding of a check of the imported jobs."""

    what: str
    words: str
    is_odd: bool = False  # whether it would change the results of a simulation
    numbers: dict[str, Any] | None = None  # the same, for programs

    def as_document(self) -> dict[str, Any]:
        """Return it for ``--json``."""
        return {"what": self.what, "finding": self.words, "is_odd": self.is_odd, **(self.numbers or {})}


@dataclass
class ImportReport:
    """The report on one file. Line numbers start at 1; comments and the header count as lines."""

    path: str
    n_lines: int = 0  # without comments and the header
    made: str = ""  # what the lines were converted to, in words
    numbers: dict[str, Any] = field(default_factory=dict)  # the same, for programs
    dropped: dict[str, list[int]] = field(default_factory=dict)  # reason: line numbers
    values: dict[str, dict[str, list[int]]] = field(default_factory=dict)  # column: value: [lines kept, lines dropped]
    unused: dict[str, int] = field(default_factory=dict)  # unused columns: number of lines with a value there
    left_out: tuple[str, ...] = ()  # what the model cannot represent
    notes: list[str] = field(default_factory=list)
    columns: dict[str, Guess] = field(default_factory=dict)  # the guessed meaning of each column
    time_zone: str = ""  # the time zone of the log's dates; empty if it has none
    findings: list[Finding] = field(default_factory=list)  # findings of the checks

    @property
    def n_dropped(self) -> int:
        """Number of lines dropped."""
        return sum(map(len, self.dropped.values()))

    def drop(self, reason: str, *lines: int) -> None:
        """Record lines that were dropped, with the reason."""
        if lines:
            self.dropped.setdefault(reason, []).extend(lines)

    def count(self, column: str, value: str, is_kept: bool) -> None:
        """Count a value of a column, in a line that is kept or dropped."""
        counts = self.values.setdefault(column, {}).setdefault(value, [0, 0])
        counts[0 if is_kept else 1] += 1

    def count_lines(self, column: str, values: Mapping[int, str]) -> None:
        """Count the values of a column by line, once it is known which lines are dropped."""
        dropped = set().union(*self.dropped.values())
        for line, value in values.items():
            self.count(column, value, line not in dropped)

    def __str__(self) -> str:
        lines = [f"{self.path}: {self.n_lines:,} lines, {self.made}"]
        lines += [f"{name}: {guess}" for name, guess in self.columns.items()]
        for reason, numbers in self.dropped.items():
            shown = ", ".join(map(str, numbers[:MAX_LINES])) + (", ..." if len(numbers) > MAX_LINES else "")
            lines.append(f"dropped {len(numbers):,}: {reason} (line{'s' * (len(numbers) > 1)} {shown})")
        if not self.dropped:
            lines.append("nothing dropped")
        for column, values in self.values.items():
            shown = "; ".join(_counted(value, *counts) for value, counts in list(values.items())[:MAX_VALUES])
            lines.append(f"{column}: {shown}" + ("; ..." if len(values) > MAX_VALUES else ""))
        if self.unused:
            lines.append("not used: " + ", ".join(f"{name} ({n:,} lines)" for name, n in self.unused.items()))
        lines += self.notes
        return "\n".join(lines + [f"left out: {what}" for what in self.left_out])

    def as_document(self, wrote: Iterable[Path]) -> dict[str, Any]:
        """Return the report for ``--json``."""
        return {
            "file": self.path,
            "lines": self.n_lines,
            **self.numbers,
            "dropped": {reason: {"count": len(at), "lines": at[:MAX_LINES]} for reason, at in self.dropped.items()},
            "values": {
                column: {value: {"kept": kept, "dropped": dropped} for value, (kept, dropped) in values.items()}
                for column, values in self.values.items()
            },
            "unused": self.unused,
            "columns": {name: guess.as_document() for name, guess in self.columns.items()},
            "notes": self.notes,
            "time_zone": self.time_zone,
            "findings": [finding.as_document() for finding in self.findings],
            "left_out": list(self.left_out),
            "wrote": [str(file) for file in wrote],
        }


def zone_assumed(n_dates: int) -> str:
    """Describe the time zone assumed for dates that have none."""
    return f"UTC is assumed for {n_dates:,} dates without one"


def _counted(value: str, n_kept: int, n_dropped: int) -> str:
    words = [f"{n_kept:,} kept"] * bool(n_kept) + [f"{n_dropped:,} dropped"] * bool(n_dropped)
    return f"{value} {', '.join(words)}"
