"""One seed, named independent random streams: two policies meet the same workload, whatever either draws."""

import zlib

import numpy as np


def stream(seed: int, name: str) -> np.random.Generator:
    """The generator of one stream (``arrivals``, ``sizes``, ``placement``, ``policy`` ...) of a seed."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def stream_seed(seed: int, name: str) -> int:
    """A 64-bit number drawn from a stream, to seed a generator of another kind."""
    return int(stream(seed, name).integers(0, 2**64, dtype=np.uint64))
