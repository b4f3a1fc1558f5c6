"""``vinesim live``: a running cluster. One file a group of commands; Ray and sockets are loaded when one is called."""

import typer

from vinesim.cli import live_cluster, live_jobs, live_load, live_record, live_watch
from vinesim.cli.commands import Commands


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    live = typer.Typer(
        name="live",
        cls=Commands,
        help="Start a cluster, send it requests and jobs, and watch it.",
        no_args_is_help=True,
    )
    for part in (live_cluster, live_jobs, live_watch, live_load, live_record):
        part.register(live)
    app.add_typer(live)
