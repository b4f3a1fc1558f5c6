"""Connections of the event loop: a server that authenticates its peers, and a client of it.

A server also listens at a name that programs of its machine find (an abstract Unix socket, on Linux): a message through
it costs half the CPU time of one through TCP. Peers prove the token there as everywhere.
"""

import asyncio
import contextlib
import hashlib
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from vinesim.live.wire import handshake
from vinesim.live.wire.frames import Opener, Sealer, WrongFrame
from vinesim.live.wire.handshake import Refused
from vinesim.live.wire.messages import WrongMessage, packed, unpacked

UNREADABLE = "unreadable"
HANDSHAKE_S = 5.0  # a peer that has not proved that it knows the token by then is disconnected
OVERHEAD_BYTES = 64 * 2**10  # of a message beyond its payload
UNSENT_BYTES = 64 * 2**20  # a peer for which more than this waits is disconnected
UNREAD_S = 5.0  # ... if it has read nothing of it for this long
HAS_NAMES = sys.platform == "linux"


class Connection(asyncio.Protocol):
    """One end of a connection. Messages count once both ends have proved that they know the token.

    A message whose bytes have no meaning arrives as one with the op ``UNREADABLE``."""

    def __init__(
        self,
        token: bytes,
        max_bytes: int,
        is_server: bool,
        on_open: Callable[["Connection"], None],
        on_message: Callable[["Connection", Any], None],
        on_close: Callable[["Connection", str], None],
    ):
        self._token, self._max_bytes, self._is_server = token, max_bytes, is_server
        self._on_open, self._on_message, self._on_close = on_open, on_message, on_close
        self._early = bytearray()  # bytes of the handshake
        self._nonces: tuple[bytes, bytes] | None = None
        self._sealer: Sealer | None = None
        self._opener: Opener | None = None
        self._transport: Any = None
        self._timer: asyncio.TimerHandle | None = None
        self._why = ""
        self._n_written = self._n_read = 0  # bytes given to the transport, and those that have left it
        self._read_s = 0.0  # when the latter last grew

    @property
    def is_open(self) -> bool:
        """Whether both sides have proved themselves and the connection still stands."""
        return self._sealer is not None and not self._transport.is_closing()

    @property
    def local_host(self) -> str:
        """The address of this machine that the connection uses; empty if it uses none."""
        return str((self._transport.get_extra_info("sockname") or [""])[0])

    def send(self, *messages: Any) -> None:
        """Send messages; nothing happens if the connection is closed. Raises :class:`TypeError` as ``packed``."""
        self.send_packed(*map(packed, messages))

    def send_packed(self, *messages: bytes) -> None:
        """Send messages that are packed already."""
        if self._sealer is None or not self.is_open:
            return
        frames = b"".join([self._sealer.frame(data) for data in messages])
        self._transport.write(frames)
        self._n_written += len(frames)
        waiting, now_s = self._transport.get_write_buffer_size(), asyncio.get_running_loop().time()
        if self._n_written - waiting > self._n_read:
            self._n_read, self._read_s = self._n_written - waiting, now_s
        elif waiting > UNSENT_BYTES and now_s > self._read_s + UNREAD_S:
            self._why = "the peer does not read what it is sent"
            self._transport.abort()

    def allow(self, max_bytes: int) -> None:
        """Read messages of this length from now on."""
        if self._opener is not None:
            self._opener.max_bytes = max_bytes

    def close(self, why: str) -> None:
        """Close the connection once everything has been sent."""
        self._why = self._why or why
        if self._transport is not None:
            self._transport.close()

    # --- called by asyncio ---

    def connection_made(self, transport: Any) -> None:
        """Begin the handshake."""
        self._transport = transport
        self._timer = asyncio.get_running_loop().call_later(HANDSHAKE_S, self.close, "no handshake in time")
        if self._is_server:
            text, nonce = handshake.greeting()
            self._nonces = (nonce, b"")
            transport.write(text)

    def data_received(self, data: bytes) -> None:
        """Handle bytes: first those of the handshake, then frames."""
        try:
            if self._opener is None:
                data = self._shake_hands(data)
            if self._opener is not None and data:
                for message in self._opener.feed(data):
                    self._on_message(self, _read(message))
        except (WrongFrame, Refused) as wrong:
            self._why = str(wrong)
            self._transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        """Tell the owner."""
        if self._timer is not None:
            self._timer.cancel()
        self._on_close(self, self._why or (str(error) if error else "closed by the peer"))

    def _shake_hands(self, data: bytes) -> bytes:
        """Do the next step of the handshake. Returns the bytes that follow it."""
        self._early += data
        if self._is_server:
            return self._serve()
        if self._nonces is None:
            if len(self._early) < handshake.GREETING_BYTES:
                return b""
            reply, theirs, ours = handshake.answer(self._token, self._taken(handshake.GREETING_BYTES))
            self._nonces = (theirs, ours)
            self._transport.write(reply)
        if len(self._early) < handshake.PROOF_BYTES:
            return b""
        keys = handshake.check_proof(self._token, *self._nonces, self._taken(handshake.PROOF_BYTES))
        return self._agreed(Sealer(keys.to_server), Opener(keys.to_client, self._max_bytes))

    def _serve(self) -> bytes:
        assert self._nonces is not None
        if len(self._early) < handshake.ANSWER_BYTES:
            return b""
        proof, keys = handshake.check_answer(self._token, self._nonces[0], self._taken(handshake.ANSWER_BYTES))
        self._transport.write(proof)
        return self._agreed(Sealer(keys.to_client), Opener(keys.to_server, self._max_bytes))

    def _taken(self, n: int) -> bytes:
        """Take n bytes of the handshake."""
        taken = bytes(self._early[:n])
        del self._early[:n]
        return taken

    def _agreed(self, sealer: Sealer, opener: Opener) -> bytes:
        """Begin to exchange frames. Returns the bytes that came after the handshake."""
        self._sealer, self._opener = sealer, opener
        if self._timer is not None:
            self._timer.cancel()
        self._on_open(self)
        return self._taken(len(self._early))


def _read(data: bytes) -> Any:
    """Return the message in a frame. A peer may send bytes that have no meaning; if that ended its connection, it would
    come back and send the same again."""
    try:
        return unpacked(data)
    except WrongMessage as wrong:
        return {"op": UNREADABLE, "why": str(wrong)}


async def listening(
    make: Callable[[], Connection], token: bytes, host: str, port: int
) -> tuple[int, list[asyncio.Server]]:
    """Listen at an address (port 0: any free port) and for programs of this machine. Returns the port, and the servers.
    Raises :class:`OSError` if the address cannot be had."""
    loop = asyncio.get_running_loop()
    servers = [await loop.create_server(make, host, port, reuse_address=True)]
    found = int(servers[0].sockets[0].getsockname()[1])
    if HAS_NAMES:
        with contextlib.suppress(OSError):  # peers do without
            servers.append(await loop.create_unix_server(make, _name(token, found)))
    return found, servers


def _name(token: bytes, port: int) -> str:
    """The name at which a server is found on its machine, by those who know the token."""
    return f"\0vinesim-{hashlib.blake2b(str(port).encode(), digest_size=16, key=token).hexdigest()}"


async def connected(
    host: str,
    port: int,
    token: bytes,
    max_bytes: int,
    on_message: Callable[[Connection, Any], None],
    on_close: Callable[[Connection, str], None],
) -> Connection:
    """Connect to a server, without TCP if it is on this machine. Raises :class:`OSError`, or :class:`Refused` if either
    side does not know the token."""
    loop = asyncio.get_running_loop()
    given = token, max_bytes, on_message, on_close
    if HAS_NAMES:
        with contextlib.suppress(OSError, Refused):
            return await _connected(lambda made: loop.create_unix_connection(made, _name(token, port)), *given)
    return await _connected(lambda made: loop.create_connection(made, host, port), *given)


async def _connected(
    connect: Callable[[Callable[[], Connection]], Coroutine[Any, Any, Any]],
    token: bytes,
    max_bytes: int,
    on_message: Callable[[Connection, Any], None],
    on_close: Callable[[Connection, str], None],
) -> Connection:
    opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def is_open(_: Connection) -> None:
        if not opened.done():
            opened.set_result(None)

    def is_closed(connection: Connection, why: str) -> None:
        if opened.done() and not opened.cancelled() and opened.exception() is None:
            on_close(connection, why)
        elif not opened.done():
            hint = "" if why != "closed by the peer" else ": the token is probably wrong"
            opened.set_exception(Refused(why + hint))

    _, connection = await connect(lambda: Connection(token, max_bytes, False, is_open, on_message, is_closed))
    try:
        await opened
    except BaseException:
        connection.close("given up")
        raise
    return connection
