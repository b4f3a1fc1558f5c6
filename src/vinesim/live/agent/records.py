"""Records on an agent's disk: which processes it has started, and how commands ended, until the manager knows."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROCESS, END = "process", "end"


def node_folder(folder: Path, node: str) -> Path:
    """Return the folder of a node's agent, in that of the cluster."""
    return folder / "nodes" / node


def write_record(folder: Path, attempt: int, end: dict[str, Any]) -> None:
    """Note how an attempt ended."""
    _write(folder / f"{END}-{attempt}.json", end)


def ends(folder: Path) -> Iterator[dict[str, Any]]:
    """Return the ends that the manager has not acknowledged."""
    yield from _read(folder, END)


def forget_end(folder: Path, attempt: int) -> None:
    """Remove an end that the manager has in its journal."""
    (folder / f"{END}-{attempt}.json").unlink(missing_ok=True)


def write_process(folder: Path, pid: int, started: str | None, is_command: bool = False) -> None:
    """Note a process (the leader of a group) that this agent must end when it ends."""
    _write(folder / f"{PROCESS}-{pid}.json", {"pid": pid, "started": started, "is_command": is_command})


def processes(folder: Path) -> Iterator[tuple[int, str | None]]:
    """Return the processes that were noted, commands last: a device that is still there would report its killed command
    as one that has ended."""
    for record in sorted(_read(folder, PROCESS), key=lambda record: record["is_command"]):
        yield record["pid"], record["started"]


def forget_process(folder: Path, pid: int) -> None:
    """Remove a process that has ended."""
    (folder / f"{PROCESS}-{pid}.json").unlink(missing_ok=True)


def forget_outputs(folder: Path, kept: set[int]) -> None:
    """Remove the outputs of jobs that are older than the last of the kept jobs and not among them."""
    for path in (folder / "jobs").glob("*"):
        if path.name.isdecimal() and int(path.name) not in kept and int(path.name) < max(kept, default=0):
            shutil.rmtree(path, ignore_errors=True)


def _write(path: Path, record: dict[str, Any]) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(record))
    partial.replace(path)


def _read(folder: Path, kind: str) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob(f"{kind}-*.json")):
        try:
            yield json.loads(path.read_text())
        except (OSError, ValueError):
            continue  # it was removed meanwhile
