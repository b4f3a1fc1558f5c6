"""``vinesim plan``: the best choices of a plan within its limits."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from vinesim.cli.exit_codes import ExitCode
from vinesim.cli.stopping import message_printer, stopped_by_signals


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan")(plan)


def plan(
    file: Path = typer.Argument(..., metavar="PLAN.yaml", help="Plan file."),
    out: Path = typer.Option(..., metavar="DIR", help="Folder of the runs. Those that it already holds are kept."),
    backend: str = typer.Option("loky", help="loky (processes on this machine), dask or ray."),
    workers: int = typer.Option(None, metavar="N", help="Worker processes; default: one per core; 1: this process."),
    address: str = typer.Option(None, metavar="ADDR", help="Address of a running Dask scheduler or Ray cluster."),
    as_json: bool = typer.Option(False, "--json", help="Print the answer as JSON and nothing else."),
) -> None:
    """Search for the best choices of a plan within its limits, confirm them, and say why."""
    from vinesim.plans.solve import plan as solve

    with _watching(quiet=as_json) as (on_step, on_message):
        found = solve(
            file, out, backend=backend, workers=workers, address=address, on_step=on_step, on_message=on_message
        )
    from vinesim.report.plan import write_plan_page

    write_plan_page(out)
    if as_json:
        from vinesim.formats.results.folder import to_json
        from vinesim.plans.record import as_document

        sys.stdout.write(to_json(as_document(found)))
    else:
        from vinesim.cli.plan_table import print_answer

        print_answer(found, out)
    if found.ended == "interrupted":
        raise typer.Exit(ExitCode.INTERRUPTED)
    if found.recommended is None:
        raise typer.Exit(ExitCode.NO_PLAN)


@contextmanager
def _watching(quiet: bool) -> Iterator[tuple[Any, Any]]:
    """Provide ``on_step`` and ``on_message``: a line on standard error with the stage, the runs and the best so far.

    Ctrl-C or SIGTERM ends the search with the answer so far.
    """
    from rich.console import Console

    console = Console(stderr=True)
    status = console.status("planning") if console.is_terminal and not quiet else None

    def on_step(board: Any) -> None:
        if status is not None:
            best = "" if board.best is None else f", best {board.best.value():.6g}"
            status.update(f"{board.stage}: {board.runs.n_asked:,} of {board.plan.budget.runs:,} runs{best}")

    if status is not None:
        status.start()
    try:
        with stopped_by_signals():
            yield on_step, message_printer(lambda: console, quiet)
    finally:
        if status is not None:
            status.stop()
