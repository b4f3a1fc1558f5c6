"""Commands of jobs: started in a process group of their own, with their output in files, and their resource use."""

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from vinesim.live.agent.processes import LIBC, collect, descendants, end_descendants, started_at
from vinesim.live.agent.records import write_record

PR_SET_PDEATHSIG = 1


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
        process = subprocess.Popen(  # noqa: S603 - running what users submit is the purpose
            words,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            cwd=order["folder"] or None,
            env=environment,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )
    on_start(process.pid, attempt, started_at(process.pid))
    status, usage = _ended(process.pid)
    process.returncode = os.waitstatus_to_exitcode(status)
    collect(end_descendants(os.getpid(), helpers))  # what the command has left behind
    end = {
        "outcome": "done",
        "exit_code": process.returncode,
        "usage": {"user_s": usage.ru_utime, "system_s": usage.ru_stime, "max_rss_kib": usage.ru_maxrss},
    }
    with ending:
        write_record(folder, attempt, {"attempt": attempt, **end})
    return end


def _ended(pid: int) -> tuple[int, Any]:
    """Wait for the command; what it leaves behind meanwhile becomes this process's child, and is collected too."""
    while True:
        found, status, usage = os.wait4(-1, 0)
        if found == pid:
            return status, usage


def _die_with_parent() -> None:
    """Let the operating system end the command when its device process dies."""
    if LIBC is not None:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
