"""How many processor cores there are to work on."""

import os


def n_cores() -> int:
    """Cores that this process may use, where the system tells; else all."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
