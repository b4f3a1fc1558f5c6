"""``vinesim compare`` of two folders: two sweeps at the points that both have, or two runs by what jobs are labelled
with."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from vinesim.cli.tables import print_error
from vinesim.cli.terminal import output, say
from vinesim.formats.results.folder import to_json
from vinesim.formats.results.table import Table
from vinesim.formats.results.tables import open_result
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.metrics.by import side_by_side
from vinesim.metrics.numbers import numbers, shown_number
from vinesim.model.errors import InputError, Problem
from vinesim.pages.two_runs import SHOWN, names_of, numbers_of_both, shown_numbers
from vinesim.pages.two_sweeps import compared_sweeps
from vinesim.pages.write import are_sweeps
from vinesim.report.breakdown import MAX_ROWS, by_axis, compared_of, title_of
from vinesim.studies.backtest_record import record_of, record_of_run
from vinesim.studies.sweep_notes import notes_of_both, stalled_points

if TYPE_CHECKING:
    from rich.console import OverflowMethod
    from rich.table import Table as Printed

OF_SWEEPS = ("baseline",)  # options that do not go with two sweeps
OF_RUNS = ("baseline", "better", "confidence", "correction")  # and with two runs


def compare_two(
    ctx: typer.Context, folders: tuple[Path, Path], by: str | None, of: str | None, given: dict[str, Any], as_json: bool
) -> None:
    """Print the comparison of two folders in one number, or in the numbers that their page shows. Raises
    :class:`InputError`."""
    if are_sweeps(*folders):
        _refuse(ctx, OF_SWEEPS, "Two sweeps are compared point by point.")
        _two_sweeps(folders, by, of, given, as_json)
    else:
        _refuse(ctx, OF_RUNS, "Two runs have no replications: sweep both, with the same seeds.")
        if by is None:
            _all_jobs(folders, of, as_json)
        else:
            _two_runs(folders, by, of, as_json)


def _refuse(ctx: typer.Context, names: Sequence[str], remedy: str) -> None:
    sources = {name: ctx.get_parameter_source(name) for name in names}
    given = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    if given:
        raise InputError([Problem(f"--{name}", "the folder of one sweep", "two folders", remedy) for name in given])


def _two_sweeps(
    folders: tuple[Path, Path], by: str | None, of: str | None, given: dict[str, Any], as_json: bool
) -> None:
    from vinesim.cli.compare import document, print_comparison
    from vinesim.studies.labels import by_label, check_recorded
    from vinesim.studies.sweep import read_sweep

    sweeps = [read_sweep(folder) for folder in folders]
    compared, wanted = sweeps, [of] if of else None
    if by is not None and any(by not in sweep.study.columns for sweep in sweeps):
        for sweep in sweeps:
            check_recorded(sweep, [by])
        compared = [by_label(sweep, by) for sweep in sweeps]
        wanted = wanted or compared_of([sweep.table for sweep in compared])
    found = compared_sweeps(names_of(*folders), compared, wanted, **given)
    if as_json:
        notes = {
            "stalled": [[one._asdict() for one in stalled_points(sweep)] for sweep in sweeps],
            "backtests": [record_of(sweep.study) for sweep in sweeps],
        }
        output().write(to_json({"by": by, "comparisons": [document(one) for one in found], **notes}))
        return
    for one in found:
        print_comparison(one)
    for note in notes_of_both(dict(zip(names_of(*folders), sweeps, strict=True))):
        say(note)


def _two_runs(folders: tuple[Path, Path], by: str, of: str | None, as_json: bool) -> None:
    tables, problems = [], []
    for folder in folders:
        with open_result(folder) as result:
            try:
                tables.append(by_axis(result, by))
            except InputError as error:
                problems += [replace(problem, at=f"{folder}: {problem.at}") for problem in error.problems]
    if problems:
        raise InputError(problems)
    one, other = tables
    known = [name for name in one if name != by and name in other]
    if of is not None and of not in known:
        raise InputError([Problem("--of", f"one of {', '.join(known)}", of, did_you_mean(of, known))])
    errors = list(map(record_of_run, folders))
    found = {name: side_by_side(one, other, name) for name in ([of] if of else compared_of((one, other)))}
    if as_json:
        numbers_of_all = {name: _rows(table) for name, table in found.items()}
        output().write(to_json({"by": by, "numbers": numbers_of_all, "backtests": errors}))
        return
    for name, table in found.items():
        _print(by, name, names_of(*folders), table)
    _print_errors(errors)


def _all_jobs(folders: tuple[Path, Path], of: str | None, as_json: bool) -> None:
    """Print the numbers of two runs next to each other."""
    from vinesim.cli.console import Console

    with open_result(folders[0]) as one, open_result(folders[1]) as other:
        found = numbers_of_both(one, other, [of] if of else SHOWN)
        if not found.n_rows:
            known = sorted(numbers(one.summary))
            raise InputError([Problem("--of", "a number of both runs", str(of), did_you_mean(str(of), known))])
    errors = list(map(record_of_run, folders))
    if as_json:
        output().write(to_json({"numbers": _rows(found), "backtests": errors}))
        return
    printed = _printed("", "ellipsis", names_of(*folders))
    for row in shown_numbers(found):
        printed.add_row(*row)
    Console().print(printed)
    _print_errors(errors)


def _print_errors(errors: list[dict[str, Any] | None]) -> None:
    """Print the errors of the model in two runs, once if they are the same."""
    for error in errors[: 1 if errors[0] == errors[1] else 2]:
        print_error(error)


def _printed(title: str, overflow: "OverflowMethod", names: Sequence[str]) -> "Printed":
    """Return a table to be printed, still without rows: something, its numbers in two folders, and how these differ."""
    from rich.box import SIMPLE
    from rich.table import Table as Printed

    printed = Printed(box=SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    printed.add_column(title, overflow=overflow)
    for name in (*names, "second - first", "ratio"):
        printed.add_column(name, justify="right", overflow="fold")
    return printed


def _rows(table: Table) -> list[dict[str, Any]]:
    columns = [column.tolist() for column in table.values()]
    return [dict(zip(table, row, strict=True)) for row in zip(*columns, strict=True)]


def _print(by: str, number: str, names: list[str], found: Table) -> None:
    from vinesim.cli.console import Console
    from vinesim.model.titles import number_title

    console, printed = Console(), _printed(title_of(by), "fold", names)
    for i in range(min(found.n_rows, MAX_ROWS)):
        shown = [shown_number(number, float(found[name][i])) for name in ("first", "second", "difference")]
        ratio = found["ratio"][i]
        printed.add_row(str(found["label"][i]), *shown, "-" if ratio != ratio else f"{ratio:.4g}")
    console.print(f"{number_title(number).words} by {title_of(by)}", style="italic")
    console.print(printed)
    if found.n_rows > MAX_ROWS:
        console.print(f"... and {found.n_rows - MAX_ROWS:,} more; --json has them all.")
