"""The part of a run's page that breaks its jobs down by user, partition, size and the other axes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from vinesim.formats.results.table import Table
from vinesim.formats.results.tables import ResultTables
from vinesim.formats.source.quantities import time_or_dash
from vinesim.metrics.by import NONE, OWN, TABLES, by, side_by_side
from vinesim.metrics.fairness import jain
from vinesim.metrics.numbers import written
from vinesim.report.markup import note, table

MAX_ROWS = 24  # rows of a table; labels with less work are left out
COLUMNS = {  # column -> title and format
    "jobs": ("jobs", lambda n: f"{n:,}"),
    "finished": ("finished", lambda n: f"{n:,}"),
    "refused": ("refused", lambda n: f"{n:,}"),
    "work": ("work", lambda share: _unless_nan(share, "{:.1%}")),
    "wait_us": ("mean wait", time_or_dash),
    "wait_p50_us": ("p50 wait", time_or_dash),
    "wait_p90_us": ("p90 wait", time_or_dash),
    "wait_p99_us": ("p99 wait", time_or_dash),
    "latency_us": ("mean latency", time_or_dash),
    "latency_p99_us": ("p99 latency", time_or_dash),
    "first_token_us": ("mean first token", time_or_dash),
    "first_token_p99_us": ("p99 first token", time_or_dash),
    "token_us": ("mean per token", time_or_dash),
    "token_p99_us": ("p99 per token", time_or_dash),
    "goodput_pct": ("within both times", lambda percent: f"{percent:.1f} %"),
    "slowdown": ("slowdown", lambda value: _unless_nan(value, "{:,.4g}")),
    "utilization": ("utilisation", lambda share: f"{share:.1%}"),
    "energy_j": ("energy", lambda value: _unless_nan(value, "{:,.4g} J" if abs(value) < 1000 else "{:,.0f} J")),
    "cost": ("cost", lambda value: "-" if value != value else written(value)),
}
EXPLAINED = (
    "Waits are all times without a unit until a job's last start. Work is the capacity held times the time, as a share "
    "of all; utilisation is the same as a share of what all units could do. Energy is that of the active units, "
    "divided by what each job held of them; cost is the price of the units times the share that a job held."
)


COMPARED = ("wait_us", "wait_p99_us", "first_token_p99_us", "token_p99_us", "slowdown", "utilization")  # of two runs


def breakdown(result: ResultTables) -> str:
    """Return a table for each axis with more than one label; empty if there is none."""
    found = _by_axis(result)
    text = "".join(_table(axis, rows) for axis, rows in found.items() if rows.n_rows > 1)
    return text and text + note(EXPLAINED)


def breakdown_of_two(names: Sequence[str], one: ResultTables, other: ResultTables) -> str:
    """Return a table for each common axis on which either run has more than one label; empty if there is none."""
    first, second = _by_axis(one), _by_axis(other)
    text = ""
    for axis in [axis for axis in first if axis in second]:
        both = first[axis], second[axis]
        found = {name: side_by_side(*both, name) for name in compared_of(both)}
        labels = found["wait_us"]["label"].tolist()
        if len(labels) < 2:
            continue
        columns = [(name, rows[which]) for name, rows in found.items() for which in ("first", "second")]
        lines = [[label, *(_cell(*column, i) for column in columns)] for i, label in enumerate(labels[:MAX_ROWS])]
        titles = [f"{COLUMNS[name][0]}, {name_of}" for name in found for name_of in names]
        more = [f"{len(labels) - MAX_ROWS:,} more with less work."] if len(labels) > MAX_ROWS else []
        even = [f"{name}: {said}" for name, rows in zip(names, both, strict=True) if (said := evenness(rows))]
        text += table(f"By {title_of(axis)}", [title_of(axis), *titles], lines) + note(" ".join([*more, *even]))
    return text


def compared_of(both: Sequence[Table]) -> list[str]:
    """Return the numbers by which the labels of two runs or sweeps are compared, as far as both have them."""
    return [name for name in COMPARED if all(name in rows for rows in both)]


def _cell(name: str, values: np.ndarray, i: int) -> str:
    return "-" if np.isnan(values[i]) else COLUMNS[name][1](values[i])


def by_axis(result: ResultTables, axis: str) -> Table:
    """Return a row per label of a stored run on an axis. Raises :class:`InputError` for an axis that it lacks."""
    return by({name: result.table(name) for name in TABLES}, result.summary, axis)


def _by_axis(result: ResultTables) -> dict[str, Table]:
    return {axis: by_axis(result, axis) for axis in [*result.kinds_of_labels, *OWN]}


def shown(rows: Table, most: int = MAX_ROWS) -> tuple[list[str], list[list[str]]]:
    """Return a breakdown's titles and first rows as text, without columns that are unknown everywhere."""
    axis = next(iter(rows))
    names = [name for name in COLUMNS if name in rows and not _is_unknown(rows[name])]
    titles = [title_of(axis), *(COLUMNS[name][0] for name in names)]
    lines = [
        [str(rows[axis][i]), *(COLUMNS[name][1](rows[name][i]) for name in names)]
        for i in range(min(most, rows.n_rows))
    ]
    return titles, lines


def title_of(axis: str) -> str:
    """Return an axis in words."""
    return {"hour": "hour of arrival", "size": "units or cores held"}.get(axis, axis.replace("_", " "))


def evenness(rows: Table) -> str:
    """Describe how even the mean slowdowns of the groups are; empty if fewer than two groups have one.

    Jobs without a label do not count.
    """
    known = rows["slowdown"][np.isfinite(rows["slowdown"]) & (rows[next(iter(rows))] != NONE)]
    return f"Jain's index of the mean slowdowns: {jain(known):.4g} (1: all are equal)." if len(known) > 1 else ""


def _table(axis: str, rows: Table) -> str:
    titles, lines = shown(rows)
    more = f"{rows.n_rows - MAX_ROWS:,} more with less work. " if rows.n_rows > MAX_ROWS else ""
    text = more + evenness(rows)
    return table(f"By {title_of(axis)}", titles, lines) + (note(text) if text else "")


def _is_unknown(column: np.ndarray) -> bool:
    return bool(column.dtype.kind == "f" and np.isnan(column).all())


def _unless_nan(value: Any, form: str) -> str:
    return "-" if value != value else form.format(value)
