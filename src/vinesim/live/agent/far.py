"""Clients on other machines: they bring their payloads to the agent, and get their results from it."""

import asyncio
from collections.abc import Callable
from typing import Any

from vinesim.live.wire.connection import Connection

ANY_BYTES = 2**31  # a client has the token; the manager has checked how long its payload is


class FarClients:
    """The connections of such clients, each of which says first whose it is."""

    def __init__(self, token: bytes, on_payload: Callable[[str, dict[str, Any]], None]):
        self._token, self._on_payload = token, on_payload
        self._client: dict[Connection, str] = {}
        self._connection: dict[str, Connection] = {}
        self._server: asyncio.Server | None = None
        self.address: list[Any] | None = None  # host and port, once it listens

    async def listen(self, host: str) -> None:
        """Listen at an address of this machine, unless it does already. Where it cannot, clients do without."""
        if self._server is not None:
            return
        try:
            self._server = await asyncio.get_running_loop().create_server(self._made, host)
        except OSError:
            return
        self.address = [host, self._server.sockets[0].getsockname()[1]]

    def close(self) -> None:
        """Close everything."""
        if self._server is not None:
            self._server.close()
        for connection in list(self._client):
            connection.close("the agent ends")

    def answer(self, client: str, key: str, result: dict[str, Any]) -> bool:
        """Send a result to a client. Returns whether it is connected: if the connection breaks before it has the
        result, it asks the manager again."""
        connection = self._connection.get(client)
        if connection is None or not connection.is_open:
            return False
        connection.send({"op": "answer", "key": key, **result})
        return True

    def _made(self) -> Connection:
        return Connection(self._token, ANY_BYTES, True, lambda _: None, self._received, self._closed)

    def _received(self, connection: Connection, message: Any) -> None:
        try:
            if message["op"] == "hello":
                self._client[connection] = str(message["client"])
                self._connection[str(message["client"])] = connection
            elif message["op"] == "payload":
                self._on_payload(self._client[connection], message)
        except (KeyError, IndexError, TypeError):
            connection.close("a message without meaning")

    def _closed(self, connection: Connection, _: str) -> None:
        client = self._client.pop(connection, "")
        if self._connection.get(client) is connection:
            del self._connection[client]
