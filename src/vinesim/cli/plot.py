"""``vinesim plot``: a figure of a sweep or of runs, fit for a paper."""

from pathlib import Path

import typer

from vinesim.cli.completion import axes_of, numbers_of
from vinesim.cli.terminal import say


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plot")(plot)


def plot(
    folders: list[Path] = typer.Argument(..., metavar="DIR...", help="The folder of a sweep, or of one or more runs."),
    output: Path = typer.Option(
        Path("figure.pdf"), "-o", "--output", metavar="FILE", help="A .pdf, .svg or .png file."
    ),
    kind: str = typer.Option(
        None,
        help="For a sweep: lines, bars, heat, points. For runs: tail, cumulative, histogram, timeline, gantt.",
    ),
    x: str = typer.Option(
        None,
        help="Horizontal axis: an axis or a number of a sweep; for runs, a time such as tasks.wait_us.",
        autocompletion=axes_of,
    ),
    y: str = typer.Option(
        None,
        help="Number to draw, such as jobs.latency_us.p99; for a timeline: queue, utilization, active.",
        autocompletion=numbers_of,
    ),
    by: str = typer.Option(
        None,
        help="Draw a line (a row of a map) per label of this axis; for runs: user, size, task_type ..., or unit_type.",
        autocompletion=axes_of,
    ),
    panel: str = typer.Option(None, help="Draw a panel for each label of this axis.", autocompletion=axes_of),
    where: list[str] = typer.Option([], metavar="AXIS=LABEL", help="Draw only this label of an axis; several times."),
    log: str = typer.Option("", help="The axes that are logarithmic: x, y or xy."),
    x_unit: str = typer.Option(None, help="Unit of the horizontal axis, such as ms."),
    y_unit: str = typer.Option(None, help="Unit of the vertical axis, or of the values of a map, such as kWh."),
    x_label: str = typer.Option(None, help="Label of the horizontal axis; default: words and unit."),
    y_label: str = typer.Option(None, help="Label of the vertical axis."),
    title: str = typer.Option(None, help="Title above the figure."),
    size: str = typer.Option(None, metavar="WxH", help="Width and height, such as 3.5x2.4in, 88x60mm or 8.8x6cm."),
    font_size: float = typer.Option(
        None, metavar="PT", help="Size of the text in points; default: 9, less in a small figure."
    ),
    font: str = typer.Option(None, help="Name of the font, such as DejaVu Serif."),
    dpi: float = typer.Option(160.0, help="Resolution of a .png file."),
    confidence: float = typer.Option(0.95, help="Confidence of the intervals."),
    since: str = typer.Option(None, "--from", metavar="TIME", help="Start of a timeline, such as 3 h, or a date."),
    until: str = typer.Option(None, "--to", metavar="TIME", help="End of a timeline or a Gantt chart."),
    color: str = typer.Option("auto", help="Of a Gantt chart: by type, by job, or auto."),
) -> None:
    """Draw a figure of a sweep or of runs, with units, intervals and a legend, as PDF, SVG or PNG."""
    from vinesim.cli.arguments import key_values
    from vinesim.formats.source.quantities import size_inches
    from vinesim.plots.plot import plot as plotted

    plotted(
        folders,
        output,
        kind=kind,
        x=x,
        y=y,
        by=by,
        panel=panel,
        where=key_values(where, "--where"),
        log=log,
        x_unit=x_unit,
        y_unit=y_unit,
        x_label=x_label,
        y_label=y_label,
        title=title,
        inches=None if size is None else size_inches(size, "--size"),
        font_points=font_size,
        font=font,
        dpi=dpi,
        confidence=confidence,
        from_us=0.0 if since is None else since,
        to_us=until,
        color=color,
    )
    say(f"wrote {output}")
