"""Messages as bytes: msgpack, with NumPy arrays. No type that could run code when it is read."""

from typing import Any

import msgpack
import numpy as np

ARRAY = 1  # msgpack extension type
PLAIN_KINDS = "biufcSU"  # dtypes without Python objects


class WrongMessage(Exception):
    """The bytes are not a message."""


def packed(message: Any) -> bytes:
    """Return a message as bytes. Raises :class:`TypeError` for a value that has no form in a message."""
    result: bytes = msgpack.packb(message, default=_array, use_bin_type=True)
    return result


def unpacked(data: bytes | memoryview) -> Any:
    """Return the message in the bytes. Raises :class:`WrongMessage`."""
    try:
        return msgpack.unpackb(data, ext_hook=_from_extension, raw=False, strict_map_key=False)
    except WrongMessage:
        raise
    except Exception as wrong:  # msgpack raises many types
        raise WrongMessage(f"{type(wrong).__name__}: {wrong}") from None


def _array(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in PLAIN_KINDS:
        head = [value.dtype.str, list(value.shape), np.ascontiguousarray(value).tobytes()]
        return msgpack.ExtType(ARRAY, msgpack.packb(head, use_bin_type=True))
    raise TypeError(f"a {type(value).__name__} cannot be sent; use numbers, text, bytes, lists, dicts, NumPy arrays")


def _from_extension(code: int, data: bytes) -> Any:
    if code != ARRAY:
        raise WrongMessage(f"extension type {code}")
    dtype, shape, content = msgpack.unpackb(data, raw=False)
    if not isinstance(dtype, str) or np.dtype(dtype).kind not in PLAIN_KINDS:
        raise WrongMessage("an array of objects")
    return np.frombuffer(content, np.dtype(dtype)).reshape(shape)
