"""Feed values to a hash so that it is equal on every machine."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

# on a field that was added later: it counts only where it differs from its default, so that older ids hold
IF_GIVEN = {"counts": "if given"}
NEVER = {"counts": "never"}  # on a field that decides nothing


def counted(value: Any) -> list[str]:
    """Return the names of a dataclass's fields that count."""
    return [
        item.name
        for item in fields(value)
        if "counts" not in item.metadata
        or (item.metadata["counts"] == "if given" and getattr(value, item.name) is not item.default)
    ]


def feed(digest: Any, value: Any) -> None:
    """Feed a value's type and content to the digest, each piece with its length, numbers by value rather than type."""
    if isinstance(value, str):
        _feed_text(digest, value)
    elif isinstance(value, np.ndarray):
        _feed_text(digest, f"array {value.dtype.str} {value.shape}")
        digest.update(np.ascontiguousarray(value).data)
    elif isinstance(value, bool | None):
        _feed_text(digest, f"constant {value}")
    elif isinstance(value, int | float | np.number):
        number = float(value)
        _feed_text(digest, f"number {number.hex() if abs(number) < 2**53 else value}")
    elif isinstance(value, tuple | list):
        _feed_text(digest, f"list {len(value)}")
        for item in value:
            feed(digest, item)
    elif isinstance(value, Mapping):
        _feed_text(digest, f"mapping {len(value)}")
        for key in sorted(value):
            _feed_text(digest, str(key))
            feed(digest, value[key])
    elif isinstance(value, type):
        _feed_text(digest, f"class {value.__module__}.{value.__qualname__}")
    elif is_dataclass(value):
        feed(digest, type(value))
        for name in counted(value):
            _feed_text(digest, name)
            feed(digest, getattr(value, name))
    else:
        _feed_text(digest, repr(value))


def _feed_text(digest: Any, text: str) -> None:
    data = text.encode()
    digest.update(b"%d %b" % (len(data), data))
