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
from collections.abc import Iterable, Sequence
from typing import Any, Self

from vinesim.live.address import Address, read_token
from vinesim.live.answers import LiveError, Offer, Offers, result_of
from vinesim.live.far import FarNodes
from vinesim.live.wire.connection import OVERHEAD_BYTES, Connection, connected
from vinesim.live.wire.contents import Parts, n_bytes_of, parts_of
from vinesim.live.wire.handshake import Refused
from vinesim.live.wire.memory import Home, Memory, Place, shared_by
from vinesim.live.wire.messages import SENDABLE, WrongMessage, packed, unpacked
from vinesim.model.errors import InputError, Problem

AGAIN_S = 0.1
PATIENCE_S = 60.0  # how long a client tries to reach the manager
REFUSED_S = 3.0  # how long a new one tries if it is refused: by then a manager that was about to end is gone
ANY_BYTES = 2**31
INLINE_BYTES = 16 * 2**10  # a larger payload stays in this client's memory, where the device takes it


class Session:
    """A connection to a cluster, which is made again when it breaks. Requests that are not answered are sent again;
    the cluster knows them by their keys."""

    def __init__(self, address: Address):
        self._address, self.id = address, uuid.uuid4().hex
        self._connection: Connection | None = None
        self._numbers, self._keys = itertools.count(1), itertools.count(1)
        self._calls: dict[int, tuple[bytes, asyncio.Future[Any]]] = {}  # with the message, to send it again
        self._requests: dict[str, tuple[bytes, asyncio.Future[Any]]] = {}
        self._held: dict[str | int, list[Place]] = {}  # payloads in this client's memory, by request or grant
        self._home: Home | None = None  # if devices of this machine can open it
        self._far = FarNodes(self.id, lambda: read_token(address.folder), self._result, self._ask_again)
        self._tasks: set[asyncio.Task[None]] = set()  # that send payloads to nodes of other machines
        self._issued: dict[int, asyncio.Future[Any]] = {}
        self.offers = Offers()
        self._confirm: list[str] = []
        self._is_closed = self._was_connected = False
        self._welcome: asyncio.Future[dict[str, Any]] | None = None  # awaited while it connects
        self._lost: LiveError | None = None  # the manager was not found again
        self._again: asyncio.Task[None] | None = None
        self.limit_bytes = ANY_BYTES

    async def __aenter__(self) -> Self:
        if shared_by():
            self._home = Home()
            asyncio.get_running_loop().add_reader(self._home.bell, self._receive)
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
        self._far.close()
        if self._home is not None:
            asyncio.get_running_loop().remove_reader(self._home.bell)
            self._home.close()
            self._home = None

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
        return self.application(name)

    def application(self, name: str) -> "ApplicationClient":
        """Return an application that the cluster file declares, or that another client has registered."""
        return ApplicationClient(self, name)

    # --- calls ---

    async def call(self, op: str, **content: Any) -> dict[str, Any]:
        """Make a call and return its answer; it is made again if the connection breaks, and is carried out once.
        Raises :class:`LiveError`, or :class:`InputError` for content that cannot be sent."""
        self._check_not_lost()
        n = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        message = self._packed(op, {"op": op, "n": n, **content})
        try:
            unpacked(message)
        except WrongMessage as wrong:
            raise InputError([Problem(op, SENDABLE, str(wrong))]) from None
        self._calls[n] = (message, answer)
        self._say(message)
        try:
            return await answer
        finally:
            self._calls.pop(n, None)

    def send_request(self, application: str, content: Parts | None, size: float) -> tuple[str, asyncio.Future[Any]]:
        """Send a request. Returns its key, and the future of its answer."""
        self._check_not_lost()
        key = str(next(self._keys))
        payload = None if content is None else self._payload(key, content)
        named = {"key": key, "application": application, "size": size, "payload": payload}
        message = self._packed("request", {"op": "client.request", **named})
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._requests[key] = (message, answer)
        self._say(message)
        return key, answer

    def cancel(self, key: str) -> None:
        """Give up a request."""
        self.forget([key])
        self._say(packed({"op": "client.cancel", "key": key}))

    def forget(self, keys: Sequence[str]) -> None:
        """Stop sending requests again after the connection broke: they are over."""
        for key in keys:
            self._requests.pop(key, None)
            self._over(key)

    async def issue(self, grant: int, kernel: str, payloads: list[Any]) -> list[Any]:
        """Send the payloads of a grant, and return the results."""
        self._check_not_lost()
        sent = [self._payload(grant, parts) for parts in [self.content("payload", one) for one in payloads]]
        content = {"grant": grant, "kernel": kernel, "payloads": sent}
        message = self._packed("issue", {"op": "client.issue", **content})
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._issued[grant] = answer
        self._say(message)
        try:
            results: list[Any] = await answer
            return results
        finally:
            self._issued.pop(grant, None)
            self._free(grant)

    def content(self, where: str, value: Any) -> Parts:
        """Return the parts of a payload. Raises :class:`InputError`."""
        try:
            parts = parts_of(value)
        except TypeError as wrong:
            raise InputError([Problem(where, SENDABLE, str(wrong))]) from None
        self._check_length(where, n_bytes_of(parts), self.limit_bytes)
        return parts

    def _payload(self, of: str | int, parts: Parts) -> bytes | Place:
        """Return a payload of a request or grant as it is sent: a large one stays in this client's memory."""
        if self._home is None or n_bytes_of(parts) <= INLINE_BYTES:
            return b"".join(parts)
        try:
            place = self._home.memory.append(parts)
        except OSError:  # no memory is left
            return b"".join(parts)
        self._held.setdefault(of, []).append(place)
        return place

    def _over(self, key: str) -> None:
        """A request needs its payload no more."""
        self._free(key)
        self._far.answered(key)

    def _free(self, of: str | int) -> None:
        """Give back what a request or grant holds in this client's memory."""
        for place in self._held.pop(of, ()):
            if self._home is not None:
                self._home.memory.free(place)

    def _packed(self, where: str, value: Any) -> bytes:
        """Return a message as bytes, at most the cluster's limit and what is allowed beyond. Raises
        :class:`InputError`."""
        try:
            data = packed(value)
        except TypeError as wrong:
            raise InputError([Problem(where, SENDABLE, str(wrong))]) from None
        self._check_length(where, len(data), self.limit_bytes + OVERHEAD_BYTES)
        return data

    def _check_length(self, where: str, n_bytes: int, most: int) -> None:
        if n_bytes > most:
            remedy = "Send a reference to it instead."
            raise InputError([Problem(where, f"at most {most:,} bytes", f"{n_bytes:,}", remedy)])

    def _check_not_lost(self) -> None:
        if self._lost is not None:
            raise self._lost

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
                    raise LiveError("lost", f"{self._address}: {wrong}{self._address.why_none()}") from None
                await asyncio.sleep(AGAIN_S)
        self._receive()  # what is answered need not be sent again
        for message, _ in [*self._calls.values(), *self._requests.values()]:
            connection.send_packed(message)

    async def _hello(self, connection: Connection) -> None:
        """Say who this is. Raises :class:`OSError` if the connection breaks before the answer."""
        self._connection, self._was_connected = connection, True
        self._welcome = asyncio.get_running_loop().create_future()
        home = None if self._home is None else self._home.address
        connection.send({"op": "client.hello", "n": 0, "id": self.id, "home": home})
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
        self._fail(self._issued.values(), LiveError("lost", "the manager ended while the grant was carried out"))
        self._again = asyncio.get_running_loop().create_task(self._reconnect())

    async def _reconnect(self) -> None:
        try:
            await self._connect()
        except LiveError as lost:
            self._fail_all(lost)

    def _fail_all(self, why: LiveError) -> None:
        self._lost = why
        open_ones = [*self._calls.values(), *self._requests.values()]
        self._fail([*(answer for _, answer in open_ones), *self._issued.values()], why)
        self.forget([*self._requests])
        self.offers.lose(why)

    def _fail(self, answers: Iterable[asyncio.Future[Any]], why: LiveError) -> None:
        for answer in answers:
            if not answer.done():
                answer.set_exception(why)

    def _say(self, message: bytes) -> None:
        if self._connection is not None and self._connection.is_open:
            self._connection.send_packed(message)

    def _received(self, _: Connection, message: dict[str, Any]) -> None:
        op = message["op"]
        if op in ("reply", "refused"):
            self._answered(message)
        elif op == "answer":
            self._confirm_later(message["key"])
            self._result(message)
        elif op == "send":
            task = asyncio.get_running_loop().create_task(self._send(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif op == "granted":
            self._granted(message)
        elif op == "results":
            answer = self._issued.get(message["grant"])
            if answer is not None and not answer.done():
                answer.set_result([result_of(one, self._memory) for one in message["results"]])
        elif op == "withdrawn":
            self._withdrawn(message)

    def _granted(self, message: dict[str, Any]) -> None:
        """A grant; it is said again when the connection was broken, perhaps of one that is known."""
        is_new = message["grant"] not in self.offers and all(key in self._requests for key in message["keys"])
        if is_new:
            places = tuple((p[0], p[1], p[2], p[3]) for p in message["places"])
            self.offers.add(message["application"], Offer(message["grant"], tuple(message["keys"]), places))

    def _withdrawn(self, message: dict[str, Any]) -> None:
        """A grant is lost, and with it its requests: whoever waits for its results, or for the grant, gets an error."""
        why = LiveError("failed", message["why"], message["keys"])
        self.forget(message["keys"])
        self._fail([self._issued[id] for id in (message["grant"],) if id in self._issued], why)
        self.offers.withdraw(message["grant"], why)

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
        """An answer to a request: of the manager, or of a device."""
        _, answer = self._requests.pop(message["key"], (b"", None))
        self._over(message["key"])
        found = result_of(message, self._memory)
        if answer is None or answer.done():
            return
        if isinstance(found, LiveError):
            found.keys = (message["key"],)
            answer.set_exception(found)
        else:
            answer.set_result(found)

    @property
    def _memory(self) -> Memory | None:
        return None if self._home is None else self._home.memory

    def _receive(self) -> None:
        """Handle the answers of devices."""
        for message in self._home.received() if self._home is not None else ():
            self._result(message)

    async def _send(self, message: dict[str, Any]) -> None:
        """Send a payload to a node that cannot take it out of this client's memory; through the manager if this client
        cannot reach it."""
        place = message["payload"]
        if self._home is None or not any(place in places for places in self._held.values()):
            return
        sent = {name: message[name] for name in ("attempt", "node", "place")}
        sent["payload"] = bytes(self._home.memory.read(place))
        if not (message["to"] and await self._far.send((message["to"][0], message["to"][1]), message["key"], sent)):
            self._say(packed({"op": "client.payload", **sent}))

    def _ask_again(self, keys: set[str]) -> None:
        """The connection to a node has broken, perhaps with answers on their way."""
        for message, _ in [self._requests[key] for key in keys if key in self._requests]:
            self._say(packed({**unpacked(message), "is_lost": True}))

    def _confirm_later(self, key: str) -> None:
        """Confirm an answer of the manager with the next ones, so that it can forget it."""
        if not self._confirm:
            asyncio.get_running_loop().call_soon(self._flush)
        self._confirm.append(key)

    def _flush(self) -> None:
        keys, self._confirm = self._confirm, []
        if keys:
            self._say(packed({"op": "client.confirm", "keys": keys}))


class ApplicationClient:
    """An application of this client."""

    def __init__(self, session: Session, name: str):
        self._session, self.name = session, name

    async def request(self, payload: Any, size: float = 1.0) -> Any:
        """Send a request, and return the result of its kernel. Raises :class:`LiveError`, and :class:`InputError` for
        a payload that cannot be sent. If the waiting task is cancelled, so is the request."""
        key, answer = self._session.send_request(self.name, self._session.content("payload", payload), size)
        try:
            return await answer
        except asyncio.CancelledError:
            self._session.cancel(key)
            raise

    def new_request(self, size: float = 1.0) -> str:
        """newRequestNotification: a request has arrived; its data stays here. Returns its key."""
        key, answer = self._session.send_request(self.name, None, size)
        answer.add_done_callback(self._refused)
        return key

    def _refused(self, answer: asyncio.Future[Any]) -> None:
        """Tell who waits for a grant that a request gets none."""
        why = None if answer.cancelled() else answer.exception()
        if isinstance(why, LiveError) and why.keys:  # else the session is lost, which ends its wait too
            self._session.offers.add(self.name, why)

    async def can_issue(self) -> Offer:
        """canIssueRequests: wait for the go-ahead for some requests. It is this application's until ``complete``.
        Raises :class:`LiveError` if requests get none: its ``keys`` say which."""
        offer = await self._session.offers.take(self.name)
        self._session.forget(offer.keys)
        return offer

    async def issue(self, offer: Offer, kernel: str, payloads: list[Any]) -> list[Any]:
        """Process the requests of a grant as one, on the devices that it names. Returns a result for each.
        Raises :class:`LiveError` if they fail; the grant is over then."""
        return await self._session.issue(offer.id, kernel, payloads)

    async def complete(self, offer: Offer) -> bool:
        """requestComplete: the requests of a grant are done. Returns False if the grant was withdrawn before."""
        return bool((await self._session.call("client.complete", grant=offer.id))["is_in_time"])


@contextlib.asynccontextmanager
async def connect(folder: Any) -> Any:
    """Join the cluster whose folder this is, as ``async with connect(folder) as session``."""
    async with Session(Address.in_folder(folder)) as session:
        yield session
