"""Arrays in CuPy as a kernel: the edges in the frames of a film. Without CuPy or a GPU, NumPy does the same."""

from functools import cache

import numpy as np

from vinesim.live.kernels import kernel, payload, prepare

FRAME = (360, 640)
MOST = 8  # frames at once: max_consolidated in cupy.yaml


@cache
def library():
    try:
        import cupy
    except ImportError:
        return np
    return cupy if cupy.is_available() else np


@cache
def memory():
    """Memory of the host for frames and for edges; the GPU reads and writes it by itself."""
    if library() is np:
        return np.empty((MOST, *FRAME), np.float32), np.empty((MOST, *FRAME), np.float32)
    from cupyx import empty_pinned

    return empty_pinned((MOST, *FRAME), np.float32), empty_pinned((MOST, *FRAME), np.float32)


@kernel("edges")
def edges(frames):
    given, found = (one[: len(frames)] for one in memory())
    np.stack(frames, out=given)
    strength = sobel(library(), library().asarray(given))
    if library() is np:
        return list(strength)
    strength.get(out=found)  # waits for the GPU
    return list(found)


def sobel(xp, images):
    """The strength of the edges at each pixel, with the border's pixels repeated outside of it."""
    around = xp.pad(images, ((0, 0), (1, 1), (1, 1)), mode="edge")
    rows = around[:, :-2] + 2 * around[:, 1:-1] + around[:, 2:]
    columns = around[:, :, :-2] + 2 * around[:, :, 1:-1] + around[:, :, 2:]
    return xp.hypot(rows[:, :, 2:] - rows[:, :, :-2], columns[:, 2:] - columns[:, :-2])


@prepare
def warm_up():
    for n in range(1, MOST + 1):
        edges([np.zeros(FRAME, np.float32)] * n)


@payload("edges")
def frame(size, random):
    return random.random(FRAME, dtype=np.float32)
