"""What a node has: its cores, its memory, and its GPUs, as their driver reports them."""

import os
import shutil
import subprocess
from functools import cache
from typing import Any

import psutil

from vinesim.live.wire.memory import shared_by

DRIVER_S = 5.0


@cache
def node_facts() -> dict[str, Any]:
    """Return the facts of this machine."""
    return {
        "host": os.uname().nodename,
        "pid": os.getpid(),
        "n_cores": os.cpu_count() or 1,
        "memory_bytes": psutil.virtual_memory().total,
        "gpus": _gpus(),
        "shared_by": shared_by(),
    }


def _gpus() -> list[str]:
    """Return the name and memory of each NVIDIA GPU; none without its driver."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    try:
        query = [program, "--query-gpu=name,memory.total", "--format=csv,noheader"]
        done = subprocess.run(query, capture_output=True, text=True, timeout=DRIVER_S, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.strip()] if done.returncode == 0 else []
