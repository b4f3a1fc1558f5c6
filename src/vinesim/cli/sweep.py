"""``vinesim sweep``: every run of a study, resumable, on one machine or many."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from vinesim.cli.exit_codes import ExitCode
from vinesim.cli.stopping import SIGNALS, message_printer, raising_on
from vinesim.cli.terminal import output, warn

if TYPE_CHECKING:
    pass


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sweep")(sweep)


def sweep(
    study: Path = typer.Argument(..., metavar="STUDY.yaml", help="Study file, or the folder of a sweep."),
    out: Path = typer.Option(
        None,
        metavar="DIR",
        help="Folder of the sweep, needed for a study file. Runs that it already holds are not repeated.",
    ),
    backend: str = typer.Option("loky", help="loky (processes on this machine), dask or ray."),
    workers: int = typer.Option(None, metavar="N", help="Worker processes; default: one per core; 1: this process."),
    address: str = typer.Option(None, metavar="ADDR", help="Address of a running Dask scheduler or Ray cluster."),
    shard: str = typer.Option(None, metavar="K/N", help="Run only part K of N, to split a sweep over N machines."),
    changes: list[str] = typer.Option([], "--set", metavar="KEY=VALUE", help="Change a value of the scenario."),
    as_json: bool = typer.Option(False, "--json", help="Print the points with their numbers as JSON and nothing else."),
) -> None:
    """Run every combination of a study's axes that is not done yet, then print a table of the points."""
    from vinesim.cli.exit_codes import of_sweep
    from vinesim.cli.study_changes import changed_study
    from vinesim.cli.unfinished import reasons_of
    from vinesim.formats.results.folder import STUDY
    from vinesim.formats.study.file import read_study
    from vinesim.model.errors import InputError, Problem
    from vinesim.policies.documents import checked_scenario
    from vinesim.studies.origin import read_origin
    from vinesim.studies.sweep import sweep as run

    if study.is_dir():
        read_origin(study, "sweep")
        out = out or study
        study = study / STUDY
    elif out is None:
        raise InputError([Problem("--out", "a folder for the sweep", "none", "Add --out DIR.")])
    found = read_study(study, checked_scenario)
    found = changed_study(found, changes) if changes else found
    with _watching(out, quiet=as_json) as (on_progress, on_message):
        done = run(
            found,
            out,
            backend=backend,
            workers=workers,
            address=address,
            shard=_shard(shard),
            on_progress=on_progress,
            on_message=on_message,
        )
    if as_json:
        from vinesim.cli.sweep_table import as_document
        from vinesim.formats.results.folder import to_json

        output().write(to_json(as_document(done)))
    else:
        from vinesim.cli.sweep_table import print_sweep

        print_sweep(done, out)
    if code := of_sweep(reasons_of(done), len(done.failures)):
        raise typer.Exit(code)


def _shard(text: str | None) -> tuple[int, int] | None:
    from vinesim.model.errors import InputError, Problem

    if text is None:
        return None
    if not (match := re.fullmatch(r"(\d{1,9})/(\d{1,9})", text)):
        raise InputError([Problem("--shard", "K/N with K from 1 to N, such as 1/2", repr(text))])
    return int(match[1]), int(match[2])


@contextmanager
def _watching(out: Path, quiet: bool) -> Iterator[tuple[Any, Any]]:
    """Provide ``sweep`` with ``on_progress`` and ``on_message``: a bar on standard error with runs done, rate, time
    left.

    Ctrl-C or SIGTERM ends the sweep and prints how to continue.
    """
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from vinesim.cli.console import Console

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("sweeping"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("runs{task.fields[rate]}{task.fields[failed]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )
    shown = bar.add_task("sweep", total=None, rate="", failed="")

    def on_progress(progress: Any) -> None:
        speed = bar.tasks[0].speed
        bar.update(
            shown,
            total=progress.n_runs,
            completed=progress.n_done,
            rate=f", {speed:,.0f} per second" if speed else "",
            failed=f", {progress.n_failed} failed" if progress.n_failed else "",
        )

    bar.start()
    try:
        with raising_on(*SIGNALS):
            yield on_progress, message_printer(lambda: console, quiet)
    except KeyboardInterrupt as interrupt:
        bar.stop()
        where = "".join(f" {note}" for note in getattr(interrupt, "__notes__", ()))
        warn(f"stopped{where}; finished runs are in {out}, repeat the command to continue")
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    finally:
        bar.stop()
