"""``vinesim start-times``: when the pending jobs of a Slurm queue will start."""

import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from vinesim.cli.terminal import output, say
from vinesim.model.errors import InputError, Problem

if TYPE_CHECKING:
    from vinesim.studies.start_times import StartTimes

WIDTH = 80
MOST_SHOWN = 40
LATEST_S = 253_370_764_800.0  # the last year that a date can have


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("start-times")(start_times)


def start_times(
    folder: Path = typer.Argument(..., metavar="SITE", help="A folder with the files of a Slurm site and a squeue."),
    at: str = typer.Option(
        None, metavar="TIME", help="Use the last snapshot up to this time; default: the last of all."
    ),
    user: str = typer.Option(None, metavar="NAME", help="Show the jobs of this user only."),
    replications: int = typer.Option(20, min=1, help="Number of simulations, with different run times and phases."),
    later: bool = typer.Option(
        True, "--later/--no-later", help="Let the jobs of the day before arrive again, behind the queue."
    ),
    submit_until: str = typer.Option(None, metavar="TIME", help="Assume that nobody submits jobs after this time."),
    calibrate: bool = typer.Option(
        True,
        "--calibrate/--no-calibrate",
        help="Widen the intervals by the errors of forecasts from earlier snapshots.",
    ),
    seed: int = typer.Option(0, min=0, help="Seed of the random numbers."),
    as_json: bool = typer.Option(False, "--json", help="Print all of it as JSON and nothing else."),
) -> None:
    """Predict when the pending jobs of a Slurm queue will start, with intervals."""
    from vinesim.cli.progress import working
    from vinesim.formats.slurm.values import time_s
    from vinesim.studies.start_times import start_times as predicted

    date = "a date such as 2026-03-02T08:20:00, or s since 1970"
    given = {"--at": at, "--submit-until": submit_until}
    times = {option: time_s(text) if text else None for option, text in given.items()}
    problems = [Problem(option, date, repr(text)[:40]) for option, text in given.items()
                if text and times[option] is None]  # fmt: skip
    if submit_until and not later:
        problems.append(Problem("--submit-until", "no --no-later, because then nobody submits jobs", "both"))
    if problems:
        raise InputError(problems)
    at_s, until_s = times.values()
    until_s = math.inf if until_s is None else until_s
    with working("simulating the queue"):
        found = predicted(
            folder, at_s, replications, seed=seed, later=later, submit_until_s=until_s, calibrate=calibrate
        )
    if as_json:
        output().write(json.dumps(found.as_document(), indent=2) + "\n")
        return
    print_start_times(found, user)


def print_start_times(found: "StartTimes", user: str | None) -> None:
    """Print the jobs for people, in 80 columns."""
    from rich.box import SIMPLE
    from rich.table import Table

    from vinesim.cli.console import Console

    console = Console(width=min(Console().width, WIDTH))
    jobs = [one for one in found.jobs if user in (None, one.user)]
    say(f"{_date(found.time_s, 0.0)}: {len(found.jobs):,} jobs wait, {found.n_running:,} run")
    table = Table(box=SIMPLE, pad_edge=False, show_edge=False, padding=0)
    for name in ("job", "user", "partition", "CPUs", "start", "from", "to", "Slurm", "reason"):
        is_text = name in ("job", "user", "partition", "reason")
        least = {"start": 8, "from": 8, "to": 8, "Slurm": 8, "job": 6, "user": 4, "CPUs": 4}.get(name, 5)
        justify: Literal["left", "right"] = "left" if is_text else "right"
        table.add_column(name, justify=justify, min_width=least, no_wrap=name != "reason", overflow="ellipsis")
    for one in jobs[:MOST_SHOWN]:
        times = [_date(s, found.time_s) for s in (one.median_s, one.low_s, one.high_s)]
        planned = "-" if one.planned_s is None else _date(one.planned_s, found.time_s)
        table.add_row(one.job, one.user, one.partition, f"{one.cpus:,}", *times, planned, one.reason.split(",")[0])
    console.print(table)
    if len(jobs) > MOST_SHOWN:
        say(f"and {len(jobs) - MOST_SHOWN:,} more: --json has all")
    say(f"{found.n_replications:,} simulations; run times as parts of limits, drawn from {found.n_past:,} earlier jobs")
    say("from, to: 8 of 10 starts are between; -: never, as far as is known")
    for line in _made_of(found):
        say(line)
    say("Slurm: when it plans to start the job")
    for reason, n in found.dropped.items():
        say(f"left out: {n:,} jobs: {reason}")


def _made_of(found: "StartTimes") -> Iterator[str]:
    """Yield lines that say how intervals were found."""
    n = sum(one.calibrated for one in found.jobs)
    if n:
        yield f"of {n:,} jobs: widened to hold 8 of 10 starts of {found.n_earlier:,} earlier forecasts"
    if n < len(found.jobs):
        too_few = f"{found.n_earlier:,} earlier forecasts are too few" if found.n_snapshots else "no earlier forecasts"
        yield f"of {len(found.jobs) - n:,} jobs: as simulated, often too narrow; {too_few}"


def _date(s: float, near_s: float) -> str:
    """Return a time, without its day if that is the day of another time."""
    if not s < LATEST_S:
        return "-"
    date, near = datetime.fromtimestamp(s, UTC), datetime.fromtimestamp(near_s, UTC)
    if date.date() == near.date():
        return f"{date:%H:%M:%S}"
    return f"{date:%Y-%m-%d %H:%M:%S}" if near_s == 0.0 else f"{date:%m-%d %H:%M}"
