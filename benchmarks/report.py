"""What a benchmark reports: tables and targets, as text for the terminal and for the documentation."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Table:
    """One table: a row is a list of words, the first column names what was measured."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def markdown(self) -> str:
        rule = ["---"] + ["---:"] * (len(self.columns) - 1)
        lines = [f"| {' | '.join(row)} |" for row in (self.columns, rule, *self.rows)]
        return "\n".join([f"**{self.title}**", "", *lines, *(["", self.note] if self.note else [])])


@dataclass(frozen=True)
class Target:
    """A figure that was promised: the least it may be (or the most, if less is better) and what it should become."""

    what: str
    measured: float
    at_least: float | None  # None: nothing was promised
    aim: float | None
    unit: str
    less_is_better: bool = False

    @property
    def verdict(self) -> str:
        def holds(limit: float) -> bool:
            return self.measured <= limit if self.less_is_better else self.measured >= limit

        if self.at_least is not None and not holds(self.at_least):
            return "MISSED"
        if self.aim is None:
            return "met"
        if holds(self.aim):
            return "aim reached"
        return "met" if self.at_least is not None else "aim not reached"

    def row(self) -> list[str]:
        sign = "≤ " if self.less_is_better else "≥ "
        limits = ["-" if x is None else sign + figure(x) + self.unit for x in (self.at_least, self.aim)]
        return [self.what, figure(self.measured) + self.unit, *limits, self.verdict]


@dataclass
class Report:
    """All that one benchmark found."""

    tables: list[Table] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)

    def all_tables(self) -> list[Table]:
        columns = ["Target", "measured", "at least", "the aim", ""]
        rows = [target.row() for target in self.targets]
        return [*self.tables, *([Table("Targets", columns, rows)] if rows else [])]


def figure(value: float) -> str:
    """Three figures, thousands separated."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
