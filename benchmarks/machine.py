"""What the figures were measured on."""

import os
import platform
import shutil
import subprocess
from datetime import date
from importlib.metadata import version
from pathlib import Path


def description() -> str:
    """One sentence: date, processor, and the versions that matter."""
    names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    model = names[0].partition(":")[2].strip() if names else platform.machine()
    packages = ", ".join(f"{name} {version(name)}" for name in ("numba", "numpy", "simpy"))
    compiler = ""
    if shutil.which("g++"):
        compiler = ", g++ " + subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True).stdout.strip()
    busy = os.getloadavg()[0]
    others = f" The load average before it was {busy:.1f}." if busy > 0.5 else ""
    return (
        f"Measured on {date.today():%Y-%m-%d}: {os.cpu_count()} cores of an {model}, "
        f"Python {platform.python_version()}, {packages}{compiler}.{others}"
    )
