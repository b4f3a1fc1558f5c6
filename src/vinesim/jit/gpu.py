"""Numba for GPUs, a separate package, imported only if a GPU is requested."""

from numba import config, cuda

__all__ = ["cuda", "launch_bounds"]


def launch_bounds(n_threads: int) -> dict[str, int]:
    """Return the options that limit the registers per thread so that a block of ``n_threads`` can launch.

    The simulator does not know the option, and needs none.
    """
    return {} if getattr(config, "ENABLE_CUDASIM", False) else {"launch_bounds": n_threads}
