"""Messages in a pipe of this machine: four bytes of length, and the message."""

from typing import Any

from vinesim.live.wire.frames import LENGTH
from vinesim.live.wire.messages import packed, unpacked


def piped(message: dict[str, Any]) -> bytes:
    """Return the bytes of a message. Raises :class:`TypeError` for a value that has no form in a message."""
    data = packed(message)
    return LENGTH.pack(len(data)) + data


def taken(buffer: bytearray) -> list[dict[str, Any]]:
    """Take the messages that are complete out of the buffer. Raises
    :class:`~vinesim.live.wire.messages.WrongMessage`."""
    found, at = [], 0
    while len(buffer) >= at + LENGTH.size:
        (length,) = LENGTH.unpack_from(buffer, at)
        end = at + LENGTH.size + length
        if len(buffer) < end:
            break
        found.append(unpacked(bytes(buffer[at + LENGTH.size : end])))
        at = end
    del buffer[:at]
    return found
