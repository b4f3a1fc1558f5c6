"""What kernels get and return, and the messages of what they raise. Whatever it is, it is an answer or an error."""

import contextlib
import json
from typing import Any

import numpy as np

from vinesim.live.wire.contents import n_bytes_of, parts_of, value_of
from vinesim.live.wire.memory import Visit
from vinesim.live.wire.messages import WrongMessage

INLINE_BYTES = 3_000  # a shorter result fits into the pipe of its client
MOST_WORDS = 2_000  # characters of an error that are reported


def payload_of(data: bytes | list[int], visit: Visit | None = None) -> Any:
    """Return a payload, given as bytes or as a place in its client's memory; the error itself if it cannot be read,
    which then is the result of its request."""
    try:
        if isinstance(data, bytes):
            return value_of(data)
        if visit is None:
            raise WrongMessage("its client has gone")
        return value_of(visit.memory.read(data))
    except (WrongMessage, OSError) as wrong:
        return WrongMessage(f"its payload cannot be read: {wrong}")


def result_of_request(one: Any, limit_bytes: int, visit: Visit | None = None) -> dict[str, Any]:
    """Return what a request's client gets: the result as bytes or as a place in its memory, or why there is none."""
    if isinstance(one, BaseException):
        return {"error": words_of(one)}
    try:
        parts = parts_of(one)
    except TypeError as wrong:
        return {"error": f"its result: {wrong}"}
    n_bytes = n_bytes_of(parts)
    if n_bytes > limit_bytes:
        return {"error": f"its result has {n_bytes:,} bytes; the limit is {limit_bytes:,}"}
    if visit is not None and n_bytes > INLINE_BYTES:
        with contextlib.suppress(OSError):  # no memory is left: it goes as bytes
            return {"result": visit.memory.append(parts)}
    return {"result": b"".join(parts)}


def result_of_job(one: Any) -> dict[str, Any]:
    """Return the result of a job, as JSON. Raises what the kernel returned if that is an exception."""
    if isinstance(one, BaseException):
        raise one
    try:
        text = json.dumps(one, default=_plain)
        json.loads(text)
    except (TypeError, ValueError, RecursionError) as wrong:
        raise TypeError(f"its result cannot be written as JSON: {wrong}") from None
    return {"json": text}


def words_of(error: BaseException) -> str:
    """Return an error's type and text, whatever the text is made of."""
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:
        text = type(error).__name__
    return text[:MOST_WORDS].replace("\0", "?").encode("utf-8", "replace").decode()


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)
