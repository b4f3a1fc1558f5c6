"""``vinesim live submit|cancel|list|wait|logs|explain``: jobs, as in RBSS's Cloud Application Manager."""

import shlex
from pathlib import Path
from typing import Any

import typer

from vinesim.cli.live_session import FOLDER, called, folder_of, print_json, say_awaited
from vinesim.cli.terminal import output, say

JOB = typer.Argument(..., metavar="JOB", help="The job's number.")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("submit", context_settings={"ignore_unknown_options": True})(submit)
    app.command("cancel")(cancel)
    app.command("list")(list_jobs)
    app.command("wait")(wait)
    app.command("logs")(logs)
    app.command("explain")(explain)


def submit(
    command: list[str] = typer.Argument(None, metavar="[--] COMMAND...", help="The command and its arguments."),
    kind: str = typer.Option("COMMAND", "--type", metavar="TYPE", help="Task type: its column of the affinity."),
    on: list[str] = typer.Option(
        [], "--on", metavar="TYPE=COMMAND", help="Another command for a processor type; repeat for more."
    ),
    only: bool = typer.Option(False, "--only", help="Run only the commands of --on."),
    kernel: str | None = typer.Option(None, metavar="NAME", help="A kernel instead of a command."),
    payload: str | None = typer.Option(None, metavar="JSON", help="Payload of the kernel."),
    name: str | None = typer.Option(None, metavar="NAME", help="Name; jobs of one name share a history of times."),
    expect: str | None = typer.Option(
        None, metavar="TIME", help='Expected time at affinity 1 per us, such as "30 s"; default: from the history.'
    ),
    limit: str | None = typer.Option(None, metavar="TIME", help="End the job after this time."),
    demand: float = typer.Option(1.0, min=0.0, metavar="N", help="What the job takes of its unit's capacity."),
    request: list[str] = typer.Option(
        [],
        "--request",
        metavar="NAME=N",
        help="Minimum that the type of its unit must provide, such as cores=4 or sms=10.",
    ),
    at_most_once: bool = typer.Option(
        False, "--at-most-once", help="Do not start it again if its node dies; its end may then be unknown."
    ),
    key: str | None = typer.Option(None, metavar="KEY", help="A second submission with this key is the same job."),
    folder: Path | None = FOLDER,
) -> None:
    """Queue a job: a command or a kernel. Prints its number once it is in the journal."""
    from vinesim.formats.source.quantities import time_us
    from vinesim.model.errors import InputError, Problem

    job: dict[str, Any] = {"task_type": kind, "name": name or kind, "demand": demand, "at_most_once": at_most_once}
    job["requests"] = {name: _number(text, value) for text in request for name, _, value in [text.partition("=")]}
    if kernel is not None:
        if command or on:
            raise InputError([Problem("vinesim live submit", "a command or a kernel", "both", "Keep one.")])
        job |= {"kernel": kernel, "payload": None if payload is None else _payload(payload)}
    else:
        commands = dict(_pair(text) for text in on)
        if command and not only:
            commands["*"] = list(command)
        if not commands:
            raise InputError([Problem("vinesim live submit", "a command, --on, or --kernel", "none of them")])
        job |= {"commands": commands, "folder": str(Path.cwd())}
    for option, text in (("expected_us", expect), ("limit_us", limit)):
        if text is not None:
            job[option] = time_us(float(text) if text.replace(".", "", 1).isdigit() else text, option)
    say(called(folder, "job.submit", job=job, key=key)["job"])


def cancel(job: int = JOB, folder: Path | None = FOLDER) -> None:
    """Withdraw a job, or end it if it runs."""
    done = called(folder, "job.cancel", job=job)["is_cancelled"]
    say(f"job {job} is cancelled" if done else f"job {job} was over before")


def list_jobs(
    everything: bool = typer.Option(False, "--all", help="Include jobs that are over."),
    as_json: bool = typer.Option(False, "--json", help="Print the jobs as JSON and nothing else."),
    folder: Path | None = FOLDER,
) -> None:
    """List waiting and running jobs."""
    jobs = called(folder, "job.list", all=everything)["jobs"]
    if as_json:
        print_json(jobs)
        return
    _table(jobs)


def wait(
    job: int = JOB,
    as_json: bool = typer.Option(False, "--json", help="Print the job as JSON and nothing else."),
    folder: Path | None = FOLDER,
) -> None:
    """Wait until a job is over. The exit code is that of its command, or 1 if it did not end by itself."""
    say_awaited(folder)
    found = called(folder, "job.wait", job=job)["job"]
    if as_json:
        print_json(found)
    else:
        why = f": {found['why']}" if found["why"] else ""
        code = "" if found["exit_code"] is None else f", exit code {found['exit_code']}"
        say(f"job {job} {found['state']}{code}{why}")
    if found["state"] != "ended":
        raise typer.Exit(1)
    raise typer.Exit(min(abs(found["exit_code"] or 0), 255))


def logs(
    job: int = JOB,
    errors: bool = typer.Option(False, "--errors", help="Standard error instead of standard output."),
    history: bool = typer.Option(False, "--history", help="Print the job's history instead of its output."),
    folder: Path | None = FOLDER,
) -> None:
    """Print the output of a job's last attempt."""
    if history:
        from vinesim.formats.source.quantities import format_time_us

        for row in called(folder, "job.logs", job=job)["transitions"]:
            say(f"{format_time_us(row['time_us']):>12}  {row['state']}: {row['why']}")
        return
    offset = 0
    while True:
        part = called(folder, "job.output", job=job, stream="err" if errors else "out", offset=offset)["data"]
        if not part:
            return
        output().buffer.write(part)
        output().flush()
        offset += len(part)


def explain(
    job: int = JOB,
    rows: int = typer.Option(
        10, min=1, metavar="N", help="Maximum number of lines about what happened while the job waited."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the explanation as JSON and nothing else."),
    folder: Path | None = FOLDER,
) -> None:
    """Explain why a job waited, or still waits, as `vinesim explain` does: which units could run it, what they were
    doing, and which jobs took them."""
    import tempfile
    from dataclasses import asdict

    from vinesim.cli.explain import print_waiting

    place = folder_of(folder)
    from vinesim.formats.results.folder import to_json
    from vinesim.live.history import write_history
    from vinesim.live.running import is_manager_there
    from vinesim.metrics.waiting import waiting_of

    now_us = called(folder, "client.status")["now_us"] if is_manager_there(place) else 0.0
    with tempfile.TemporaryDirectory() as name:
        result = Path(name) / "result"
        place_of_job, names = write_history(place, job, result, now_us)
        found = waiting_of(result, place_of_job)
    if as_json:
        output().write(to_json(asdict(found)))
        return
    print_waiting(found, rows, "it still waits" if now_us else "the cluster was stopped", names)


def _pair(text: str) -> tuple[str, list[str]]:
    kind, equals, words = text.partition("=")
    if not equals or not words.strip():
        from vinesim.model.errors import InputError, Problem

        raise InputError([Problem(f"--on {text}", "TYPE=COMMAND", repr(text))])
    return kind, shlex.split(words)


def _payload(text: str) -> Any:
    import json

    try:
        return json.loads(text)
    except ValueError as wrong:
        from vinesim.model.errors import InputError, Problem

        raise InputError([Problem("--payload", "JSON", f"{text!r}: {wrong}")]) from None


def _number(text: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        from vinesim.model.errors import InputError, Problem

        raise InputError([Problem(f"--request {text}", "NAME=NUMBER", repr(text))]) from None


def _table(jobs: list[dict[str, Any]]) -> None:
    from rich.box import SIMPLE
    from rich.table import Table

    from vinesim.cli.console import Console
    from vinesim.formats.source.quantities import time_or_dash

    table = Table(box=SIMPLE, pad_edge=False)
    for title in ("job", "name", "state", "started", "took", "exit", "why"):
        table.add_column(title)
    for job in jobs:
        is_over = job["ended_us"] is not None and job["started_us"] is not None
        took = job["ended_us"] - job["started_us"] if is_over else None
        code = "-" if job["exit_code"] is None else str(job["exit_code"])
        starts = str(job["n_attempts"]) + " x" if job["n_attempts"] else "-"
        table.add_row(str(job["id"]), job["name"], job["state"], starts, time_or_dash(took), code, job["why"] or "")
    Console().print(table)
