"""Commands of jobs: started in their own process group, with their output in files, and their resource use."""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from vinesim.live.agent.processes import LIBC, collect, descendants, end_descendants, started_at
from vinesim.live.agent.records import write_record

SPAWN = Path(__file__).with_name("spawn.py")


def run(
    words: list[str],
    order: dict[str, Any],
    folder: Path,
    on_start: Callable[[int, int, str | None], None],
    ending: AbstractContextManager[Any],
) -> dict[str, Any]:
    """Run a command to its end. Returns what the attempt's end says; it is also written to the attempt's record.

    ``ending`` is a lock that nobody gets any more once the command is killed: it is not recorded as ended then."""
    attempt = order["attempt"]
    place = folder / "jobs" / f"{order['job']}"
    place.mkdir(parents=True, exist_ok=True)
    environment = os.environ | order["env"] | {"VINESIM_JOB": str(order["job"])}
    helpers = frozenset(descendants(os.getpid()))  # of kernels: not the command's
    with open(place / f"{attempt}.out", "wb") as out, open(place / f"{attempt}.err", "wb") as err:
        pid = _start(words, stdout=out, stderr=err, cwd=order["folder"] or None, env=environment)
    on_start(pid, attempt, started_at(pid))
    status, usage = _ended(pid)
    collect(end_descendants(os.getpid(), helpers))  # what the command has left behind
    end = {
        "outcome": "done",
        "exit_code": os.waitstatus_to_exitcode(status),
        "usage": {"user_s": usage.ru_utime, "system_s": usage.ru_stime, "max_rss_kib": usage.ru_maxrss},
    }
    with ending:
        write_record(folder, attempt, {"attempt": attempt, **end})
    return end


def _start(words: list[str], **more: Any) -> int:
    """Start a command in its own session, and return its number. Where this process adopts orphans, it is started
    from a small process (``spawn.py``), and the operating system ends it when this process dies."""
    if LIBC is None:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True, **more)  # noqa: S603
        process.returncode = 0  # it is waited for by its number
        return process.pid
    reads, writes = os.pipe()
    with open(reads, "rb") as answer:
        try:
            spawn = [sys.executable, "-I", "-S", str(SPAWN), str(writes), str(os.getpid()), *words]
            subprocess.run(spawn, stdin=subprocess.DEVNULL, pass_fds=(writes,), check=True, **more)  # noqa: S603
        finally:
            os.close(writes)
        pid, *wrong = map(int, answer.read().split())  # at its end, when the command is executed
    if wrong:
        os.waitpid(pid, 0)
        raise OSError(*wrong, os.strerror(*wrong), words[0])
    return pid


def _ended(pid: int) -> tuple[int, Any]:
    """Wait for the command. Processes that it leaves behind meanwhile become children of this process, and are
    collected too."""
    while True:
        found, status, usage = os.wait4(-1, 0)
        if found == pid:
            return status, usage
