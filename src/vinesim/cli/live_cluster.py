"""``vinesim live start|stop|drain|resume|restart-node|add-node|remove-node|prune``: the cluster itself."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import typer

from vinesim.cli.live_session import FOLDER, called, folder_of
from vinesim.cli.terminal import say

POLL_S = 0.1
SAY_S = 2.0  # a start that waits longer for one thing says for what


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("start")(start)
    app.command("stop")(stop)
    app.command("drain")(drain)
    app.command("resume")(resume)
    app.command("restart-node")(restart_node)
    app.command("add-node")(add_node)
    app.command("remove-node")(remove_node)
    app.command("prune")(prune)


def start(
    cluster: Path = typer.Argument(..., metavar="CLUSTER.yaml", help="The cluster file."),
    folder: Path | None = FOLDER,
    wait: float = typer.Option(120.0, min=0.0, metavar="S", help="Wait this long for all nodes to be up."),
    foreground: bool = typer.Option(False, "--foreground", help="Stay until the cluster is stopped."),
) -> None:
    """Start a cluster: a manager and an agent per node, on this machine or on a Ray cluster. The queue of a cluster
    that was started in the folder before is continued."""
    place = folder_of(folder)
    from vinesim.live.engine import check_policy
    from vinesim.live.folder import JOURNAL, prepare
    from vinesim.live.journal import Journal
    from vinesim.live.running import supervisor_pid
    from vinesim.model.errors import InputError, Problem

    if supervisor_pid(place) is not None:
        remedy = "Stop it with `vinesim live stop`, or name another --folder."
        raise InputError([Problem("vinesim live start", "no cluster that runs", f"one in {place}", remedy)])
    if (place / JOURNAL).exists():
        Journal(place / JOURNAL).close()  # refused now rather than by each manager
    found = prepare(place, cluster, check_policy)
    (place / "logs").mkdir(exist_ok=True, mode=0o700)
    (place / "address.json").unlink(missing_ok=True)
    words = [sys.executable, "-m", "vinesim.live.placed", str(place)]
    with open(place / "logs" / "supervisor.err", "wb") as errors:
        environment = {"RAY_USAGE_STATS_ENABLED": "0"} | os.environ | {"RAY_AUTH_MODE": "token"}
        process = subprocess.Popen(  # noqa: S603
            words, env=environment, start_new_session=True, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors
        )
    try:
        _wait_until_up(place, process, time.monotonic() + wait)
        n_units = sum(len(node.units) for node in found.nodes)
        say(f"{len(found.nodes)} nodes with {n_units} units are up; policy {found.policy}; folder {place}")
        if foreground:
            process.wait()
    except KeyboardInterrupt:
        _end_start(process)
        raise


def stop(
    folder: Path | None = FOLDER,
    wait: float = typer.Option(60.0, min=0.0, metavar="S", help="Wait this long for its processes to end."),
) -> None:
    """Stop a cluster. Running work is ended; jobs stay in the queue and continue at the next start."""
    place = folder_of(folder)
    from vinesim.live.client import LiveError
    from vinesim.live.running import supervisor_pid

    pid = supervisor_pid(place)
    if pid is None:
        say(f"no cluster runs in {place}")
        return
    try:
        called(folder, "client.stop")
    except LiveError:
        os.kill(pid, signal.SIGTERM)  # there is no manager to ask
    for sign in (None, signal.SIGTERM, signal.SIGKILL):  # the last resort leaves nothing of it
        if sign is not None:
            say(f"it has not ended in {wait:g} s: {sign.name} to process {pid}", err=True)
            end(pid, sign)
        until_s = time.monotonic() + wait
        while supervisor_pid(place) == pid and time.monotonic() < until_s:
            time.sleep(POLL_S)
        if supervisor_pid(place) != pid:
            break
    say("stopped")


def end(pid: int, sign: signal.Signals) -> None:
    """Send a signal to a supervisor; SIGKILL also to all that it has started."""
    import contextlib

    from vinesim.live.agent.processes import descendants

    for one in [pid, *(descendants(pid) if sign == signal.SIGKILL else ())]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, sign)


def drain(node: str = typer.Argument(..., metavar="NODE"), folder: Path | None = FOLDER) -> None:
    """Start nothing new on a node; what runs there continues."""
    called(folder, "client.drain", node=node, is_draining=True)
    say(f"{node} gets no more work")


def resume(node: str = typer.Argument(..., metavar="NODE"), folder: Path | None = FOLDER) -> None:
    """Give work to a drained node again."""
    called(folder, "client.drain", node=node, is_draining=False)
    say(f"{node} gets work")


def restart_node(node: str = typer.Argument(..., metavar="NODE"), folder: Path | None = FOLDER) -> None:
    """Restart the agent of a node, for example if a unit is stuck. Everything that runs there is ended and starts
    again, here or elsewhere; jobs with --at-most-once end as unknown."""
    called(folder, "client.restart", node=node)
    say(f"{node} restarts")


def prune(
    older: str = typer.Option(..., "--older", metavar="TIME", help='Minimum time since they ended, such as "30 d".'),
    folder: Path | None = FOLDER,
) -> None:
    """Delete jobs and requests that ended long ago, and the output of these jobs."""
    from vinesim.formats.source.quantities import time_us

    found = called(folder, "client.prune", older_us=time_us(older, "--older"))
    say(f"{found['n_jobs']:,} jobs and {found['n_requests']:,} requests are forgotten")


def add_node(
    node: str = typer.Argument(..., metavar="NODE", help="Its name."),
    units: list[str] = typer.Option(..., "--units", metavar="TYPE=N", help="Its units; repeat for more types."),
    folder: Path | None = FOLDER,
) -> None:
    """Add a node to a running cluster. The manager restarts from the journal; what runs continues."""
    called(folder, "client.add", node=node, units=dict(_count(text) for text in units))
    say(f"{node} joins")


def remove_node(node: str = typer.Argument(..., metavar="NODE"), folder: Path | None = FOLDER) -> None:
    """Remove a node for good. Drain it first: what still runs there is ended and starts again elsewhere."""
    called(folder, "client.remove", node=node)
    say(f"{node} has left")


def _count(text: str) -> tuple[str, int]:
    from vinesim.model.errors import InputError, Problem

    kind, _, number = text.partition("=")
    if not kind or not number.isdecimal() or int(number) == 0:
        raise InputError([Problem(f"--units {text}", "TYPE=NUMBER, such as CPU=2", repr(text))])
    return kind, int(number)


def _end_start(process: Any) -> None:
    """End a cluster that was started, and say what takes long."""
    process.terminate()
    try:
        process.wait(SAY_S)
    except subprocess.TimeoutExpired:
        say("waiting for what was started to end, Ray last", err=True)
        process.wait()


def _wait_until_up(place: Path, process: Any, until_s: float) -> None:
    """Return once all nodes can work. Say on standard error what is waited for, if it takes long."""
    from vinesim.model.errors import VineSimError

    awaited, said, since_s = ["its manager"], ["its manager"], time.monotonic()
    while process.poll() is None and time.monotonic() < until_s:
        before, awaited = awaited, _awaited(place)
        if not awaited:
            return
        if awaited != before:
            since_s = time.monotonic()
        if awaited != said and time.monotonic() >= since_s + SAY_S:
            said = awaited
            for words in awaited:
                say(f"waiting for {words}", err=True)
        time.sleep(POLL_S)
    if process.poll() is None:
        _end_start(process)
    raise VineSimError(f"the cluster was not started: it waited for {'; '.join(awaited)}; see {place / 'logs'}")


def _awaited(place: Path) -> list[str]:
    """Return what a cluster that starts waits for, in words."""
    from vinesim.live.client import LiveError

    if not (place / "address.json").exists():
        return ["its manager"]
    try:
        return list(called(place, "client.status")["awaited"])
    except LiveError as lost:
        return [f"its manager: {lost}"]
