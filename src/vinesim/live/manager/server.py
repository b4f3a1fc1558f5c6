"""The manager on the network: connections in, one turn of the core per turn of the event loop."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from vinesim.live.alarm import Alarm
from vinesim.live.manager.channel import Channel
from vinesim.live.manager.core import Core
from vinesim.live.wire.board import Bell, emptied
from vinesim.live.wire.connection import OVERHEAD_BYTES, Connection, listening
from vinesim.live.wire.memory import shared_by

log = logging.getLogger(__name__)
AGENT_BYTES = 2**31  # an agent sends the results of consolidated requests together, each within the limit
LEAST_WAIT_S = 0.001
STOP_S = 5.0  # agents may take that long to stop: what ended until then is in the journal
UNIT_BYTES = 4  # by which a device says whose end it has left
NOTES_S = 0.02  # for so long what was noted in the journal waits for more


class Server:
    """Serves a core to agents and clients that know the token."""

    def __init__(self, core: Core, token: bytes, on_stop: Callable[[], None] = lambda: None):
        self.core, self._token, self._on_stop = core, token, on_stop
        self._inbox: list[tuple[Any, Any]] = []
        self._peers: set[Connection] = set()
        self._is_due = self._is_closed = self._is_stopping = False
        self._alarm = Alarm(self._soon)
        self._keeping: asyncio.TimerHandle | None = None  # until the journal commits
        self._servers: list[asyncio.Server] = []
        self._bell: Bell | None = None
        self._heard: list[Channel] = []  # whose ends are in the inbox
        self.port = 0
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()  # never done if all goes well

    async def start(self, host: str, port: int = 0) -> None:
        """Listen; port 0 is any that is free."""
        limit = self.core.cluster.limits.payload_bytes + OVERHEAD_BYTES

        def connection() -> Connection:
            return Connection(self._token, limit, True, self._opened, self._received, self._closed)

        if shared_by():
            self._bell = Bell()
            self.core.bell = self._bell.address
            asyncio.get_running_loop().add_reader(self._bell.file, self._rung)
        self.port, self._servers = await listening(connection, self._token, host, port)
        self._soon()

    async def close(self) -> None:
        """Close all connections, and the journal."""
        self._is_closed = True
        self._alarm.cancel()
        if self._keeping is not None:
            self._keeping.cancel()
        if self._bell is not None:
            asyncio.get_running_loop().remove_reader(self._bell.file)
            self._bell.close()
        for server in self._servers:
            server.close()
        for peer in list(self._peers):
            peer.close("the manager ends")
        await asyncio.sleep(0)
        self.core.journal.close()

    def _opened(self, peer: Connection) -> None:
        self._peers.add(peer)

    def _received(self, peer: Connection, message: Any) -> None:
        if isinstance(message, dict) and message.get("op") == "agent.hello":
            peer.allow(AGENT_BYTES)
        self._inbox.append((peer, message))
        self._soon()

    def _rung(self) -> None:
        """Devices have left ends."""
        assert self._bell is not None
        data = emptied(self._bell.file)
        units = {int.from_bytes(data[at : at + UNIT_BYTES], "little") for at in range(0, len(data), UNIT_BYTES)}
        for channel in self.core.nodes.channels(units):
            self._heard.append(channel)
            ends = channel.ends()
            self._inbox.append((channel.agent, {"op": "agent.ended", "ends": ends, "is_of_board": True}))
        self._soon()

    def _closed(self, peer: Connection, why: str) -> None:
        if peer in self._peers:
            self._peers.discard(peer)
            log.info("connection closed", extra={"why": why})
            self.core.closed(peer)
            self._soon()
        else:
            log.warning("connection refused", extra={"why": why})

    def _soon(self) -> None:
        """Turn once the loop has read what is there."""
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        """Turn, unless the server was closed meanwhile. After an error the state is not to be trusted: the program
        ends, and what is in the journal counts."""
        try:
            if not self._is_closed:
                self._turn_once()
        except Exception as wrong:
            self._fail(wrong)

    def _fail(self, wrong: Exception) -> None:
        log.critical("the manager has failed", exc_info=wrong)
        if not self.failed.done():
            self.failed.set_exception(wrong)

    def _turn_once(self) -> None:
        self._is_due = False
        inbox, self._inbox = self._inbox, []
        by_peer: dict[Any, list[Any]] = {}
        for peer, message in self.core.turn(inbox):
            by_peer.setdefault(peer, []).append(message)
        for peer, messages in sorted(by_peer.items(), key=lambda of: not isinstance(of[0], Channel)):
            self._post(peer, messages)  # a board first: an agent finds there what it is asked to end
        for channel in self._heard:
            channel.free()
        self._heard.clear()
        if self._keeping is None and not self.core.journal.is_committed:
            self._keeping = asyncio.get_running_loop().call_later(NOTES_S, self._keep)
        if self.core.is_changing or (self.core.is_stopping and not self.core.nodes.any_agent):
            self._on_stop()
        elif self.core.is_stopping and not self._is_stopping:
            self._is_stopping = True
            asyncio.get_running_loop().call_later(STOP_S, self._on_stop)
        self._wait()

    def _wait(self) -> None:
        """Turn when something is due, also if no message comes."""
        wait_us = self.core.next_us() - self.core.clock.now_us()
        self._alarm.set(asyncio.get_running_loop().time() + max(LEAST_WAIT_S, wait_us / 1e6))

    def _keep(self) -> None:
        """Keep what the turns of the last time have noted."""
        self._keeping = None
        try:
            self.core.journal.commit()
        except Exception as wrong:
            self._fail(wrong)

    def _post(self, peer: Any, messages: list[Any]) -> None:
        """Send messages to a peer, if it is there."""
        if peer is not None:
            peer.send(*messages)
            if any(message["op"] == "fenced" for message in messages):
                peer.close("fenced")
