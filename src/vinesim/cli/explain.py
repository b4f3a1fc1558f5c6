"""``vinesim explain``: why jobs of a run waited."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from vinesim.cli.terminal import output, say
from vinesim.model.errors import InputError, Problem

if TYPE_CHECKING:
    from vinesim.metrics.wait import Waiting


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain")(explain)


def explain(
    folder: Path = typer.Argument(..., metavar="DIR", help="The result folder of a run with --explain --out DIR."),
    job: int = typer.Option(None, metavar="N", help="Number of the job, from 0 in trace order."),
    job_id: int = typer.Option(None, metavar="N", help="Number of the job in its source, such as that of Slurm."),
    slowest: int = typer.Option(
        None, min=1, metavar="N", help="The N jobs with the longest latency, one after another."
    ),
    rows: int = typer.Option(
        10, min=1, metavar="N", help="Maximum number of lines about what happened while the job waited."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the explanation as JSON and nothing else."),
) -> None:
    """Explain why jobs waited: which units could run them, what they were doing, and which jobs took them."""
    from vinesim.cli.progress import working
    from vinesim.formats.results.folder import to_json
    from vinesim.metrics.slurm_waits import numbers_of, reason_lines, slurm_reasons
    from vinesim.metrics.waiting import jobs_with_id, slowest_jobs, waits_of

    given = sum(one is not None for one in (job, job_id, slowest))
    if given != 1:
        found = "none" if not given else f"{given} of them"
        raise InputError([Problem("vinesim explain", "--job N, --job-id N or --slowest N", found)])
    with working("looking for what jobs waited for"):
        if job is not None:
            jobs = [job]
        else:
            jobs = jobs_with_id(folder, job_id) if slowest is None else slowest_jobs(folder, slowest)
        waits = waits_of(folder, jobs)
        reasons = slurm_reasons(folder, waits)
        numbers = numbers_of(folder, reasons) if reasons else {}
    if as_json:
        documents = [asdict(one) | {"slurm": [asdict(why) for why in reasons.get(one.job, [])]} for one in waits]
        output().write(to_json({"jobs": documents} if job is None else documents[0]))
        return
    for number, waiting in enumerate(waits):
        if number:
            say()
        print_waiting(waiting, rows)
        for line in reason_lines(reasons.get(waiting.job, []), waiting, numbers, rows):
            say(line)


def print_waiting(found: "Waiting", rows: int, cut: str = "", names: list[str] | None = None) -> None:
    """Print it in words; ``cut`` is why a job that never started did not, ``names`` what to call each job."""
    from rich.box import SIMPLE
    from rich.table import Table

    from vinesim.cli.console import Console
    from vinesim.metrics.waiting_words import RUN_ENDED, headline, lines_below, unit_rows

    console = Console()
    for line in headline(found, cut or RUN_ENDED, names):
        console.print(line)
    table = Table(box=SIMPLE, pad_edge=False)
    titles, cells = unit_rows(found)
    for title, side in zip(titles, ("left", "right", "left", "right", "left"), strict=True):
        table.add_column(title, justify=side)  # type: ignore[arg-type]
    for row in cells:
        table.add_row(*row)
    console.print(table)
    for line in lines_below(found, rows, names):
        console.print(line)
