"""``vinesim plan``: the best choices of a plan within its limits."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from vinesim.cli.exit_codes import ExitCode
from vinesim.cli.stopping import SIGNALS, message_printer, raising_on
from vinesim.cli.terminal import output


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan")(plan)


def plan(
    file: Path = typer.Argument(..., metavar="PLAN.yaml", help="Plan file, or the folder of a plan."),
    out: Path = typer.Option(
        None,
        metavar="DIR",
        help="Folder of the runs, needed for a plan file. Runs that it already holds are not repeated.",
    ),
    changes: list[str] = typer.Option(
        [],
        "--set",
        metavar="KEY=VALUE",
        help="Answer again from the runs of a plan's folder, with other prices, limits or costs; nothing is run.",
    ),
    backend: str = typer.Option("loky", help="loky (processes on this machine), dask or ray."),
    workers: int = typer.Option(None, metavar="N", help="Worker processes; default: one per core; 1: this process."),
    address: str = typer.Option(None, metavar="ADDR", help="Address of a running Dask scheduler or Ray cluster."),
    as_json: bool = typer.Option(False, "--json", help="Print the answer as JSON and nothing else."),
) -> None:
    """Search for the best choices of a plan within its limits, confirm them, and say why."""
    from vinesim.model.errors import InputError, Problem
    from vinesim.plans.solve import plan as solve

    if changes:
        _again(file, out, changes, as_json)
        return
    if file.is_dir():
        out = out or file
        file = file_in(file)
    elif out is None:
        raise InputError([Problem("--out", "a folder for the runs", "none", "Add --out DIR.")])
    with _watching(quiet=as_json) as (on_step, on_message):
        found = solve(
            file, out, backend=backend, workers=workers, address=address, on_step=on_step, on_message=on_message
        )
    from vinesim.pages.plan import write_plan_page

    write_plan_page(out)
    if as_json:
        from vinesim.formats.results.folder import to_json
        from vinesim.plans.record import as_document

        output().write(to_json(as_document(found)))
    else:
        from vinesim.cli.plan_table import print_answer

        print_answer(found, out)
    if found.ended == "interrupted":
        raise typer.Exit(ExitCode.INTERRUPTED)
    if found.recommended is None:
        raise typer.Exit(ExitCode.NO_PLAN)


def _again(folder: Path, out: Path | None, changes: list[str], as_json: bool) -> None:
    """Answer a stored plan with other values, and print that; the folder stays as it is."""
    from vinesim.cli.study_changes import changed_study
    from vinesim.formats.plan.document import PlanDocument
    from vinesim.formats.plan.file import read_plan
    from vinesim.formats.results.folder import to_json
    from vinesim.formats.scenario.document import ScenarioDocument
    from vinesim.formats.source.suggestions import did_you_mean
    from vinesim.formats.source.yaml_source import steps_of
    from vinesim.model.errors import InputError, Problem
    from vinesim.plans.again import answered_again
    from vinesim.plans.record import as_document

    if not folder.is_dir() or out is not None:
        expected, remedy = "the folder of a plan, without --out", "Change the plan file, and run it."
        raise InputError([Problem("--set", expected, "a plan file" if folder.is_file() else "--out", remedy)])
    file = file_in(folder)
    keys = {change: str((steps_of(change.partition("=")[0].strip()) or ("",))[0]) for change in changes}
    known = [*PlanDocument.model_fields, *ScenarioDocument.model_fields]
    if unknown := {change: key for change, key in keys.items() if key and key not in known}:
        expected = "a key of the plan or of its scenario"
        raise InputError(
            [Problem(f"--set {change}", expected, key, did_you_mean(key, known)) for change, key in unknown.items()]
        )
    own = [change for change, key in keys.items() if key in PlanDocument.model_fields]
    was, asked = read_plan(file), read_plan(file, own)
    if prices := [change for change in changes if change not in own]:
        asked = replace(asked, space=changed_study(asked.space, prices))
    found = answered_again(folder, was, asked)
    if as_json:
        output().write(to_json(as_document(found)))
    else:
        from vinesim.cli.plan_table import print_answer

        print_answer(found, None)
    if found.recommended is None:
        raise typer.Exit(ExitCode.NO_PLAN)


def file_in(folder: Path) -> Path:
    """Return the plan file in a plan's folder, whose inputs are all there. Raises :class:`InputError`."""
    from vinesim.model.errors import InputError, Problem
    from vinesim.studies.origin import read_origin

    if not (name := read_origin(folder, "plan")["file"]):
        raise InputError([Problem(str(folder), "the folder of a plan from a file", "one that was made in Python")])
    return folder / name


@contextmanager
def _watching(quiet: bool) -> Iterator[tuple[Any, Any]]:
    """Provide ``on_step`` and ``on_message``: a line on standard error with the stage, the runs and the best so far.

    Ctrl-C or SIGTERM ends the search with the answer so far.
    """
    from vinesim.cli.console import Console

    console = Console(stderr=True)
    status = console.status("planning") if console.is_terminal and not quiet else None

    def on_step(board: Any) -> None:
        if status is not None:
            best = "" if board.best is None else f", best {board.best.value():.6g}"
            status.update(f"{board.stage}: {board.runs.n_asked:,} of {board.plan.budget.runs:,} runs{best}")

    if status is not None:
        status.start()
    try:
        with raising_on(*SIGNALS):
            yield on_step, message_printer(lambda: console, quiet)
    finally:
        if status is not None:
            status.stop()
