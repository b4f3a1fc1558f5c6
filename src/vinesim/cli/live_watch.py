"""``vinesim live status|top``: what a cluster does."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from vinesim.cli.live_session import FOLDER, called, in_session, print_json, running_folder
from vinesim.cli.terminal import output

if TYPE_CHECKING:
    from rich.table import Table

SHOWN = 10  # reasons of failures


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("status")(status)
    app.command("top")(top)
    app.command("metrics")(metrics)


def status(
    as_json: bool = typer.Option(False, "--json", help="Print everything as JSON and nothing else."),
    folder: Path | None = FOLDER,
) -> None:
    """Show nodes, queues and counters."""
    found = called(folder, "client.status")
    if as_json:
        print_json(found)
        return
    from vinesim.cli.console import Console

    terminal = Console()
    for line in _lines(found):
        terminal.print(line)
    for part in _tables(found, None):
        terminal.print(part)


def _lines(found: dict[str, Any]) -> list[str]:
    """Which policy decides and how it runs, how old the manager is, and whether it waits for nodes."""
    from vinesim.formats.source.quantities import format_time_us

    why = f", because {found['engine_why']}" if found["engine_why"] else ""
    manager = found["manager"]
    n, age = manager["n_starts"], format_time_us(manager["age_us"])
    lines = [
        f"policy {found['policy']}, engine {found['engine']}{why}",
        f"manager {manager['pid']}, up for {age}; start {n} of this cluster",
    ]
    if found["is_recovering"]:
        awaited = ", ".join(node["name"] for node in found["nodes"] if node["state"] == "silent")
        lines.append(f"recovering: nothing is granted until {awaited} has come back or its lease has ended")
    return [*lines, *(f"waiting for {words}" for words in found["awaited"])]


def top(
    every: float = typer.Option(1.0, min=0.1, metavar="S", help="Seconds between updates."),
    times: int | None = typer.Option(None, min=1, metavar="N", help="Stop after this number of updates."),
    folder: Path | None = FOLDER,
) -> None:
    """Show the status repeatedly, with rates, until Ctrl-C."""
    import asyncio

    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    from vinesim.cli.console import Console
    from vinesim.cli.terminal import visible

    async def work(session: Any) -> None:
        before, n = None, 0
        with Live(auto_refresh=False, console=Console()) as screen:
            while True:
                found = await session.call("client.status")
                lines = [Text(visible(line)) for line in _lines(found)]
                screen.update(Group(*lines, *_tables(found, before)), refresh=True)
                before, n = (time.monotonic(), found["counters"]), n + 1
                if n == times:
                    return
                await asyncio.sleep(every)

    in_session(folder, work)


def metrics(folder: Path | None = FOLDER) -> None:
    """Print the metrics in Prometheus' text format, as the manager's metrics port serves them to those with the
    token."""
    import json
    import urllib.request

    place = running_folder(folder)
    from vinesim.live.address import read_token

    found = json.loads((place / "address.json").read_text())
    url = f"http://{found['host']}:{found['metrics_port']}/metrics"
    asked = urllib.request.Request(url, headers={"Authorization": f"Bearer {read_token(place).hex()}"})
    with urllib.request.urlopen(asked, timeout=10) as answer:  # noqa: S310 - an address of the cluster's own folder
        output().write(answer.read().decode())


def _tables(found: dict[str, Any], before: Any) -> list["Table"]:
    from rich.box import SIMPLE
    from rich.table import Table

    from vinesim.formats.source.quantities import format_time_us

    nodes = Table(box=SIMPLE, pad_edge=False)
    for title in ("node", "state", "epoch", "units", "running"):
        nodes.add_column(title)
    for node in found["nodes"]:
        running = "\n".join(map(_running, node["running"])) or "-"
        nodes.add_row(node["name"], node["state"], str(node["epoch"]), str(node["n_units"]), running)
    queues = Table(box=SIMPLE, pad_edge=False)
    queues.add_column("application")
    queues.add_column("waiting", justify="right")
    for name, n in found["waiting"].items():
        queues.add_row(name, f"{n:,}")
    counters = Table(box=SIMPLE, pad_edge=False)
    counters.add_column("count")
    counters.add_column("total", justify="right")
    counters.add_column("per second", justify="right")
    elapsed_s = time.monotonic() - before[0] if before else 0.0
    for name, n in found["counters"].items():
        rate = f"{(n - before[1][name]) / elapsed_s:,.0f}" if before else "-"
        counters.add_row(name.removeprefix("n_").replace("_", " "), f"{n:,}", rate)
    for name in ("response_us", "dispatch_us"):
        if found[name]:
            words = " / ".join(format_time_us(found[name][p]) for p in ("p50", "p99"))
            counters.add_row(name.removesuffix("_us") + " time p50 / p99, recent", words, "")
    return [nodes, queues, counters, *_failures(found["failures"])]


def _running(one: dict[str, Any]) -> str:
    """What runs on a unit, and for how long."""
    from vinesim.formats.source.quantities import format_time_us

    ending = f", ending: {one['ending']}" if one["ending"] else ""
    return f"unit {one['unit']}: {one['what']} for {format_time_us(one['age_us'])}{ending}"


def _failures(found: list[dict[str, Any]]) -> list["Table"]:
    """Why requests and jobs have failed, the most frequent reasons first."""
    from rich.box import SIMPLE
    from rich.table import Table

    if not found:
        return []
    table = Table(box=SIMPLE, pad_edge=False)
    for title in ("failures", "application or job", "reason"):
        table.add_column(title, justify="right" if title == "failures" else "left")
    for one in found[:SHOWN]:
        table.add_row(f"{one['count']:,}", one["application"], one["why"])
    return [table]
