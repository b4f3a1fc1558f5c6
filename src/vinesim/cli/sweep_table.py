"""The points of a sweep as a table that fits on a terminal, and as JSON."""

import math
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from vinesim.cli.shown import axis_columns
from vinesim.formats.results.table import Table
from vinesim.metrics.by import BY
from vinesim.metrics.numbers import in_order, shown_number
from vinesim.model.result import ExitReason
from vinesim.report.breakdown import COLUMNS
from vinesim.studies.backtest_record import error_note, record_of
from vinesim.studies.points import plain
from vinesim.studies.rows import number_columns
from vinesim.studies.same_workload import same_workload
from vinesim.studies.sweep_notes import NOISE, equal_note, missing_note, overload_note, stalled_head, stalled_points

if TYPE_CHECKING:
    from vinesim.studies.sweep import Failure, Sweep

WIDTH = 100
MAX_POINTS, MAX_FAILURES = 40, 10
MAX_OF_A_WORD = 6  # numbers that a word of `record` brings into the table
ACTIVE = "utilization.active.overall"
MAIN = {  # number -> title; a second table has those that do not fit in the first
    "jobs.latency_us.mean": "latency, mean",
    "jobs.latency_us.p99": "latency, p99",
    "utilization.overall": "utilisation",
    ACTIVE: "active",
    "deadlines.missed_pct": "missed",
    "serving.first_token_us.p99": "first token, p99",
    "serving.token_us.p99": "per token, p99",
    "serving.goodput_pct": "within both times",
    "makespan_us": "makespan",
    "energy_j": "energy",
    "energy.cost": "electricity",
    "cost.purchase": "purchase",
}

OF_LABELS = {name: title for name, (title, _) in COLUMNS.items()}  # the same of the jobs of each label


def print_sweep(sweep: "Sweep", out: Path) -> None:
    """Print what was done, the points with their main numbers, what failed, and how to continue."""
    from vinesim.cli.console import Console

    console = Console(soft_wrap=True)
    table = sweep.table
    print_points(sweep)
    n_new = sweep.n_runs - sweep.n_found - len(sweep.failures)
    there = f", {sweep.n_found:,} found in the folder" if sweep.n_found else ""
    console.print(f"{sweep.n_runs:,} runs: {n_new:,} done now{there}.")
    _print_unfinished(console, table)
    _print_failures(console, sweep.failures)
    _print_stalled(console, sweep)
    for note in (overload_note(sweep), equal_note(sweep), same_workload(sweep.study), error_note(sweep.study)):
        if note:
            console.print(note)
    console.print(f"The sweep is in {out}. Query it with DuckDB, even while it runs:")
    console.print(f"  SELECT * FROM read_parquet('{out}/runs/*.parquet', union_by_name = true)")  # noqa: S608
    console.print(f"In Python, read it with vinesim.read_sweep('{out}'). For an HTML page: vinesim report {out}")


def print_points(sweep: "Sweep") -> None:
    """Print the points of a sweep with their main numbers."""
    from vinesim.cli.console import Console

    if sweep.table.n_rows:
        _print_points(Console(soft_wrap=True), sweep, sweep.table)


def as_document(sweep: "Sweep") -> dict[str, Any]:
    """Return the sweep for ``--json``: runs, failures, points with stalled runs, and each point with the mean and
    interval of its numbers."""
    return {
        "runs": sweep.n_runs,
        "found": sweep.n_found,
        "missing": missing_note(sweep),
        "failures": [dict(vars(failure)) for failure in sweep.failures],
        "stalled": [one._asdict() for one in stalled_points(sweep)],
        "overloaded": overload_note(sweep),
        "equal_replications": equal_note(sweep),
        "same_workload": same_workload(sweep.study),
        "backtest": record_of(sweep.study),
        "points": _points(sweep),
    }


def _points(sweep: "Sweep") -> list[dict[str, Any]]:
    from vinesim.studies.statistics import summarize_points

    table, axes = sweep.table, list(sweep.study.columns)
    names = [name for name in number_columns(table, axes) if table[name].dtype.kind == "f"]
    found = summarize_points(table, ["point", *axes], names) if table.n_rows else Table({"point": np.empty(0)})
    rows = []
    for i in range(found.n_rows):
        numbers = {
            name: {part: plain(found[f"{name}.{part}"][i]) for part in ("n", "mean", "low", "high")} for name in names
        }
        rows.append({"point": {name: plain(found[name][i]) for name in axes}, "numbers": numbers})
    return rows


def _print_points(console: Any, sweep: "Sweep", table: Table) -> None:
    from rich.box import SIMPLE
    from rich.table import Table as RichTable

    from vinesim.studies.statistics import summarize_points

    axes = list(sweep.study.columns)
    names = [name for name in _main(sweep) if name in table and not (name == ACTIVE and _is_known(table))]
    found = summarize_points(table, ["point", *axes], names)
    shown = range(min(found.n_rows, MAX_POINTS))
    of_axes = axis_columns({name: found[name][: len(shown)] for name in axes}, is_short=True)
    labels = [_Column(title, cells, "left") for title, cells in of_axes.items()]
    if stalled := {tuple(one.point.values()): f"{one.stalled:,} of {one.runs:,}" for one in stalled_points(sweep)}:
        keys = [tuple(plain(found[name][i]) for name in axes) for i in shown]
        labels.append(_Column("stalled", [stalled.get(key, "") for key in keys], "left"))
    titles = MAIN | OF_LABELS
    columns = [_Column(titles.get(name, name), [_cell(found, name, i) for i in shown], "right") for name in names]
    columns, same = _varying(columns)
    title = sweep.study.description or None
    for part in _in_width(labels, columns, min(WIDTH, console.width)):
        rich = RichTable(box=SIMPLE, pad_edge=False, title=title, title_justify="left")
        title = None
        for column in part:
            rich.add_column(column.title, justify=column.justify, no_wrap=True)
        for cells in zip(*(column.cells for column in part), strict=True):
            rich.add_row(*cells)
        console.print(rich, no_wrap=True)
    if same:
        console.print(f"At every point: {', '.join(f'{column.title} {column.cells[0]}' for column in same)}.")
    if len(shown) > 1 and columns and all(len(set(column.cells)) == 1 for column in columns):
        console.print("None of these numbers differs between the points.")
    if found.n_rows > MAX_POINTS:
        console.print(f"... and {found.n_rows - MAX_POINTS:,} more points.")
    if any("±" in cell for column in [*columns, *same] for cell in column.cells):
        console.print("±: half the width of the 95 % confidence interval of the mean over the replications.")


def _is_known(table: Table) -> bool:
    """Whether the column of active times would repeat the column of utilisation."""
    name = "utilization.overall"
    return name in table and np.allclose(table[name], table[ACTIVE], rtol=0, atol=NOISE, equal_nan=True)


class _Column(NamedTuple):
    title: str
    cells: list[str]
    justify: Literal["left", "right"]


def _varying(columns: list[_Column]) -> tuple[list[_Column], list[_Column]]:
    """Return the columns of numbers that differ between points, and those that do not; if none differs, as with one
    point, all are among the first."""
    same = [column for column in columns if len(set(column.cells)) == 1]
    if len(same) == len(columns):
        return columns, []
    return [column for column in columns if column not in same], same


def _in_width(labels: list[_Column], columns: list[_Column], width: int) -> list[list[_Column]]:
    """Return tables of at most ``width`` characters, each with the labels and at least one of the columns."""

    def taken(found: list[_Column]) -> int:
        return sum(max(len(column.title), *map(len, column.cells)) + 3 for column in found)

    parts = [list(labels)]
    for column in columns:
        if len(parts[-1]) > len(labels) and taken([*parts[-1], column]) > width:
            parts.append(list(labels))
        parts[-1].append(column)
    return parts


def _main(sweep: "Sweep") -> list[str]:
    """Return the numbers to show: first those that the study records or aims at, then the others.

    A word of ``record`` stands for all numbers that begin with it; unless some of them are shown anyway, the first few
    are.
    """
    if "jobs" in number_columns(sweep.table, sweep.study.columns):  # of each label
        return [name for name in OF_LABELS if name in sweep.table]
    wanted = [sweep.study.until.of] if sweep.study.until is not None else []
    for word in (word for word in sweep.study.record if not word.startswith(BY)):  # `show --by` has those
        numbers = [name for name in sweep.table if f"{name}.".startswith(f"{word}.")]
        if not any(name in MAIN for name in numbers):
            wanted += sorted(numbers, key=in_order)[:MAX_OF_A_WORD]
    return list(dict.fromkeys([*wanted, *MAIN]))


def _cell(found: Table, name: str, row: int) -> str:
    mean = float(found[f"{name}.mean"][row])
    half = (float(found[f"{name}.high"][row]) - float(found[f"{name}.low"][row])) / 2
    if math.isnan(mean):
        return "-"
    half = 0.0 if half < NOISE * abs(mean) else half
    return shown_number(name, mean) + ("" if math.isnan(half) else f" ± {shown_number(name, half)}")


def _print_unfinished(console: Any, table: Table) -> None:
    reasons = Counter(table.get("exit_reason", np.empty(0)))
    for reason in (ExitReason.ALL_DONE, ExitReason.STALLED):
        reasons.pop(reason, None)
    for reason, n in reasons.items():
        console.print(f"{n:,} runs ended with {reason}: their latencies cover only the jobs that finished.")


def _print_stalled(console: Any, sweep: "Sweep") -> None:
    points = stalled_points(sweep)
    if not points:
        return
    console.print(f"{stalled_head(points)}:")
    for point in points[:MAX_FAILURES]:
        console.print(f"  {point.words}")
    if len(points) > MAX_FAILURES:
        console.print(f"  ... and {len(points) - MAX_FAILURES:,} more points")


def _print_failures(console: Any, failures: "tuple[Failure, ...]") -> None:
    from vinesim.studies.run import named

    if not failures:
        return
    console.print(f"{len(failures):,} runs FAILED; repeat the command to try them again:")
    for failure in failures[:MAX_FAILURES]:
        point = ", ".join(word for word in (named(failure.point), f"seed={failure.seed}") if word)
        message = ": ".join(map(str.strip, failure.message.splitlines()))  # a policy's has its line of code
        console.print(f"  {point}: {message}")
    if len(failures) > MAX_FAILURES:
        console.print(f"  ... and {len(failures) - MAX_FAILURES:,} more")
