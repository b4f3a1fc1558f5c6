"""The client library: the four calls of the Symphony paper's Table I, and one call above them.

``session.register`` gives an application. ``await application.request(payload, size)`` returns the result of its
kernel. An application without a kernel asks for its grants itself: ``new_request``, ``can_issue``, ``issue``,
``complete``.
"""

import asyncio
import contextlib
import itertools
import math
import uuid
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from vinesim.live.address import Address
from vinesim.live.wire.connection import Connection, connected
from vinesim.live.wire.handshake import Refused
from vinesim.live.wire.messages import packed
from vinesim.model.errors import InputError, Problem, VineSimError

AGAIN_S = 0.1
PATIENCE_S = 60.0  # how long a client tries to reach the manager
REFUSED_S = 3.0  # how long a new one tries if it is refused: by then a manager that was about to end is gone
ANY_BYTES = 2**31


class LiveError(VineSimError):
    """A request or a call that the cluster did not serve. ``kind``: busy, wrong, failed, dropped, cancelled, lost."""

    def __init__(self, kind: str, why: str):
        super().__init__(f"{kind}: {why}" if kind not in ("wrong", "failed") else why)
        self.kind, self.why = kind, why


@dataclass(frozen=True)
class Offer:
    """A grant of an application that asks for itself: which of its requests start now, and where."""

    id: int
    keys: tuple[str, ...]  # of the requests, the oldest first
    places: tuple[tuple[int, int, int, str], ...]  # unit, rack, shelf, processor type; one per gang member


class Session:
    """A connection to a cluster, which is made again when it breaks. Requests that are not answered are sent again;
    the cluster knows them by their keys."""

    def __init__(self, address: Address):
        self._address, self.id = address, uuid.uuid4().hex
        self._connection: Connection | None = None
        self._numbers, self._keys = itertools.count(1), itertools.count(1)
        self._calls: dict[int, tuple[dict[str, Any], asyncio.Future[Any]]] = {}
        self._requests: dict[str, tuple[dict[str, Any], asyncio.Future[Any]]] = {}
        self._issued: dict[int, asyncio.Future[Any]] = {}
        self._offers: dict[str, deque[Offer]] = {}
        self._offered = asyncio.Event()
        self._confirm: list[str] = []
        self._is_closed = self._was_connected = False
        self._welcome: asyncio.Future[dict[str, Any]] | None = None  # awaited while it connects
        self._lost: LiveError | None = None  # the manager was not found again
        self._again: asyncio.Task[None] | None = None
        self.limit_bytes = ANY_BYTES

    async def __aenter__(self) -> Self:
        await self._connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Leave the cluster. Requests that are not answered are cancelled by it after a lease."""
        self._is_closed = True
        if self._again is not None:
            self._again.cancel()
        if self._connection is not None:
            self._flush()
            self._connection.close("closed")
        self._fail_all(LiveError("lost", "the session was closed"))

    # --- applications ---

    async def register(
        self,
        name: str,
        relative_deadline_us: float,
        average_load: float = 1.0,
        *,
        kernel: str = "",
        nodes: Sequence[str] = (),
        gang_size: int = 1,
        max_consolidated: int = 1,
        per_size: bool = False,
        task_type: str | None = None,
        demand: float = 1.0,
    ) -> "ApplicationClient":
        """newAppRegistration. ``kernel`` processes its requests; without one the application asks for its grants.
        ``nodes``, by name, hold its data (empty: all). Raises :class:`LiveError`."""
        await self.call(
            "client.register",
            name=name,
            relative_deadline_us=float(relative_deadline_us),
            average_load=float(average_load),
            kernel=kernel,
            nodes=list(nodes),
            gang_size=gang_size,
            max_consolidated=max_consolidated,
            per_size=per_size,
            task_type=task_type or name,
            demand=float(demand),
        )
        return ApplicationClient(self, name, kernel)

    def application(self, name: str) -> "ApplicationClient":
        """Return an application that the cluster file declares, or that another client has registered."""
        return ApplicationClient(self, name, "")

    # --- calls ---

    async def call(self, op: str, **content: Any) -> dict[str, Any]:
        """Make a call and return its answer; it is made again if the connection breaks. Raises :class:`LiveError`."""
        if self._lost is not None:
            raise self._lost
        n = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        message = {"op": op, "n": n, **content}
        self._calls[n] = (message, answer)
        self._say(message)
        try:
            return await answer
        finally:
            self._calls.pop(n, None)

    def send_request(self, application: str, payload: Any, size: float) -> tuple[str, asyncio.Future[Any]]:
        """Send a request. Returns its key, and the future of its answer."""
        if self._lost is not None:
            raise self._lost
        key = str(next(self._keys))
        message = {"op": "client.request", "key": key, "application": application, "size": size, "payload": payload}
        self._check_size("request, payload", payload)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._requests[key] = (message, answer)
        self._say(message)
        return key, answer

    def cancel(self, key: str) -> None:
        """Give up a request."""
        self._requests.pop(key, None)
        self._say({"op": "client.cancel", "key": key})

    def forget(self, key: str) -> None:
        """Stop sending a request again after the connection broke: it is over."""
        self._requests.pop(key, None)

    async def offer(self, application: str) -> Offer:
        """Wait for the next grant of an application."""
        while not self._offers.get(application):
            self._offered.clear()
            await self._offered.wait()
        return self._offers[application].popleft()

    async def issue(self, grant: int, kernel: str, payloads: list[Any]) -> list[Any]:
        """Send the payloads of a grant, and return the results."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._check_size("issue, payloads", payloads)
        self._issued[grant] = answer
        self._say({"op": "client.issue", "grant": grant, "kernel": kernel, "payloads": payloads})
        try:
            results: list[Any] = await answer
            return results
        finally:
            self._issued.pop(grant, None)

    def _check_size(self, where: str, payload: Any) -> None:
        if (n := len(packed(payload))) > self.limit_bytes:
            expected = f"at most {self.limit_bytes:,} bytes"
            raise InputError([Problem(where, expected, f"{n:,}", "Send a reference to it instead.")])

    # --- the connection ---

    async def _connect(self) -> None:
        """Reach the manager, say who this is, and send what is not answered."""
        loop = asyncio.get_running_loop()
        until_s, refused_s = loop.time() + PATIENCE_S, math.inf
        while True:
            try:
                host, port, token = self._address.read()
                connection = await connected(host, port, token, ANY_BYTES, self._received, self._closed)
                await self._hello(connection)
                break
            except (OSError, Refused) as wrong:
                # a manager that dies may accept a connection and close it; one with another token does so, too
                is_refused = isinstance(wrong, Refused) and not self._was_connected
                refused_s = min(refused_s, loop.time() + REFUSED_S) if is_refused else math.inf
                if loop.time() > min(until_s, refused_s):
                    raise LiveError("lost", f"{self._address}: {wrong}") from None
                await asyncio.sleep(AGAIN_S)
        for message, _ in [*self._calls.values(), *self._requests.values()]:
            connection.send(message)

    async def _hello(self, connection: Connection) -> None:
        """Say who this is. Raises :class:`OSError` if the connection breaks before the answer."""
        self._connection, self._was_connected = connection, True
        self._welcome = asyncio.get_running_loop().create_future()
        connection.send({"op": "client.hello", "n": 0, "id": self.id})
        try:
            self.limit_bytes = (await self._welcome)["limit"]
        finally:
            self._welcome = None

    def _closed(self, connection: Connection, why: str) -> None:
        if connection is not self._connection or self._is_closed:
            return
        self._connection = None
        if self._welcome is not None:
            if not self._welcome.done():
                self._welcome.set_exception(ConnectionResetError(why))
            return  # who waits for the welcome tries again
        for answer in self._issued.values():
            if not answer.done():
                answer.set_exception(LiveError("lost", "the manager ended while the grant was carried out"))
        self._again = asyncio.get_running_loop().create_task(self._reconnect())

    async def _reconnect(self) -> None:
        try:
            await self._connect()
        except LiveError as lost:
            self._fail_all(lost)

    def _fail_all(self, why: LiveError) -> None:
        self._lost = why
        for answer in [*(a for _, a in self._calls.values()), *(a for _, a in self._requests.values())]:
            if not answer.done():
                answer.set_exception(why)
        self._requests.clear()

    def _say(self, message: dict[str, Any]) -> None:
        if self._connection is not None and self._connection.is_open:
            self._connection.send(message)

    def _received(self, _: Connection, message: dict[str, Any]) -> None:
        op = message["op"]
        if op in ("reply", "refused"):
            self._answered(message)
        elif op == "answer":
            self._result(message)
        elif op == "granted":
            places = tuple((p[0], p[1], p[2], p[3]) for p in message["places"])
            offer = Offer(message["grant"], tuple(message["keys"]), places)
            self._offers.setdefault(message["application"], deque()).append(offer)
            self._offered.set()
        elif op in ("results", "withdrawn"):
            answer = self._issued.get(message["grant"])
            if answer is not None and not answer.done():
                if op == "results":
                    answer.set_result([_content(one) for one in message["results"]])
                else:
                    answer.set_exception(LiveError("failed", message["why"]))

    def _answered(self, message: dict[str, Any]) -> None:
        if message["n"] == 0 and self._welcome is not None and not self._welcome.done():
            self._welcome.set_result(message)
        if message["n"] not in self._calls:
            return
        answer = self._calls[message["n"]][1]
        if answer.done():
            return
        if message["op"] == "refused":
            answer.set_exception(LiveError(message["kind"], message["why"]))
        else:
            answer.set_result(message)

    def _result(self, message: dict[str, Any]) -> None:
        """An answer to a request: confirmed with the next ones, so that the manager can forget it."""
        if not self._confirm:
            asyncio.get_running_loop().call_soon(self._flush)
        self._confirm.append(message["key"])
        _, answer = self._requests.pop(message["key"], ({}, None))
        if answer is None or answer.done():
            return
        if "error" in message:
            answer.set_exception(LiveError(message["error"], message["why"]))
        else:
            answer.set_result(message["result"])

    def _flush(self) -> None:
        keys, self._confirm = self._confirm, []
        if keys:
            self._say({"op": "client.confirm", "keys": keys})


class ApplicationClient:
    """An application of this client."""

    def __init__(self, session: Session, name: str, kernel: str):
        self._session, self.name, self._kernel = session, name, kernel

    async def request(self, payload: Any, size: float = 1.0) -> Any:
        """Send a request, and return the result of its kernel. Raises :class:`LiveError`. If the waiting task is
        cancelled, so is the request."""
        key, answer = self._session.send_request(self.name, payload, size)
        try:
            return await answer
        except asyncio.CancelledError:
            self._session.cancel(key)
            raise

    def new_request(self, size: float = 1.0) -> str:
        """newRequestNotification: a request has arrived; its data stays here. Returns its key."""
        key, answer = self._session.send_request(self.name, None, size)
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())  # known by its grant, or withdrawn
        return key

    async def can_issue(self) -> Offer:
        """canIssueRequests: wait for the go-ahead for some requests. It is this application's until ``complete``."""
        offer = await self._session.offer(self.name)
        for key in offer.keys:
            self._session.forget(key)
        return offer

    async def issue(self, offer: Offer, kernel: str, payloads: list[Any]) -> list[Any]:
        """Process the requests of a grant as one, on the devices that it names. Returns a result for each.
        Raises :class:`LiveError` if they fail; the grant is over then."""
        return await self._session.issue(offer.id, kernel, payloads)

    async def complete(self, offer: Offer) -> bool:
        """requestComplete: the requests of a grant are done. Returns False if the grant was withdrawn before."""
        return bool((await self._session.call("client.complete", grant=offer.id))["is_in_time"])


def _content(one: Any) -> Any:
    if isinstance(one, dict) and "error" in one:
        return LiveError("failed", one["error"])
    return one.get("results", one.get("result")) if isinstance(one, dict) else one


@contextlib.asynccontextmanager
async def connect(folder: Any) -> Any:
    """Join the cluster whose folder this is, as ``async with connect(folder) as session``."""
    async with Session(Address.in_folder(folder)) as session:
        yield session
