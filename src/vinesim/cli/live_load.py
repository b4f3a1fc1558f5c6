"""``vinesim live play``: send the requests of a scenario to a cluster."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from vinesim.cli.live_session import FOLDER, folder_of, in_session, running_folder, say_awaited

if TYPE_CHECKING:
    from vinesim.live.load import Played


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("play")(play)


def play(
    scenario: Path = typer.Argument(..., metavar="SCENARIO.yaml", help="A scenario whose jobs are requests."),
    speed: float = typer.Option(1.0, min=0.001, metavar="X", help="How many times as fast as in the scenario."),
    set_: list[str] = typer.Option([], "--set", metavar="KEY=VALUE", help="Change a value of the scenario."),
    folder: Path | None = FOLDER,
) -> None:
    """Send the requests of a scenario to the cluster at their times, and show the response times."""
    place = folder_of(folder)
    from vinesim.live.folder import JOURNAL, cluster_in
    from vinesim.live.journal import Journal
    from vinesim.live.kernels import load, source_of
    from vinesim.live.load import play as played
    from vinesim.live.registered import with_registered
    from vinesim.policies.documents import read_scenario

    running_folder(folder)
    journal = Journal(place / JOURNAL)
    work, cluster = read_scenario(scenario, set_).workload, with_registered(cluster_in(place), journal)
    journal.close()
    load(source_of(cluster.kernels), place)
    kernels = {one.application.name: one.kernel for one in cluster.applications if one.kernel}

    async def work_in(session: Any) -> "Played":
        return await played(session, work, kernels, speed)

    say_awaited(folder)
    _print(in_session(folder, work_in))


def _print(found: "Played") -> None:
    import numpy as np
    from rich.box import SIMPLE
    from rich.table import Table

    from vinesim.cli.console import Console
    from vinesim.formats.source.quantities import format_time_us

    table = Table(box=SIMPLE, pad_edge=False)
    for title in ("application", "requests", "mean", "p50", "p99", "max"):
        table.add_column(title, justify="left" if title == "application" else "right")
    for name, all_us in sorted(found.response_us.items()):
        done = np.sort([one for one in all_us if np.isfinite(one)])
        if not len(done):
            table.add_row(name, f"{len(all_us):,}", "-", "-", "-", "-")
            continue
        numbers = [done.mean(), *(np.percentile(done, q, method="inverted_cdf") for q in (50, 99, 100))]
        table.add_row(name, f"{len(all_us):,}", *(format_time_us(float(one)) for one in numbers))
    console = Console()
    console.print(table)
    for (kind, why), n in found.failures.items():
        console.print(f"{n:,} {kind}: {why}")
    console.print(f"sent at most {format_time_us(found.late_us)} late")
