"""The GPU of this machine."""

from vinesim.model.packages import is_installed


def gpu() -> str:
    """The name of the GPU that Numba uses; empty if there is none, or no software for it."""
    if not is_installed("numba_cuda"):
        return ""
    from numba import config, cuda

    if config.ENABLE_CUDASIM or not cuda.is_available():
        return ""
    return str(cuda.get_current_device().name)
