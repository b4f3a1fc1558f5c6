"""Frames: four bytes of length, sixteen of a keyed hash, and the message. The length is checked first.

The hash binds each frame to the session's key, its direction and its place in the stream: a frame that somebody on the
way alters, repeats, drops or moves ends the connection.
"""

import hashlib
import struct
from collections.abc import Iterator

LENGTH = struct.Struct("!I")
MAC_BYTES = 16
HEAD_BYTES = LENGTH.size + MAC_BYTES


class WrongFrame(Exception):
    """The peer broke the protocol; the connection must be closed."""


class Sealer:
    """Writes the frames of one direction."""

    def __init__(self, key: bytes):
        self._key, self._n = key, 0

    def frame(self, message: bytes) -> bytes:
        """Return the next frame."""
        mac = _mac(self._key, self._n, message)
        self._n += 1
        return LENGTH.pack(len(message)) + mac + message


class Opener:
    """Reads the frames of one direction from chunks of a stream; a message has ``max_bytes`` at most."""

    def __init__(self, key: bytes, max_bytes: int):
        self._key, self.max_bytes, self._n = key, max_bytes, 0
        self._buffer = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Add a chunk, and return the messages that are complete. Raises :class:`WrongFrame` at the first wrong one."""
        is_whole = not self._buffer  # nothing of it came before
        if not is_whole:
            self._buffer += chunk
        data, at = chunk if is_whole else self._buffer, 0
        while len(data) - at >= HEAD_BYTES:
            (length,) = LENGTH.unpack_from(data, at)
            if length > self.max_bytes:
                raise WrongFrame(f"a message of {length:,} bytes; the limit is {self.max_bytes:,}")
            end = at + HEAD_BYTES + length
            if len(data) < end:
                break
            if isinstance(data, bytes):
                mac, message = data[at + LENGTH.size : at + HEAD_BYTES], data[at + HEAD_BYTES : end]
            else:
                with memoryview(data) as view:
                    mac, message = bytes(view[at + LENGTH.size : at + HEAD_BYTES]), bytes(view[at + HEAD_BYTES : end])
            if mac != _mac(self._key, self._n, message):
                raise WrongFrame("a message that its sender did not write, or not here")
            self._n += 1
            at = end
            yield message
        if is_whole:
            self._buffer += chunk[at:]
        else:
            del self._buffer[:at]


def _mac(key: bytes, n: int, message: bytes) -> bytes:
    return hashlib.blake2b(message, digest_size=MAC_BYTES, key=key, salt=n.to_bytes(16, "little")).digest()
