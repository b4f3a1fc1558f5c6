"""What kernels get and return, and the messages of what they raise. Whatever it is, it is an answer or an error."""

import json
from typing import Any

import numpy as np

from vinesim.live.wire.messages import WrongMessage, packed, unpacked

MOST_WORDS = 2_000  # characters of an error that are reported


def payload_of(data: bytes) -> Any:
    """Return a payload; the error itself if it cannot be read, which then is the result of its request."""
    try:
        return unpacked(data)
    except WrongMessage as wrong:
        return WrongMessage(f"its payload cannot be read: {wrong}")


def result_of_request(one: Any, limit_bytes: int) -> dict[str, Any]:
    """Return what a request's client gets: the result as bytes, or why there is none."""
    if isinstance(one, BaseException):
        return {"error": words_of(one)}
    try:
        data = packed(one)
    except TypeError as wrong:
        return {"error": f"its result: {wrong}"}
    if len(data) > limit_bytes:
        return {"error": f"its result has {len(data):,} bytes; the limit is {limit_bytes:,}"}
    return {"result": data}


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
