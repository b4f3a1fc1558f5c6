"""Treat labels of jobs, such as users or hours, as one more axis of a sweep.

A study that records ``by.user`` has numbers such as ``by.user.ann.wait_us``. With the axis ``user`` they become rows:
one per run and label, with the numbers ``wait_us``, ``latency_us`` and so on.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from vinesim.formats.results.table import Table
from vinesim.metrics.by import BY
from vinesim.model.errors import InputError, Problem
from vinesim.model.python_file import split_file
from vinesim.model.study import OWN_COLUMNS, Axis

if TYPE_CHECKING:
    from vinesim.studies.sweep import Sweep

_RUN_NUMBERS = {  # number of a label, without percentiles -> number of a run with the same better direction
    "wait_us": "jobs.wait_us",
    "latency_us": "jobs.latency_us",
    "slowdown": "jobs.bounded_slowdown",
    "finished": "jobs.finished",
    "refused": "jobs.refused",
    "energy_j": "energy_j",
    "first_token_us": "serving.first_token_us",
    "token_us": "serving.token_us",
    "goodput_pct": "serving.goodput_pct",
}


def axes_of_jobs(record: Iterable[str]) -> list[str]:
    """Return the axes of the jobs that a study's ``record`` names."""
    return [name.removeprefix(BY) for name in record if name.startswith(BY) and not split_file(name)[0]]


def check_recorded(sweep: "Sweep", axes: list[str]) -> None:
    """Raise :class:`InputError` with every axis of the jobs that a sweep did not record."""
    there, own = axes_of_jobs(sweep.study.record), sweep.study.columns
    expected = f"one of {', '.join(there)}" if there else "an axis of the jobs that the study records"
    if problems := [
        Problem("--by", expected, f"{axis}, an axis of the sweep", f"Its labels have rows without --by {axis}.")
        if axis in own
        else Problem("--by", expected, axis, how_to_record(axis))
        for axis in axes
        if axis not in there
    ]:
        raise InputError(problems)


def how_to_record(axis: str) -> str:
    """Return the remedy for an axis of the jobs that a study does not record."""
    return f"If it is of the jobs, the study has to record it: record: [{BY}{axis}]."


def by_label(sweep: "Sweep", axis: str) -> "Sweep":
    """Return the sweep with a recorded axis of its jobs as the last of its axes; unchanged for any other name."""
    if axis in sweep.study.columns or axis not in axes_of_jobs(sweep.study.record):
        return sweep
    table, start = sweep.table, f"{BY}{axis}."
    names = [name.removeprefix(start).rpartition(".") for name in table if name.startswith(start)]
    labels = sorted({label for label, _, _ in names}, key=_order)
    if not labels:
        return sweep
    of_run = {name: table[name] for name in (*OWN_COLUMNS, *sweep.study.columns)}
    rows = {name: np.repeat(column, len(labels)) for name, column in of_run.items()}
    rows[axis] = np.array(labels * table.n_rows, object)
    for number in dict.fromkeys(number for _, _, number in names):
        none = np.full(table.n_rows, np.nan)
        columns = [table[name] if (name := f"{start}{label}.{number}") in table else none for label in labels]
        rows[number] = np.column_stack(columns).astype(np.float64).ravel()
    one_more = Axis((axis,), tuple((label,) for label in labels), ({},) * len(labels))
    study = replace(sweep.study, axes=(*sweep.study.axes, one_more))
    return replace(sweep, study=study, _rows=Table(rows))


def number_of_a_label(number: str) -> str:
    """Return the number of a run with the same better direction; any other name is returned unchanged."""
    last = number.rpartition(".")[2] if number.startswith(BY) else number
    return _RUN_NUMBERS.get(re.sub(r"_p[0-9.]+_us$", "_us", last), number)


def _order(label: str) -> tuple[float, str]:
    """Return a sort key: sizes and hours by number, then names."""
    first = re.match(r"\d+", label)
    return (float(first[0]) if first else np.inf), label
