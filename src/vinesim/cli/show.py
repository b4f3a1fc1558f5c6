"""``vinesim show``: the numbers of a stored run or sweep, also others than were written, without running anything."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import typer

from vinesim.cli.terminal import output, say
from vinesim.model.errors import InputError, Problem


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("show")(show)


def show(
    folder: Path = typer.Argument(..., metavar="DIR", help="Folder of a run or a sweep."),
    changes: list[str] = typer.Option(
        [], "--set", metavar="KEY=VALUE", help="Other prices, powers or electricity, as in the scenario file."
    ),
    percentile: list[float] = typer.Option([], metavar="P", help="One more percentile of latencies, such as 99.5."),
    record: list[str] = typer.Option([], metavar="FILE.py:FUNCTION", help="Your own number: a function of a run."),
    by: list[str] = typer.Option(
        [],
        metavar="AXIS",
        help="Break the jobs down by user, partition, account, qos, application, task_type, size, hour.",
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the summary as JSON and nothing else."),
) -> None:
    """Show the numbers of a stored run or sweep under other prices, with more percentiles, and your own numbers.

    All numbers are computed from the tables in the folder; nothing is run.
    """
    from vinesim.formats.results.folder import STUDY

    if (folder / STUDY).exists():
        _sweep(folder, changes, {"--percentile": percentile, "--record": record}, by, as_json)
    else:
        _run(folder, changes, percentile, record, by, as_json)


def _run(
    folder: Path, changes: list[str], percentile: list[float], record: list[str], by: list[str], as_json: bool
) -> None:
    from vinesim.cli.by_table import as_document, check_axes, print_by
    from vinesim.cli.own import of_command, print_own
    from vinesim.cli.tables import LATENCIES, print_error, print_summary
    from vinesim.formats.results.folder import to_json
    from vinesim.model.run_numbers import QUANTILES
    from vinesim.studies.again import read_result
    from vinesim.studies.backtest_record import record_of_run

    percentiles = _quantiles(percentile)
    functions = of_command(record)
    quantiles = dict(sorted((QUANTILES | percentiles).items(), key=lambda item: item[1]))
    result = read_result(folder, changes=changes, quantiles=quantiles)
    check_axes(result, by)
    own, error = functions.of(result), record_of_run(folder)
    if as_json:
        more = ({"record": own} if record else {}) | ({} if error is None else {"backtest": error})
        output().write(to_json(result.summary | more | ({"by": as_document(result, by)} if by else {})))
        return
    names = {name: LATENCIES.get(name, f"p{100 * share:.10g}") for name, share in quantiles.items()}
    print_summary(result, None, {"mean": "mean", **names, "max": "max"})
    print_by(result, by)
    print_own(own)
    print_error(error)


def _sweep(
    folder: Path,
    changes: list[str],
    others: Mapping[str, list[str] | list[float]],
    by: list[str],
    as_json: bool,
) -> None:
    from vinesim.cli.study_changes import changed_study
    from vinesim.cli.sweep_table import as_document, print_points
    from vinesim.cli.tables import print_error
    from vinesim.formats.results.folder import to_json
    from vinesim.studies.backtest_record import record_of
    from vinesim.studies.labels import by_label, check_recorded
    from vinesim.studies.repriced import repriced
    from vinesim.studies.sweep import read_sweep
    from vinesim.studies.sweep_notes import missing_note, stalled_note, stalled_points

    if given := [name for name, values in others.items() if values]:
        remedy = "Run one point with `vinesim run DIR --point N --out RUN`, and ask that."
        expected = "the folder of a run, which has tables"
        raise InputError([Problem(name, expected, "that of a sweep, which has numbers only", remedy) for name in given])
    stored = read_sweep(folder)
    swept = replace(stored, n_found=stored.table.n_rows, _rows=stored.table)
    check_recorded(swept, by)
    found = repriced(swept, changed_study(swept.study, changes)) if changes else swept
    labelled = {axis: by_label(found, axis) for axis in by}
    if as_json:
        parts = {axis: as_document(one)["points"] for axis, one in labelled.items()}
        output().write(to_json(as_document(found) | ({"by": parts} if by else {})))
        return
    print_points(found)
    for one in labelled.values():
        print_points(one)
    for note in (missing_note(swept), stalled_note(stalled_points(swept))):
        if note:
            say(note)
    print_error(record_of(found.study))


def _quantiles(percentiles: list[float]) -> dict[str, float]:
    """Return the shares by name: p99_5 for 99.5."""
    if wrong := [each for each in percentiles if not 0 < each < 100]:
        raise InputError([Problem("--percentile", "a number above 0 and below 100", f"{each:g}") for each in wrong])
    return {f"p{each:.10g}".replace(".", "_"): each / 100 for each in percentiles}
