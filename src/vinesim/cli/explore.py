"""``vinesim explore``: a page with a scenario's controls, and charts that follow them."""

from pathlib import Path

import typer

from vinesim.cli.terminal import say
from vinesim.model.errors import InputError
from vinesim.model.packages import is_installed, missing_problem


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explore")(explore)


def explore(
    scenario: Path = typer.Argument(..., help="Scenario file (YAML)."),
    changes: list[str] = typer.Option([], "--set", metavar="KEY=VALUE", help="Change a value of the scenario file."),
    port: int = typer.Option(0, min=0, max=65535, help="Port on 127.0.0.1; 0: a free one."),
    engine: str = typer.Option("auto", help="auto, compiled or reference (plain Python): the same charts."),
    no_browser: bool = typer.Option(False, "--no-browser", help="Print the address only."),
) -> None:
    """Open a local page with sliders for a scenario; the charts update as you move them. Ctrl-C ends it."""
    absent = [name for name in ("starlette", "uvicorn") if not is_installed(name)]
    if absent:
        raise InputError([missing_problem("vinesim explore", name) for name in absent])
    from vinesim.explore.server import serve_page
    from vinesim.explore.state import Explored

    explored = Explored(scenario, changes, engine)  # type: ignore[arg-type]
    serve_page(explored, port, say, opens_browser=not no_browser)
