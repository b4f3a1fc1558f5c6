"""Processes by number and start: a number alone may belong to another process by now.

A start is known by the boot of the machine and the clock tick since then, which no setting of the date moves.
"""

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from vinesim.live.clock import boot_id

PROC = Path("/proc")
PR_SET_CHILD_SUBREAPER = 36
LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None  # loaded before any fork
PASSES, PASS_S = 100, 0.01  # over what is left: a process that is killed may have started others just before


@dataclass(frozen=True)
class Entry:
    """A process in the table of the operating system."""

    parent: int
    started: str
    is_dead: bool  # it has ended, and its parent has not asked how


def started_at(pid: int) -> str | None:
    """Return the start of the process; None if there is none."""
    entry = _entry(pid)
    return None if entry is None else entry.started


def is_alive(pid: int, started: str | None) -> bool:
    """Whether that very process runs; a dead one that nobody has collected does not."""
    entry = _entry(pid)
    return entry is not None and entry.started == started and not entry.is_dead


def end_group(group: int, started: str | None) -> None:
    """Kill a process group, if its leader is still the process that started then, or is gone but left others."""
    now = started_at(group)
    if now is not None and now != started:
        return  # the number belongs to another process
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of all processes that this process's children leave behind, if the operating system can do
    this."""
    if LIBC is not None:
        LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1)


def descendants(pid: int, spare: frozenset[int] = frozenset()) -> dict[int, str]:
    """Return all processes that a process has started, and those that they have started, with their starts; without
    ``spare`` and what those have started."""
    children: dict[int, list[int]] = {}
    entries = dict(_entries())
    for one, entry in entries.items():
        children.setdefault(entry.parent, []).append(one)
    found: dict[int, str] = {}
    ahead = [pid]
    while ahead:
        for child in children.get(ahead.pop(), ()):
            if child not in spare and child not in found:
                found[child] = entries[child].started
                ahead.append(child)
    return found


def end_descendants(pid: int, spare: frozenset[int] = frozenset()) -> list[int]:
    """Kill all processes that a process has started, also in sessions of their own, and those that they start
    meanwhile. Returns what is left of them, for ``collect``."""
    found: dict[int, str] = {}
    for _ in range(PASSES):
        found = descendants(pid, spare)
        for one, started in found.items():
            if is_alive(one, started):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(one, signal.SIGKILL)
        if not any(is_alive(one, started) for one, started in found.items()):
            break
        time.sleep(PASS_S)
    return list(found)


def collect(pids: Iterable[int]) -> None:
    """Remove dead processes from the table, as far as they have become this one's children."""
    for pid in pids:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def _entry(pid: int) -> Entry | None:
    if not PROC.joinpath("self", "stat").exists():
        return _portable_entry(pid)
    try:
        fields = PROC.joinpath(str(pid), "stat").read_text(errors="replace").rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    return Entry(int(fields[1]), f"{boot_id()}:{fields[19]}", fields[0] in "ZX")


def _portable_entry(pid: int) -> Entry | None:
    try:
        process = psutil.Process(pid)
        return Entry(process.ppid(), str(process.create_time()), process.status() == psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return None


def _entries() -> Iterator[tuple[int, Entry]]:
    for pid in psutil.pids():
        if (entry := _entry(pid)) is not None:
            yield pid, entry
