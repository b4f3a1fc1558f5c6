"""Notes that a reader of a sweep's numbers needs: missing and stalled runs, overload, equal workloads, model error."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from vinesim.metrics.overload import BY_TYPE, WAIT, overload_of_points
from vinesim.model.result import ExitReason
from vinesim.studies.backtest_record import error_note
from vinesim.studies.points import group
from vinesim.studies.rows import number_columns
from vinesim.studies.run import named
from vinesim.studies.same_workload import same_workload
from vinesim.studies.statistics import summarize_points
from vinesim.studies.sweep import Sweep

NOISE = 1e-9  # relative to the mean: rounding differences between equal values
MOST_POINTS = 5  # at most this many are named in a sentence


class Stalled(NamedTuple):
    """A point with runs that stalled."""

    point: dict[str, Any]  # its labels by axis
    stalled: int
    runs: int

    @property
    def words(self) -> str:
        """The point and how many of its runs stalled, in words."""
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


def missing_note(sweep: Sweep) -> str | None:
    """Return a note about runs that failed or are not done; None if the sweep has the numbers of all its runs."""
    n_failed = len(sweep.failures)
    n_left = sweep.n_runs - n_failed - len(set(sweep.table["run_id"].tolist()))
    parts = [f"{n_failed:,} FAILED"] * (n_failed > 0) + [f"{n_left:,} are not done"] * (n_left > 0)
    if not parts:
        return None
    return f"Of {sweep.n_runs:,} runs {' and '.join(parts)}; repeating vinesim sweep does them."


def stalled_head(points: Sequence[Stalled]) -> str:
    """Return how many runs stalled, and what that means for numbers, without the points."""
    n = sum(one.stalled for one in points)
    return f"{n:,} run{'s' * (n != 1)} STALLED: some tasks can never start; the numbers cover only the others"


def stalled_note(points: Sequence[Stalled]) -> str | None:
    """Return a note about the stalled runs of a sweep; None if it has none."""
    if not points:
        return None
    rest = len(points) - MOST_POINTS
    more = f"; and {rest:,} more point{'s' * (rest != 1)}" if rest > 0 else ""
    return f"{stalled_head(points)}: {'; '.join(one.words for one in points[:MOST_POINTS])}{more}."


def overload_note(sweep: Sweep) -> str | None:
    """Return a sentence about the points of a sweep that are overloaded; None if none is."""
    names = [name for name in sweep.table if name.startswith(BY_TYPE) or name in ("jobs.count", WAIT)]
    if not names or not sweep.table.n_rows:
        return None
    means = summarize_points(sweep.table, ["point"], names)
    return overload_of_points({name: means[f"{name}.mean"] for name in names}) or None


def equal_note(sweep: Sweep) -> str | None:
    """Return a note about points whose replications are all equal; None if there are none."""
    table = sweep.table
    if not table.n_rows or not {"point", "replication"} <= set(table):
        return None
    names = number_columns(table, sweep.study.columns)
    order = np.lexsort((table["replication"], table["point"]))
    points, counts = np.unique(table["point"], return_counts=True)
    is_equal = counts > 1
    same = table["point"][order][1:] == table["point"][order][:-1]
    for name in names:
        values = table[name][order]
        differs = values[1:] != values[:-1]
        if values.dtype.kind == "f":
            differs &= ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
        is_equal[np.searchsorted(points, table["point"][order][1:][same & differs])] = False
    return equal_words(is_equal)


def equal_words(is_equal: np.ndarray) -> str | None:
    """Return the note about points, given [P] whether all replications of each are equal; None if none are."""
    if not is_equal.any():
        return None
    where = "" if is_equal.all() else f" of {is_equal.sum():,} of {len(is_equal):,} points"
    return f"All replications{where} are equal: the seed changed nothing, and intervals say nothing."


def notes_of(sweep: Sweep) -> list[str]:
    """Return the notes that a reader of comparisons within a sweep needs."""
    gaps = (missing_note(sweep), stalled_note(stalled_points(sweep)))
    notes = (*gaps, overload_note(sweep), equal_note(sweep), same_workload(sweep.study), error_note(sweep.study))
    return [said for said in notes if said]


def notes_of_both(sweeps: Mapping[str, Sweep]) -> list[str]:
    """Return the notes on two sweeps by name; a note that applies to both appears once."""
    found = {name: notes_of(sweep) for name, sweep in sweeps.items()}
    said = dict.fromkeys(note for notes in found.values() for note in notes)
    of = {note: [name for name, notes in found.items() if note in notes] for note in said}
    return [note if len(names) == len(found) else f"{', '.join(names)}: {note}" for note, names in of.items()]
