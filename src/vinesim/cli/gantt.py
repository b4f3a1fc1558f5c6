"""``vinesim gantt``: a run as a picture with one row per unit and one bar per task."""

from pathlib import Path

import typer

from vinesim.cli.terminal import say


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("gantt")(gantt)


def gantt(
    folder: Path = typer.Argument(..., metavar="DIR", help="The result folder of a run, written with --out."),
    output: Path = typer.Option(
        Path("gantt.png"), "-o", "--output", metavar="FILE", help="The picture: .png, .svg, .pdf."
    ),
    since: str = typer.Option("0", "--from", metavar="TIME", help="Start of the picture, such as 3 h, or a date."),
    until: str = typer.Option(None, "--to", metavar="TIME", help="End of the picture; default: end of the run."),
    color: str = typer.Option("auto", help="Colour by type, by job, or auto: by type if there are several."),
) -> None:
    """Draw the tasks on their units over time; many units are drawn as groups, shaded by their allocated share."""
    from vinesim.cli.progress import working
    from vinesim.plots.gantt import draw_gantt

    with working("drawing"):
        n_tasks = draw_gantt(folder, output, since, until, color)
    say(f"wrote {output}: {n_tasks:,} tasks")
