"""Clocks: the best of several runs, runs in their own process, and the peak of memory.

The clock of what runs here is the CPU time of this process (user and system), which on an idle machine is the wall time
of one thread. On a machine of 2 cores with 3 others at work, wall times of one kernel spread by a factor of 2 to 4, CPU
times by 2 %. The best, not the mean: whatever else the machine does only ever adds time.
"""

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


def best_of(n: int, prepare: Callable[[], Callable[[], Any]]) -> tuple[float, Any]:
    """The least CPU time in s of ``n`` runs, and the last answer. ``prepare`` is not timed; what it returns is."""
    best, answer = float("inf"), None
    for _ in range(n):
        run = prepare()
        answer = None  # free the memory of the run before
        begun = time.process_time()
        answer = run()
        best = min(best, time.process_time() - begun)
    return best, answer


def in_process(command: list[str], cache: str | None = None, root: Path = ROOT) -> tuple[float, str]:
    """Run Python in a new process; wall time in s and what it printed.

    ``cache`` is a folder for what a user's machine keeps from run to run: compiled kernels and Python's bytecode. The
    VineSim that runs is that of the checkout ``root``; the benchmarks are always those of this one.
    """
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join([str(root / "src"), str(ROOT), environment.get("PYTHONPATH", "")])
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = cache
        environment["PYTHONPYCACHEPREFIX"] = cache
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # some machines set it; every start would then parse again
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, check=False)
    took = time.perf_counter() - begun
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return took, done.stdout


def give_back_free_memory() -> None:
    """Give what earlier runs have freed back to the system (glibc), else a run that takes it again needs nothing."""
    ctypes.CDLL(None).malloc_trim(0)


def forget_peak() -> None:
    """Set this process's peak of memory back to what it holds now (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")


def memory_bytes(name: str = "VmHWM") -> int:
    """Memory of this process (Linux): VmHWM is the peak, VmRSS what it holds now.

    Not ``getrusage``: a child inherits its parent's peak there.
    """
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no {name}")
