"""Whether a cluster runs in a folder."""

import contextlib
import fcntl
import json
from collections.abc import Iterator
from pathlib import Path

import psutil


def is_manager_there(folder: Path) -> bool:
    """Whether a cluster runs in the folder: its supervisor does, or a manager that was started without one."""
    try:
        manager = json.loads((folder / "address.json").read_text())["pid"]
    except (OSError, ValueError, KeyError):
        manager = None
    return supervisor_pid(folder) is not None or (manager is not None and psutil.pid_exists(manager))


def supervisor_pid(folder: Path) -> int | None:
    """Return the process that owns the cluster of a folder; None if none runs."""
    try:
        pid = int((folder / "supervisor.pid").read_text())
        is_it = "vinesim.live.placed" in psutil.Process(pid).cmdline()
    except (OSError, ValueError, psutil.Error):
        return None
    return pid if is_it and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE else None


@contextlib.contextmanager
def alone(lock: Path, what: str) -> Iterator[None]:
    """Keep a second program of the same kind out of a folder. Raises :class:`SystemExit` if one is there."""
    with open(lock, "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SystemExit(f"{lock.parent}: {what} runs there already") from None
        yield
