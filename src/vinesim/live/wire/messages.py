"""Messages as bytes: msgpack, with NumPy arrays. No type that could run code when it is read."""

from collections.abc import Callable, Mapping
from typing import Any

import msgpack
import numpy as np

ARRAY = 1  # msgpack extension type
PLAIN_KINDS = "biufcSU"  # dtypes without Python objects
SENDABLE = "numbers, text, bytes, lists, dicts with text or numbers as keys, NumPy arrays"


class WrongMessage(Exception):
    """The bytes are not a message."""


def packed(message: Any) -> bytes:
    """Return a message as bytes. Raises :class:`TypeError` for a value that has no form in a message."""
    return packed_with(array_as_extension, message)


def packed_with(extension: Callable[[Any], Any], message: Any) -> bytes:
    """Return a message as bytes; ``extension`` returns the form of a value for which msgpack has none."""
    try:
        result: bytes = msgpack.packb(message, default=extension, use_bin_type=True)
    except Exception as wrong:  # also of text that is not Unicode, and of lists that are nested too deep
        raise TypeError(f"it cannot be sent: {wrong}; use {SENDABLE}") from None
    return result


def unpacked(data: bytes | memoryview) -> Any:
    """Return the message in the bytes. Raises :class:`WrongMessage`."""
    return unpacked_with({}, data)


def unpacked_with(extensions: Mapping[int, Callable[[Any], Any]], data: bytes | memoryview) -> Any:
    """Return the message in the bytes, with more types of extensions, by number: each returns the value of an
    extension's content."""

    def from_extension(code: int, content: bytes) -> Any:
        if code in extensions:
            return extensions[code](msgpack.unpackb(content, raw=False))
        return _from_extension(code, content)

    try:
        return msgpack.unpackb(data, ext_hook=from_extension, raw=False, strict_map_key=False)
    except WrongMessage:
        raise
    except Exception as wrong:  # msgpack raises many types
        is_key = isinstance(wrong, TypeError) and "unhashable" in str(wrong)
        words = f"a key of a dict must be text or a number ({wrong})" if is_key else f"{type(wrong).__name__}: {wrong}"
        raise WrongMessage(words) from None


def array_as_extension(value: Any) -> Any:
    """Return the form of an array or a NumPy number in a message. Raises :class:`TypeError` for any other value."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in PLAIN_KINDS:
        head = [value.dtype.str, list(value.shape), np.ascontiguousarray(value).tobytes()]
        return msgpack.ExtType(ARRAY, msgpack.packb(head, use_bin_type=True))
    what = "a whole number beyond 64 bits" if isinstance(value, int) else f"a value of type {type(value).__name__}"
    raise TypeError(f"found {what}")


def _from_extension(code: int, data: bytes) -> Any:
    if code != ARRAY:
        raise WrongMessage(f"extension type {code}")
    dtype, shape, content = msgpack.unpackb(data, raw=False)
    if not isinstance(dtype, str) or np.dtype(dtype).kind not in PLAIN_KINDS:
        raise WrongMessage("an array of objects")
    return np.frombuffer(content, np.dtype(dtype)).reshape(shape)
