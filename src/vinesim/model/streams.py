"""Independent, named random streams from one seed: policies get the same workload, whatever they draw themselves."""

import zlib
from functools import lru_cache

import numpy as np


def stream(seed: int, name: str) -> np.random.Generator:
    """Return the generator of one stream (``arrivals``, ``sizes``, ``placement``, ``policy`` ...) of a seed."""
    return np.random.default_rng(_entropy(seed, name))


@lru_cache(1000)  # a generator takes as long as a thousand tasks
def stream_seed(seed: int, name: str) -> int:
    """Return a 64-bit number drawn from a stream, to seed a generator of another kind."""
    return int(np.random.PCG64(_entropy(seed, name)).random_raw())  # what the stream's generator draws first


def _entropy(seed: int, name: str) -> list[int]:
    return [seed, zlib.crc32(name.encode())]
