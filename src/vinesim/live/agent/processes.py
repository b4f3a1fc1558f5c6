"""Processes by number and start time: a number alone may belong to another process by now."""

import contextlib
import os
import signal

import psutil


def started_at(pid: int) -> float | None:
    """Return when the process started; None if there is none."""
    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return None


def is_alive(pid: int, started: float | None) -> bool:
    """Whether that very process runs; a dead one that nobody has collected does not."""
    try:
        process = psutil.Process(pid)
        return process.create_time() == started and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def end_group(group: int, started: float | None) -> None:
    """Kill a process group, if its leader is still the process that started then, or is gone but left others."""
    now = started_at(group)
    if now is not None and now != started:
        return  # the number belongs to another process
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
