"""The number of processor cores available."""

import os


def n_cores() -> int:
    """Return the number of cores that this process may use, if the system says so; otherwise all."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
