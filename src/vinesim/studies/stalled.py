"""The points of a sweep at which runs stalled: their numbers cover only the tasks that could start."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from vinesim.model.result import ExitReason
from vinesim.studies.points import group
from vinesim.studies.run import named
from vinesim.studies.sweep import Sweep

MOST_POINTS = 5  # named in a sentence


class Stalled(NamedTuple):
    """A point of which runs stalled."""

    point: dict[str, Any]  # its labels by axis
    stalled: int
    runs: int

    @property
    def words(self) -> str:
        """The point, and how many of its runs."""
        return f"{named(self.point) or 'the scenario'}: {self.stalled:,} of {self.runs:,} runs"


def stalled_points(sweep: Sweep) -> list[Stalled]:
    """Return the points with stalled runs, in the order of the study."""
    table = sweep.table
    if "exit_reason" not in table or not table.n_rows:
        return []
    axes = list(sweep.study.columns)
    found = []
    for labels, rows in group(table, axes).items():
        n = int((table["exit_reason"][rows] == ExitReason.STALLED).sum())
        if n:
            found.append(Stalled(dict(zip(axes, labels, strict=True)), n, len(rows)))
    return found


def stalled_head(points: Sequence[Stalled]) -> str:
    """Return how many runs stalled, and what that means for numbers, without the points."""
    n = sum(one.stalled for one in points)
    return f"{n:,} run{'s' * (n != 1)} STALLED: some tasks can never start; the numbers cover only the others"


def stalled_note(points: Sequence[Stalled]) -> str | None:
    """Return what to tell of a sweep with stalled runs; None if it has none."""
    if not points:
        return None
    rest = len(points) - MOST_POINTS
    more = f"; and {rest:,} more point{'s' * (rest != 1)}" if rest > 0 else ""
    return f"{stalled_head(points)}: {'; '.join(one.words for one in points[:MOST_POINTS])}{more}."
