"""Whether a cluster runs in a folder."""

from pathlib import Path

import psutil


def supervisor_pid(folder: Path) -> int | None:
    """Return the process that owns the cluster of a folder; None if none runs."""
    try:
        pid = int((folder / "supervisor.pid").read_text())
        is_it = "vinesim.live.placed" in psutil.Process(pid).cmdline()
    except (OSError, ValueError, psutil.Error):
        return None
    return pid if is_it and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE else None
