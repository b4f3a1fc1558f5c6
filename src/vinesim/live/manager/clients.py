"""Clients: the four calls of the Symphony paper's Table I.

A client numbers its requests with its own keys. It sends those that are not answered again when it reconnects; a
key that is known is not run a second time. Answers are kept until the client has confirmed them. A call that changes
something is carried out once, also if the client makes it again: its answer is in the journal.
"""

import json
import logging
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgpack

from vinesim.live.manager.refusal import Refusal
from vinesim.live.manager.work import OF_JOBS, Item, Node, Run
from vinesim.live.registered import registered
from vinesim.model.errors import InputError

if TYPE_CHECKING:
    from vinesim.live.manager.core import Core, Message

log = logging.getLogger(__name__)
KEPT_US = 600e6  # how long the answer of a call is kept; a client tries to reconnect for a minute


@dataclass
class Client:
    """A program that uses the cluster."""

    id: str
    peer: Any = None
    home: "Message | None" = None  # where devices find its memory
    gone_us: float = 0.0  # when its connection ended
    items: dict[str, Item] = field(default_factory=dict)  # that are not answered, by key
    answers: dict[str, "Message"] = field(default_factory=dict)  # that are not confirmed, by key


class Clients:
    """All clients that are connected, or were a short time ago."""

    def __init__(self, core: "Core"):
        self._core = core
        self._all: dict[str, Client] = {}
        self._by_peer: dict[Any, Client] = {}
        self._registered: dict[str, Message] = {}  # applications that clients have registered, as they did

    def __len__(self) -> int:
        return len(self._by_peer)

    def restore(self) -> None:
        """Serve the applications that clients have registered under the managers before."""
        for row in list(self._core.journal.rows("SELECT name, content FROM applications ORDER BY name")):
            try:
                self._serve(json.loads(row["content"]))
            except (InputError, Refusal, KeyError) as wrong:  # the cluster file has changed
                log.warning("application given up", extra={"application": row["name"], "why": str(wrong)})
                self._core.journal.write("DELETE FROM applications WHERE name = ?", row["name"])

    # --- the connection ---

    def of(self, peer: Any) -> Client:
        """Return the client of a connection. Raises :class:`Refusal`."""
        if peer not in self._by_peer:
            raise Refusal("wrong", "expected client.hello before any other call")
        return self._by_peer[peer]

    def on_hello(self, peer: Any, message: "Message") -> None:
        """A client has connected, perhaps again."""
        core, client = self._core, self._all.setdefault(message["id"], Client(message["id"]))
        client.peer, client.home = peer, message["home"]
        self._by_peer[peer] = client
        limits, names = core.cluster.limits, list(core.by_name)
        core.send(peer, {"op": "reply", "n": message["n"], "limit": limits.payload_bytes, "applications": names})
        for answer in client.answers.values():
            core.send(peer, answer)
        for run in core.runs.offered.values():
            if run.items[0].client == client.id and not run.attempts:
                self.offer(run)  # it may not know of it
        for run in {id(item.run): item.run for item in client.items.values() if item.run is not None}.values():
            for attempt in run.attempts:
                core.runs.ask_for_payloads(attempt, client.id)

    def closed(self, peer: Any) -> None:
        """A connection has ended; the client has a lease's time to come back."""
        client = self._by_peer.pop(peer, None)
        if client is not None and client.peer is peer:
            client.peer, client.gone_us = None, self._core.now_us
            self._core.look_at(self.next_us())

    def next_us(self) -> float:
        """Return when the next client is given up if it does not come back."""
        gone_us = (client.gone_us for client in self._all.values() if client.peer is None)
        return min(gone_us, default=math.inf) + self._core.nodes.lease_us

    def check_gone(self) -> None:
        """Cancel the requests of clients that have not come back."""
        for client in [c for c in self._all.values() if c.peer is None]:
            if client.gone_us + self._core.nodes.lease_us <= self._core.now_us:
                for item in list(client.items.values()):
                    self._core.runs.cancel(item)
                for run in [r for r in self._core.runs.offered.values() if r.items[0].client == client.id]:
                    self._core.runs.release(run, is_complete=False)
                del self._all[client.id]

    # --- calls that are made again ---

    def answered(self, client: str, n: Any) -> "Message | None":
        """Return the answer of a call that was carried out before."""
        if not isinstance(n, int):
            raise Refusal("wrong", f"n: expected the call's number, found {n!r}")
        row = self._core.journal.one("SELECT content FROM answers WHERE client = ? AND n = ?", client, n)
        return None if row is None else msgpack.unpackb(row["content"])

    def note_answer(self, client: str, n: int, reply: "Message") -> None:
        """Keep the answer of a call, in the same transaction as what it has changed."""
        core = self._core
        core.journal.write("DELETE FROM answers WHERE time_us < ?", core.now_us - KEPT_US)
        core.journal.write("INSERT INTO answers VALUES (?, ?, ?, ?)", client, n, core.now_us, msgpack.packb(reply))

    # --- Table I ---

    def on_register(self, peer: Any, message: "Message") -> "Message":
        """newAppRegistration. An application that is registered in the same way is the same."""
        core = self._core
        what = {name: value for name, value in message.items() if name != "n"}
        known = self._registered.get(what["name"])
        if known == what:
            return {}
        if known is not None and core.runs.is_used(core.by_name[what["name"]]):
            differs = ", ".join(name for name in what if what[name] != known[name])
            why = f"the application {what['name']!r} is in use with another {differs}; use another name"
            raise Refusal("wrong", why)
        self._serve(what)
        core.journal.write("INSERT OR REPLACE INTO applications VALUES (?, ?)", what["name"], json.dumps(what))
        return {}

    def _serve(self, what: "Message") -> None:
        core, name = self._core, what["name"]
        if (name in core.by_name and name not in self._registered) or name.startswith(OF_JOBS):
            raise Refusal("wrong", f"the name {name!r} is one of the cluster's own; use another name")
        one = registered(what, core.cluster)
        core.serve(one.application, one.task_type, one.demand, one.kernel)
        self._registered[what["name"]] = what

    def on_request(self, peer: Any, message: "Message") -> None:
        """newRequestNotification. With a payload the manager does the rest; the answer is the result."""
        core, client, key, payload = self._core, self.of(peer), message["key"], message["payload"]
        if key in client.answers:
            core.send(peer, client.answers[key])
            return
        if key in client.items:
            item = client.items[key]
            item.payload, item.is_found, item.is_lost = payload, False, message["is_lost"]
            return
        number = core.application(message["application"])
        if bool(core.served[number].kernel) != (payload is not None):
            uses = "request" if core.served[number].kernel else "new_request and can_issue, as it has no kernel"
            raise Refusal("wrong", f"the application {message['application']!r} is used with {uses}")
        self._check_payload(payload)
        core.check_room()
        item = Item(number, message["size"], core.now_us, client.id, key, payload)
        client.items[key] = item
        core.counters.n_requests += 1
        core.wait(item)

    def on_issue(self, peer: Any, message: "Message") -> None:
        """The client sends the payloads of a grant; the device that the grant names processes them."""
        run, n = self._offered(peer, message), len(message["payloads"])
        if run is None:
            raise Refusal("lost", "the grant was withdrawn")
        if run.attempts:
            return  # it is sent again
        if n != len(run.items):
            raise Refusal("wrong", f"expected a payload for each of {len(run.items)} requests, found {n}")
        for payload in message["payloads"]:
            self._check_payload(payload)
        self._core.runs.issue(run, message["kernel"], message["payloads"])

    def on_payload(self, peer: Any, message: "Message") -> None:
        """The client sends what it was asked for."""
        self._core.runs.forward(self.of(peer).id, message)

    def on_complete(self, peer: Any, message: "Message") -> "Message":
        """requestComplete."""
        run = self._offered(peer, message)
        if run is None:
            return {"is_in_time": False}
        for item in run.items:
            self.of(peer).items.pop(item.key, None)
            self._core.counters.n_done += 1
        self._core.runs.release(run, is_complete=True)
        return {"is_in_time": True}

    def on_cancel(self, peer: Any, message: "Message") -> None:
        """The client no longer wants a request."""
        item = self.of(peer).items.get(message["key"])
        if item is not None:
            self._core.runs.cancel(item)

    def on_confirm(self, peer: Any, message: "Message") -> None:
        """The client has these answers."""
        for key in message["keys"]:
            self.of(peer).answers.pop(key, None)

    def _check_payload(self, payload: Any) -> None:
        """Raise :class:`Refusal` for a payload that is too long."""
        limit = self._core.cluster.limits.payload_bytes
        if isinstance(payload, list) and payload[1] > limit:
            raise Refusal("wrong", f"payload: expected at most {limit:,} bytes, found a place of {payload[1]:,}")

    # --- for the parts ---

    def home(self, item: Item, node: Node) -> "Message | None":
        """Return where a node's devices find the memory of a request's client, if they can reach it."""
        client = self._all.get(item.client)
        home = None if client is None else client.home
        return home if home is not None and home["shared_by"] == node.facts.get("shared_by") else None

    def keep_away(self, items: list[Item]) -> None:
        """The memory of a client cannot be opened by devices: from now on it sends its payloads."""
        for item in items:
            if isinstance(item.payload, list) and item.client in self._all:
                self._all[item.client].home = None

    def ask(self, item: Item, to: Any, which: "Message") -> None:
        """Let a client send a payload that it has in its memory; if it is away, it is asked when it comes back. It
        sends it ``to`` an address of its node, if that can be reached."""
        client = self._all.get(item.client)
        if client is not None and client.peer is not None:
            self._core.send(client.peer, {"op": "send", "key": item.key, "payload": item.payload, "to": to, **which})

    def answer(self, item: Item, content: "Message") -> None:
        """Answer a request, now or when its client comes back."""
        client = self._all.get(item.client)
        if client is None:
            return
        client.items.pop(item.key, None)
        if "is_sent" in content:
            return  # the device has answered
        message = {"op": "answer", "key": item.key, **content}
        client.answers[item.key] = message
        if client.peer is not None:
            self._core.send(client.peer, message)

    def adopt(self, items: list[Item]) -> None:
        """Note requests that were found running after a restart. If their client has sent them again, what it has
        sent does not run, but is kept for the case that the found attempt fails."""
        for item in items:
            client = self._all.setdefault(item.client, Client(item.client, gone_us=self._core.now_us))
            again = client.items.get(item.key)
            if again is not None:
                item.is_found, item.payload = False, again.payload
                self._core.withdraw(again)
            client.items[item.key] = item
        self._core.look_at(self.next_us())

    def forget(self, item: Item) -> None:
        """A request that was found running has failed, and its client has not sent it again: it will."""
        self._all[item.client].items.pop(item.key, None)

    def offer(self, run: Run) -> None:
        """Give a grant to the client whose requests it starts."""
        assert run.grant is not None
        places = [[p.unit, p.rack, p.shelf, p.processor_type] for p in run.grant.places]
        self._tell(run, "granted", places=places)

    def results(self, run: Run, results: list[Any]) -> None:
        """Give the results of a grant to the client that issued it."""
        self._tell(run, "results", results=results)

    def withdrawn(self, run: Run, why: str) -> None:
        """Tell a client that its grant is lost, and with it its requests."""
        client = self._all.get(run.items[0].client)
        for item in run.items if client is not None else ():
            client.items.pop(item.key, None)  # type: ignore[union-attr]
        self._tell(run, "withdrawn", why=why)

    def _tell(self, run: Run, op: str, **content: Any) -> None:
        assert run.grant is not None
        known, keys = self._all.get(run.items[0].client), [item.key for item in run.items]
        if known is not None and known.peer is not None:
            application = self._core.served[run.grant.application].name
            message = {"op": op, "grant": run.grant.id, "application": application, "keys": keys, **content}
            self._core.send(known.peer, message)

    def _offered(self, peer: Any, message: "Message") -> Run | None:
        """Return a grant that this client holds; None if it was withdrawn."""
        run = self._core.runs.offered.get(message["grant"])
        return run if run is not None and run.items[0].client == self.of(peer).id else None
