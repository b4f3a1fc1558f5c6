"""``vinesim report``: an HTML page about a run, a sweep or a plan."""

from pathlib import Path

import typer

from vinesim.cli.terminal import say


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report)


def report(
    folder: Path = typer.Argument(
        ..., metavar="DIR", help="The folder of a run, a sweep or a plan, written with --out."
    ),
    other: Path = typer.Argument(None, metavar="[OTHER]", help="Another run or sweep, to be compared with the first."),
    output: Path = typer.Option(
        None, "-o", "--output", metavar="FILE", help="The page; default: report.html in DIR, or compared.html for two."
    ),
) -> None:
    """Write one HTML page about a run or a sweep, or about two; it opens in a browser and needs no network.

    For the folder of a plan, plan.html with its answer is written too.
    """
    from vinesim.cli.progress import working
    from vinesim.formats.results.folder import REPORT
    from vinesim.pages.plan import write_plan_page
    from vinesim.pages.write import write_report
    from vinesim.plans.record import PLAN_JSON

    page = output or (folder / REPORT if other is None else Path("compared.html"))
    with working("writing the page"):
        size = write_report(folder, page, other)
    say(f"wrote {page}: {size / 1000:,.0f} kB; open it in a browser")
    if other is None and output is None and (folder / PLAN_JSON).exists():
        say(f"wrote {write_plan_page(folder)}: the answer of the plan")
