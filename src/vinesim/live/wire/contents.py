"""Content: what a kernel gets or returns. A header of msgpack, and behind it the bytes of its arrays, which nothing
walks through: they are written and read as they lie in memory.

Content is packed on its own, and travels as bytes inside messages, or next to them. Only its receiver reads it, so
content that cannot be read is an error of its request, and of nothing else.
"""

from collections.abc import Sequence
from typing import Any

import msgpack
import numpy as np

from vinesim.live.wire.frames import LENGTH
from vinesim.live.wire.messages import PLAIN_KINDS, WrongMessage, array_as_extension, packed_with, unpacked_with

APART = 2  # msgpack extension type: data type, shape, and where the bytes are, behind the header
APART_BYTES = 1024  # an array as large as this lies behind the header
ALIGNED_BYTES = 64
Parts = list[bytes | memoryview]


def parts_of(value: Any) -> Parts:
    """Return content as bytes that belong one behind the other; large arrays are not copied. Raises :class:`TypeError`
    for a value that has no form in a message."""
    arrays: Parts = []
    n_bytes = 0

    def apart(one: Any) -> Any:
        nonlocal n_bytes
        if not (isinstance(one, np.ndarray) and one.nbytes >= APART_BYTES and one.dtype.kind in PLAIN_KINDS):
            return array_as_extension(one)
        head = [one.dtype.str, list(one.shape), n_bytes]
        data = np.ascontiguousarray(one).reshape(-1).view(np.uint8).data
        arrays.extend((data, bytes(-data.nbytes % ALIGNED_BYTES)))
        n_bytes += data.nbytes + len(arrays[-1])
        return msgpack.ExtType(APART, msgpack.packb(head, use_bin_type=True))

    header = packed_with(apart, value)
    rest = bytes(-(LENGTH.size + len(header)) % ALIGNED_BYTES) if arrays else b""
    return [LENGTH.pack(len(header)), header, rest, *arrays]


def n_bytes_of(parts: Parts) -> int:
    """Return how long content is."""
    return sum(memoryview(part).nbytes for part in parts)


def value_of(data: bytes | memoryview) -> Any:
    """Return the value of content; its large arrays are views of the data. Raises :class:`WrongMessage`."""
    view = memoryview(data)
    if len(view) < LENGTH.size:
        raise WrongMessage("it ends too early")
    end = LENGTH.size + LENGTH.unpack_from(view)[0]
    first = end + -end % ALIGNED_BYTES

    def array(head: Sequence[Any]) -> np.ndarray:
        dtype, shape, at = head
        kind = np.dtype(dtype)
        n_items = int(np.prod(shape, dtype=np.int64))
        if kind.kind not in PLAIN_KINDS or at < 0 or n_items < 0:
            raise WrongMessage("an array of objects, or outside of the content")
        return np.frombuffer(view, kind, n_items, first + at).reshape(shape)

    return unpacked_with({APART: array}, view[LENGTH.size : end])
