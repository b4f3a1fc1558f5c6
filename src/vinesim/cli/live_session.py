"""How commands talk to a running cluster: one session, one call or a few, and errors in the words of the command."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from vinesim.cli.terminal import output, say

if TYPE_CHECKING:
    from vinesim.live.client import Session

FOLDER = typer.Option(
    None, "--folder", metavar="DIR", envvar="VINESIM_LIVE", help="Folder of the cluster; default: the user's own."
)


def folder_of(given: Path | None) -> Path:
    """Return the cluster's folder. Raises :class:`~vinesim.model.errors.InputError` if a package is missing."""
    check_packages()
    from vinesim.live.folder import default_folder

    return default_folder() if given is None else given


def check_packages() -> None:
    """Raise :class:`~vinesim.model.errors.InputError` if the extra ``live`` is not installed."""
    from vinesim.model.errors import InputError
    from vinesim.model.packages import is_installed, missing_problem

    absent = [name for name in ("ray", "msgpack", "psutil", "prometheus_client") if not is_installed(name)]
    if absent:
        raise InputError([missing_problem("vinesim live", name.replace("_", "-")) for name in absent])


def running_folder(given: Path | None) -> Path:
    """Return the folder. Raises :class:`~vinesim.model.errors.InputError` if no cluster runs there."""
    folder = folder_of(given)
    from vinesim.live.running import is_manager_there
    from vinesim.model.errors import InputError, Problem

    if not is_manager_there(folder):
        remedy = "Start one: vinesim live start CLUSTER.yaml"
        raise InputError([Problem(str(folder), "the folder of a cluster that runs", "none runs there", remedy)])
    return folder


def in_session(given: Path | None, work: Callable[["Session"], Awaitable[Any]]) -> Any:
    """Return what some work with a session returns. Raises ``LiveError``."""
    folder = running_folder(given)
    import asyncio

    from vinesim.live.client import connect

    async def run() -> Any:
        async with connect(folder) as session:
            return await work(session)

    return asyncio.run(run())


def called(given: Path | None, op: str, **content: Any) -> dict[str, Any]:
    """Make one call and return its answer."""

    async def work(session: "Session") -> dict[str, Any]:
        answer = await session.call(op, **content)
        return {name: value for name, value in answer.items() if name not in ("op", "n")}

    return dict(in_session(given, work))


def say_awaited(given: Path | None) -> None:
    """Say on standard error which nodes cannot work yet, and why."""
    for words in called(given, "client.status")["awaited"]:
        say(f"waiting for {words}", err=True)


def print_json(value: Any) -> None:
    """Print a value as JSON, and nothing else."""
    import json

    output().write(json.dumps(value, indent=2) + "\n")
