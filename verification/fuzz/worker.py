"""A process that runs commands of VineSim one after the other, with limits of time and memory."""

import json
import os
import resource
import select
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from io import FileIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Self

import psutil

from benchmarks.measure import memory_bytes
from verification.fuzz.outcomes import MOST_MEMORY, Seen

ADDRESS_SPACE = 4 << 30  # bytes above that of the process when it has started
MOST_CPU_S = 10.0  # of a command; the files as they are take a tenth of a second
MOST_WALL_S = 200.0  # of one that waits for something
ERRORS = "backslashreplace"  # what standard error does with text that has no bytes
ROOT = Path(__file__).parents[2]


class Worker:
    """Starts the process when it is needed, and again after a command that broke a limit."""

    def __init__(self) -> None:
        self._process: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def run(self, folder: Path, words: Sequence[str], most_cpu_s: float = MOST_CPU_S) -> Seen:
        """Run a command in a folder; stop it if it takes longer."""
        if self._process is None:
            self._process = _start()
        process = psutil.Process(self._process.pid)
        begun_s, used_s = time.monotonic(), _cpu_s(process)
        self._process.stdin.write(json.dumps([str(folder), list(words)]).encode() + b"\n")
        self._process.stdin.flush()
        while not select.select([self._process.stdout], [], [], 0.2)[0]:
            cpu_s = _cpu_s(process) - used_s
            if cpu_s > most_cpu_s or time.monotonic() - begun_s > MOST_WALL_S:
                self._stop()
                return Seen(None, "", "", cpu_s, 0.0)
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            self._stop()
            return Seen(-abs(code), "", "", 0.0, 0.0)
        seen = Seen(*json.loads(line))
        if seen.memory > MOST_MEMORY:
            self._stop()  # else the next command would seem to have taken it too
        return seen

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdin.close()
            self._process.stdout.close()
            self._process = None


def _start() -> subprocess.Popen:
    words = [sys.executable, "-m", "verification.fuzz.worker"]
    environment = {**os.environ, "COLUMNS": "100", "TERM": "dumb", "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)


def _cpu_s(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.Error:  # it has just ended
        return 0.0
    return times.user + times.system


def _run(folder: str, words: list[str]) -> Seen:
    """Run a command in this process, whatever it prints, by whatever way."""
    from vinesim.cli.errors import report_errors
    from vinesim.cli.main import app

    os.chdir(folder)
    sys.argv = ["vinesim", *words]
    found, used_s = "", time.process_time()
    with TemporaryFile() as out, TemporaryFile() as err:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        sys.stdout, sys.stderr = (TextIOWrapper(FileIO(fd, "w", closefd=False), errors=ERRORS) for fd in (1, 2))
        try:
            code: int | None = report_errors(app)
        except BaseException:  # a command's fault must not end the worker
            code, found = 1, traceback.format_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        texts = [_start_of(file) for file in (out, err)]
    return Seen(code, *texts, time.process_time() - used_s, memory_bytes() / 2**20, found)


def _start_of(file: Any) -> str:
    file.seek(0)
    return file.read(100_000).decode(errors="replace")


def _serve() -> None:
    import vinesim.cli.main  # noqa: F401  what it takes is not counted as the first command's

    answers = os.fdopen(os.dup(1), "w")
    limit = psutil.Process().memory_info().vms + ADDRESS_SPACE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin:
        print(json.dumps(_run(*json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    _serve()
