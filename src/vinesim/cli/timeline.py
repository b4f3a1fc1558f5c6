"""``vinesim timeline``: the tasks of a run on its units, for Perfetto and Chrome."""

import math
from pathlib import Path

import typer

from vinesim.model.errors import InputError, Problem


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("timeline")(timeline)


def timeline(
    folder: Path = typer.Argument(..., metavar="DIR", help="The result folder of a run, written with --out."),
    output: Path = typer.Option(
        None,
        "-o",
        "--output",
        metavar="FILE",
        help="The timeline, compressed if it ends in .gz; default: timeline.json in DIR.",
    ),
    from_us: float = typer.Option(0.0, "--from", metavar="US", help="Only tasks that are on a unit after this, us."),
    to_us: float = typer.Option(math.inf, "--to", metavar="US", help="Only tasks that are on a unit before this, us."),
    limit: int = typer.Option(None, metavar="N", help="Write only the first N slices; default 1,000,000."),
) -> None:
    """Write the tasks on their units as a trace for ui.perfetto.dev and chrome://tracing."""
    from vinesim.cli.progress import working
    from vinesim.formats.results.folder import TIMELINE
    from vinesim.formats.results.timeline import MAX_SLICES, write_timeline

    problems = []
    if not 0 <= from_us < to_us:
        problems.append(Problem("--from and --to", "0 <= from < to", f"{from_us:g} and {to_us:g}"))
    if limit is not None and limit < 1:
        problems.append(Problem("--limit", "at least 1", f"{limit}"))
    if problems:
        raise InputError(problems)
    file = output or folder / TIMELINE
    with working("writing the timeline"):
        written = write_timeline(folder, file, from_us, to_us, MAX_SLICES if limit is None else limit)
    pieces = "" if written.n_slices == written.n_tasks else f" in {written.n_slices:,} slices"
    typer.echo(
        f"wrote {file}: {written.n_tasks:,} tasks{pieces} on {written.n_units:,} units; open it in ui.perfetto.dev"
    )
    if written.n_slices < written.n_in_window:
        typer.echo(
            f"These are the first of {written.n_in_window:,} slices: use --limit for more, --from and --to for others."
        )
