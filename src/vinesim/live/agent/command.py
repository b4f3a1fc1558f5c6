"""Commands of jobs: started in a process group of their own, with their output in files, and their resource use."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from vinesim.live.agent.processes import started_at
from vinesim.live.agent.records import write_record

PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None  # loaded before any fork


def run(
    words: list[str],
    order: dict[str, Any],
    folder: Path,
    on_start: Callable[[int, int, float | None], None],
    ending: AbstractContextManager[Any],
) -> dict[str, Any]:
    """Run a command to its end. Returns what the attempt's end says; it is also written to the attempt's record.

    ``ending`` is a lock that nobody gets any more once the command is killed: it is not recorded as ended then."""
    attempt = order["attempt"]
    place = folder / "jobs" / f"{order['job']}"
    place.mkdir(parents=True, exist_ok=True)
    environment = os.environ | order.get("env", {}) | {"VINESIM_JOB": str(order["job"])}
    with open(place / f"{attempt}.out", "wb") as out, open(place / f"{attempt}.err", "wb") as err:
        process = subprocess.Popen(  # noqa: S603 - running what users submit is the purpose
            words,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            cwd=order.get("folder") or None,
            env=environment,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )
    on_start(process.pid, attempt, started_at(process.pid))
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    end = {
        "outcome": "done",
        "exit_code": process.returncode,
        "usage": {"user_s": usage.ru_utime, "system_s": usage.ru_stime, "max_rss_kib": usage.ru_maxrss},
    }
    with ending:
        write_record(folder, attempt, {"attempt": attempt, **end})
    return end


def _die_with_parent() -> None:
    """Let the operating system end the command when its device process dies."""
    if _LIBC is not None:
        _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
