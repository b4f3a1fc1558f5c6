"""``vinesim sweep``: every run of a study, resumable, on one machine or many."""

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from vinesim.cli.exit_codes import ExitCode
from vinesim.cli.stopping import message_printer, stopped_by_signals

if TYPE_CHECKING:
    from vinesim.model.study import Study


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sweep")(sweep)


def sweep(
    study: Path = typer.Argument(..., metavar="STUDY.yaml", help="Study file."),
    out: Path = typer.Option(
        ..., metavar="DIR", help="Folder of the sweep. Runs that it already holds are not repeated."
    ),
    backend: str = typer.Option("loky", help="loky (processes on this machine), dask or ray."),
    workers: int = typer.Option(None, metavar="N", help="Worker processes; default: one per core; 1: this process."),
    address: str = typer.Option(None, metavar="ADDR", help="Address of a running Dask scheduler or Ray cluster."),
    shard: str = typer.Option(None, metavar="K/N", help="Do only the K-th of N parts, to share a sweep by N machines."),
    changes: list[str] = typer.Option([], "--set", metavar="KEY=VALUE", help="Change a value of the scenario."),
    as_json: bool = typer.Option(False, "--json", help="Print the points with their numbers as JSON and nothing else."),
) -> None:
    """Run every combination of a study's axes that is not done yet, then print a table of the points."""
    from vinesim.cli.exit_codes import of_sweep
    from vinesim.cli.unfinished import reasons_of
    from vinesim.formats.study.file import read_study
    from vinesim.studies.sweep import sweep as run

    found = _changed(read_study(study), changes)
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

        sys.stdout.write(to_json(as_document(done)))
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


def _changed(study: "Study", changes: list[str]) -> "Study":
    """Return the study with other values in its scenario."""
    if not changes:
        return study
    from dataclasses import replace

    from vinesim.formats.study.file import scenario_source
    from vinesim.model.errors import InputError, InputWarning, Problem
    from vinesim.policies.documents import prepared

    if any(change.partition("=")[0].strip() == "seed" for change in changes):
        raise InputError([Problem("--set", "a key of the scenario other than seed", "seed", "Set seed: in the study.")])
    keys = [change.partition("=")[0].strip() for change in changes]
    on_axes = [key for key in keys if _is_on_axis(study, key)]
    if on_axes:
        expected, remedy = "a key that no axis of the study sets", "The axis would override it: change the study."
        raise InputError([Problem("--set", expected, key, remedy) for key in on_axes])
    source, told = prepared(scenario_source(study).overridden(changes), study.folder)
    for text in told:
        warnings.warn(text, InputWarning, stacklevel=2)
    return replace(study, scenario=source.data, origin=source)


def _is_on_axis(study: "Study", key: str) -> bool:
    """Whether an axis sets the key, or something that contains it, at each of its positions."""
    from vinesim.formats.scenario.keys import key_of
    from vinesim.formats.source.yaml_source import steps_of

    steps = key_of(steps_of(key) or (key,))

    def sets(name: str) -> bool:
        set_steps = key_of(steps_of(name) or (name,))
        return steps[: len(set_steps)] == set_steps

    return any(all(any(map(sets, settings)) for settings in axis.settings) for axis in study.axes)


@contextmanager
def _watching(out: Path, quiet: bool) -> Iterator[tuple[Any, Any]]:
    """Provide ``sweep`` with ``on_progress`` and ``on_message``: a bar on standard error with runs done, rate, time
    left.

    Ctrl-C or SIGTERM ends the sweep and prints how to continue.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

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
        with stopped_by_signals():
            yield on_progress, message_printer(lambda: console, quiet)
    except KeyboardInterrupt as interrupt:
        bar.stop()
        where = "".join(f" {note}" for note in getattr(interrupt, "__notes__", ()))
        print(f"vinesim: stopped{where}; finished runs are in {out}, repeat the command to continue", file=sys.stderr)  # noqa: T201
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    finally:
        bar.stop()
