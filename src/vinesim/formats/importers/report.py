"""What an import says about itself: what it made of a file, which lines it dropped and why, and what it did not use."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MAX_LINES = 10  # whose numbers are shown
MAX_VALUES = 20  # of a column


@dataclass
class ImportReport:
    """The report on one file; lines are counted from 1, comments and the header line among them."""

    path: str
    n_lines: int = 0  # that are neither comments nor the header
    made: str = ""  # of them, in words
    numbers: dict[str, Any] = field(default_factory=dict)  # the same for a program
    dropped: dict[str, list[int]] = field(default_factory=dict)  # reason: line numbers
    values: dict[str, dict[str, list[int]]] = field(default_factory=dict)  # column: value: [lines kept, lines dropped]
    unused: dict[str, int] = field(default_factory=dict)  # columns that nothing uses: lines with a value in it
    left_out: tuple[str, ...] = ()  # what the model has no place for
    notes: list[str] = field(default_factory=list)

    @property
    def n_dropped(self) -> int:
        """How many lines were dropped."""
        return sum(map(len, self.dropped.values()))

    def drop(self, reason: str, *lines: int) -> None:
        """Note lines that nothing is made of."""
        if lines:
            self.dropped.setdefault(reason, []).extend(lines)

    def count(self, column: str, value: str, is_kept: bool) -> None:
        """Note the value of a column in a line."""
        counts = self.values.setdefault(column, {}).setdefault(value, [0, 0])
        counts[0 if is_kept else 1] += 1

    def __str__(self) -> str:
        lines = [f"{self.path}: {self.n_lines:,} lines, {self.made}"]
        for reason, numbers in self.dropped.items():
            shown = ", ".join(map(str, numbers[:MAX_LINES])) + (", ..." if len(numbers) > MAX_LINES else "")
            lines.append(f"dropped {len(numbers):,}: {reason} (line{'s' * (len(numbers) > 1)} {shown})")
        if not self.dropped:
            lines.append("nothing dropped")
        for column, values in self.values.items():
            shown = "; ".join(_told(value, *counts) for value, counts in list(values.items())[:MAX_VALUES])
            lines.append(f"{column}: {shown}" + ("; ..." if len(values) > MAX_VALUES else ""))
        if self.unused:
            lines.append("not used: " + ", ".join(f"{name} ({n:,} lines)" for name, n in self.unused.items()))
        lines += self.notes
        return "\n".join(lines + [f"left out: {what}" for what in self.left_out])

    def as_document(self, wrote: Iterable[Path]) -> dict[str, Any]:
        """The report for ``--json``."""
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
            "notes": self.notes,
            "left_out": list(self.left_out),
            "wrote": [str(file) for file in wrote],
        }


def _told(value: str, n_kept: int, n_dropped: int) -> str:
    words = [f"{n_kept:,} kept"] * bool(n_kept) + [f"{n_dropped:,} dropped"] * bool(n_dropped)
    return f"{value} {', '.join(words)}"
