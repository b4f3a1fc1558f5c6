"""Numba for GPUs, which is a package of its own; it is imported only where a GPU is asked for."""

from numba import config, cuda

__all__ = ["cuda", "launch_bounds"]


def launch_bounds(n_threads: int) -> dict[str, int]:
    """Else the compiler may give a thread more registers than a block of 1,024 has for each; the simulator has none."""
    return {} if getattr(config, "ENABLE_CUDASIM", False) else {"launch_bounds": n_threads}
