"""Nodes on other machines: a client brings them its payloads, and gets its results from them."""

import asyncio
from collections.abc import Callable
from typing import Any

from vinesim.live.wire.connection import Connection, connected
from vinesim.live.wire.handshake import Refused
from vinesim.live.wire.messages import packed

ANY_BYTES = 2**31
REACH_S = 2.0  # a node that does not answer within this time is not tried again


class FarNodes:
    """A connection to the agent of each such node, with the requests whose payloads went through it."""

    def __init__(
        self,
        client: str,
        token: Callable[[], bytes],
        on_answer: Callable[[dict[str, Any]], None],
        on_lost: Callable[[set[str]], None],
    ):
        self._client, self._token, self._on_answer, self._on_lost = client, token, on_answer, on_lost
        self._nodes: dict[tuple[str, int], asyncio.Task[Connection | None]] = {}  # by address; None: not to be reached
        self._keys: dict[Connection, set[str]] = {}

    async def send(self, address: tuple[str, int], key: str, message: dict[str, Any]) -> bool:
        """Send a payload. Returns whether its node could be reached."""
        if address not in self._nodes:
            self._nodes[address] = asyncio.get_running_loop().create_task(self._reach(address))
        connection = await asyncio.shield(self._nodes[address])
        if connection is None or not connection.is_open:
            return False
        self._keys[connection].add(key)
        connection.send_packed(packed({"op": "payload", **message}))
        return True

    def answered(self, key: str) -> None:
        """A request is over."""
        for keys in self._keys.values():
            keys.discard(key)

    def close(self) -> None:
        """Close all connections."""
        for task in self._nodes.values():
            task.cancel()
        for connection in list(self._keys):
            connection.close("closed")

    async def _reach(self, address: tuple[str, int]) -> Connection | None:
        try:
            async with asyncio.timeout(REACH_S):
                connection = await connected(*address, self._token(), ANY_BYTES, self._received, self._closed)
        except (OSError, Refused):
            return None
        self._keys[connection] = set()
        connection.send({"op": "hello", "client": self._client})
        return connection

    def _received(self, _: Connection, message: dict[str, Any]) -> None:
        self._on_answer(message)

    def _closed(self, connection: Connection, _: str) -> None:
        for address, task in list(self._nodes.items()):
            if task.done() and not task.cancelled() and task.result() is connection:
                del self._nodes[address]
        self._on_lost(self._keys.pop(connection, set()))
