"""``vinesim gantt``: a run as a picture with one row per unit and one bar per task."""

from pathlib import Path

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("gantt")(gantt)


def gantt(
    folder: Path = typer.Argument(..., metavar="DIR", help="The result folder of a run, written with --out."),
    output: Path = typer.Option(
        Path("gantt.png"), "-o", "--output", metavar="FILE", help="The picture: .png, .svg, .pdf."
    ),
    from_us: float = typer.Option(0.0, "--from", metavar="US", help="Start of the picture, us."),
    to_us: float = typer.Option(None, "--to", metavar="US", help="End of the picture, us; default: end of the run."),
    color: str = typer.Option("auto", help="Colour by type, by job, or auto: by type if there are several."),
) -> None:
    """Draw the tasks on their units over time; many units are drawn as groups, shaded by their allocated share."""
    from vinesim.cli.progress import working
    from vinesim.plots.gantt import draw_gantt

    with working("drawing"):
        n_tasks = draw_gantt(folder, output, from_us, to_us, color)
    typer.echo(f"wrote {output}: {n_tasks:,} tasks")
