"""``vinesim priorities``: what sprio and sshare would print at a time of a run."""

import json
from pathlib import Path
from typing import Any

import typer

from vinesim.cli.terminal import output

WIDTH = 80
MOST_SHOWN = 40
OF_JOBS = {
    "job_id": "JOBID", "partition": "PARTITION", "user": "USER", "priority": "PRIORITY", "age": "AGE",
    "assoc": "ASSOC", "fair_share": "FAIRSHARE", "job_size": "JOBSIZE", "partition_factor": "PART",
    "qos_factor": "QOS", "nice": "NICE", "tres": "TRES",
}  # fmt: skip
OF_SHARES = {
    "account": "Account", "user": "User", "raw_shares": "RawShares", "norm_shares": "NormShares",
    "raw_usage": "RawUsage", "norm_usage": "NormUsage", "fair_share": "FairShare", "level": "LevelFS",
}  # fmt: skip
TEXTS = ("job_id", "partition", "user", "account")
WHOLE = ("raw_shares", "raw_usage")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("priorities")(priorities)


def priorities(
    file: Path = typer.Argument(..., metavar="SITE", help="A scenario under the policy slurm, as imported."),
    at: str = typer.Option(..., metavar="TIME", help="Time since the beginning of the run, such as 90 min."),
    overrides: list[str] = typer.Option([], "--set", metavar="KEY=VALUE", help="Change a key, as for vinesim run."),
    as_json: bool = typer.Option(False, "--json", help="Print all of it as JSON and nothing else."),
) -> None:
    """Show priorities and fair shares at a time of a run, as sprio and sshare print them."""
    from vinesim.cli.console import Console
    from vinesim.cli.progress import working
    from vinesim.formats.source.quantities import time_us
    from vinesim.policies.documents import read_scenario
    from vinesim.studies.priorities import priorities_at

    at_us = time_us(at, "--at")
    scenario = read_scenario(file, overrides)
    with working("running"):
        found = priorities_at(scenario, at_us / 1e6)
    if as_json:
        output().write(json.dumps(vars(found), indent=2) + "\n")
        return
    console = Console(width=min(Console().width, WIDTH))
    console.print(_table(found.jobs[:MOST_SHOWN], OF_JOBS))
    if len(found.jobs) > MOST_SHOWN:
        console.print(f"and {len(found.jobs) - MOST_SHOWN:,} more: --json has all")
    console.print(_table(found.shares, OF_SHARES))


def _table(rows: list[dict[str, Any]], columns: dict[str, str]) -> Any:
    """Return a table; columns of which all values are 0 are left out."""
    from rich.box import SIMPLE
    from rich.table import Table

    shown = [name for name in columns if name in TEXTS or name == "priority" or any(row[name] for row in rows)]
    table = Table(box=SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    for name in shown:
        table.add_column(columns[name], justify="left" if name in TEXTS[1:] else "right", min_width=len(columns[name]))
    for row in rows:
        table.add_row(*(_cell(name, row[name], columns) for name in shown))
    return table


def _cell(name: str, value: Any, columns: dict[str, str]) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if name == "level":
        return f"{value:.4g}"
    return f"{value:.0f}" if columns is OF_JOBS or name in WHOLE else f"{value:.6f}"
