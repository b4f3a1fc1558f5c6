"""``vinesim live record|validate``: a live run as a scenario and a result, and compared with its simulation."""

from pathlib import Path
from typing import Any

import typer

from vinesim.cli.live_session import FOLDER, folder_of, print_json
from vinesim.cli.terminal import say


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("record")(record)
    app.command("validate")(validate)


def record(
    out: Path = typer.Option(..., "--out", metavar="DIR", help="Folder for scenario.yaml, its workload, and result/."),
    folder: Path | None = FOLDER,
) -> None:
    """Write what happened: a scenario to simulate, and a result folder for report, timeline, gantt and compare."""
    place = folder_of(folder)
    _check_target(out)
    from vinesim.formats.results.folder import write_result
    from vinesim.live.record import RESULT, SCENARIO, write_scenario
    from vinesim.live.record import record as recorded

    found = recorded(place)
    write_scenario(out, found.scenario)
    write_result(out / RESULT, found.result)
    n = found.scenario.workload.n_jobs
    say(f"{n:,} requests: {out / SCENARIO}, {out / RESULT}")
    _say_left_out(found)


def _say_left_out(found: Any, err: bool = False) -> None:
    """Say what else has happened on the cluster."""
    for one in found.left_out:
        say(f"left out: {one}", err=err)


def _check_target(folder: Path) -> None:
    """Raise :class:`InputError` unless a recording can be written there: a new name, an empty folder or an old one."""
    from vinesim.formats.results.folder import SUMMARY, check_target
    from vinesim.live.record import RESULT, SCENARIO, WORKLOAD
    from vinesim.model.errors import InputError, Problem

    check_target(folder / RESULT if folder.is_dir() and any(folder.iterdir()) else folder)
    names = {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()
    other = sorted(names - {SCENARIO, WORKLOAD, RESULT})
    if other or (names and not (folder / RESULT / SUMMARY).is_file()):
        expected = "a new or empty folder, or only an old recording"
        raise InputError(
            [Problem(f"--out {folder}", expected, ", ".join(other or sorted(names))[:80], "Choose another name.")]
        )


def validate(
    replications: int = typer.Option(
        20, min=1, metavar="N", help="Number of simulations, each with other draws of dispatch times."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the numbers as JSON and nothing else."),
    folder: Path | None = FOLDER,
) -> None:
    """Simulate the requests of a live run, and print the measured and the simulated times side by side. The simulation
    draws each dispatch time from the measured ones; the last column uses the measured time of each."""
    place = folder_of(folder)
    from dataclasses import asdict

    from vinesim.formats.source.quantities import format_time_us
    from vinesim.live.record import record as recorded
    from vinesim.live.validation import validate as validated

    found = recorded(place)
    lines = validated(found, replications)
    if as_json:
        _say_left_out(found, err=True)
        print_json([asdict(line) for line in lines])
        return
    from rich.box import SIMPLE
    from rich.table import Table

    from vinesim.cli.console import Console

    table = Table(box=SIMPLE, pad_edge=False)
    for title in ("", "measured", "simulated", f"least to largest of {replications}", "with each dispatch"):
        table.add_column(title, justify="right" if title else "left")
    for line in lines:
        values = (line.measured, line.simulated, line.low, line.high, line.in_full)
        words = [format_time_us(v) if line.unit == "us" else f"{v:,.3g} {line.unit}".strip() for v in values]
        table.add_row(line.what, *words[:2], f"{words[2]} to {words[3]}", words[4])
    console = Console()
    console.print(f"{found.scenario.workload.n_jobs:,} requests, policy {found.scenario.policy}")
    console.print(table)
    _say_left_out(found)
