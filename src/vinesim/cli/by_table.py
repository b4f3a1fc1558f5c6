"""The jobs of a run broken down by what is known of them, as tables on a terminal and as JSON."""

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE
from rich.table import Table

from vinesim.cli.console import Console
from vinesim.model.errors import InputError
from vinesim.report.breakdown import evenness, shown, title_of
from vinesim.result import Result

LEFT_OUT = (
    "p50 wait",
    "p90 wait",
    "finished",
    "p99 latency",
    "p99 wait",
    "mean latency",
    "cost",
    "energy",
    "work",
    "mean per token",
    "mean first token",
    "slowdown",
)
MAX_ROWS = 40
WIDEST = 1000


def print_by(result: Result, axes: Sequence[str]) -> None:
    """Print a table for each axis, with as many columns as fit. Raises :class:`InputError`."""
    console = Console()
    for axis in axes:
        rows = result.by(axis)
        titles, lines = shown(rows, MAX_ROWS)
        keep = list(range(len(titles)))
        for title in (None, *LEFT_OUT):
            keep = [k for k in keep if titles[k] != title]
            table = _table(axis, [titles[k] for k in keep], [[line[k] for k in keep] for line in lines])
            if console.measure(table, options=console.options.update(width=WIDEST)).maximum <= console.width:
                break
        console.print(table)
        if rows.n_rows > MAX_ROWS:
            console.print(f"... and {rows.n_rows - MAX_ROWS:,} more with less work; --json has them all.")
        if text := evenness(rows):
            console.print(text)


def as_document(result: Result, axes: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each axis. Raises :class:`InputError`."""
    found = {}
    for axis in axes:
        columns = {name: column.tolist() for name, column in result.by(axis).items()}
        found[axis] = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return found


def check_axes(result: Result, axes: Sequence[str]) -> None:
    """Raise :class:`InputError` with every axis that the run lacks."""
    problems = []
    for axis in axes:
        try:
            result.by(axis)
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)


def _table(axis: str, titles: list[str], lines: list[list[str]]) -> Table:
    table = Table(title=f"By {title_of(axis)}", title_justify="left", box=SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    for k, title in enumerate(titles):
        table.add_column(
            title, justify="right" if k else "left", overflow="fold" if not k else "ellipsis", no_wrap=k > 0
        )
    for line in lines:
        table.add_row(*line)
    return table
