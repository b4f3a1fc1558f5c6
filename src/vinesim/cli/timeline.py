"""``vinesim timeline``: the tasks of a run on its units, for Perfetto and Chrome."""

from pathlib import Path

import typer

from vinesim.cli.terminal import say


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
    since: str = typer.Option(
        "0", "--from", metavar="TIME", help="Only tasks that hold a unit after this time, such as 3 h, or a date."
    ),
    until: str = typer.Option(None, "--to", metavar="TIME", help="Only tasks that hold a unit before this time."),
    limit: int = typer.Option(None, metavar="N", help="Write only the first N slices; default 1,000,000."),
) -> None:
    """Write the tasks on their units as a trace for ui.perfetto.dev and chrome://tracing."""
    from vinesim.cli.progress import working
    from vinesim.formats.results.folder import TIMELINE
    from vinesim.report.timeline import MAX_SLICES, write_timeline

    file = output or folder / TIMELINE
    with working("writing the timeline"):
        written = write_timeline(folder, file, since, until, MAX_SLICES if limit is None else limit)
    pieces = "" if written.n_slices == written.n_tasks else f" in {written.n_slices:,} slices"
    say(f"wrote {file}: {written.n_tasks:,} tasks{pieces} on {written.n_units:,} units; open it in ui.perfetto.dev")
    if written.n_slices < written.n_in_window:
        say(f"These are the first of {written.n_in_window:,} slices: use --limit for more, --from and --to for others.")
