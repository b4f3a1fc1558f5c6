"""The command line: one file per command, each loaded when it is called."""

import gc
import os
import sys
from importlib import import_module

import typer

from vinesim.cli.commands import Commands
from vinesim.cli.terminal import say

app = typer.Typer(
    name="vinesim",
    cls=Commands,
    help="Simulate and compare heterogeneous datacenters and the schedulers that run them.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _version(wanted: bool) -> None:
    if wanted:
        from vinesim.model.version import code_version

        say(f"vinesim {code_version()}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass


COMMANDS = (
    "run",
    "sweep",
    "plan",
    "verify",
    "show",
    "validate",
    "policies",
    "schema",
    "import_",
    "generate",
    "fit",
    "report",
    "plot",
    "timeline",
    "gantt",
    "explain",
    "compare",
    "backtest",
    "start_times",
    "priorities",
    "reproduce",
    "live",
    "explore",
)
for command in COMMANDS:
    import_module(f"vinesim.cli.{command}").register(app)


OBJECTS_BETWEEN_COLLECTIONS = 50_000  # by default 700, and loading the modules of a command makes 100,000 that stay


def run() -> int:
    """Run the command line and return its exit code; every input error becomes one message and exit code 2."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    os.environ.setdefault(
        "OPENBLAS_NUM_THREADS", "1"
    )  # no command has use for more, and starting them takes NumPy long
    if not os.environ.get("COLUMNS", "").strip("0"):  # some containers and editors say that they have 0
        os.environ.pop("COLUMNS", None)
    from vinesim.cli.errors import report_errors

    code = report_errors(app)
    if "duckdb" not in sys.modules:  # it reports objects that are frozen as leaks
        gc.freeze()  # the process ends: looking through all objects for cycles would take a fifth of a small run
    return code
