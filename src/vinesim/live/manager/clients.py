"""Clients: the four calls of the Symphony paper's Table I, and the calls of operators.

A client numbers its requests with keys of its own. It sends those that are not answered again when it reconnects; a
key that is known is not run a second time. Answers are kept until the client has confirmed them.
"""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vinesim.live.manager.work import Item, Run
from vinesim.live.membership import add_node, remove_node
from vinesim.model.application import Application

if TYPE_CHECKING:
    from vinesim.live.manager.core import Core, Message


@dataclass
class Client:
    """A program that uses the cluster."""

    id: str
    peer: Any = None
    gone_us: float = 0.0  # when its connection ended
    items: dict[str, Item] = field(default_factory=dict)  # that are not answered, by key
    answers: dict[str, "Message"] = field(default_factory=dict)  # that are not confirmed, by key


class Clients:
    """All clients that are connected, or were a short time ago."""

    def __init__(self, core: "Core"):
        self._core = core
        self._all: dict[str, Client] = {}
        self._by_peer: dict[Any, Client] = {}

    def __len__(self) -> int:
        return len(self._by_peer)

    # --- the connection ---

    def on_hello(self, peer: Any, message: "Message") -> None:
        """A client has connected, perhaps again."""
        core, client = self._core, self._all.setdefault(message["id"], Client(message["id"]))
        client.peer = peer
        self._by_peer[peer] = client
        limits = core.cluster.limits
        core.reply(peer, message, limit=limits.payload_bytes, applications=list(core.by_name))
        for answer in client.answers.values():
            core.send(peer, answer)

    def closed(self, peer: Any) -> None:
        """A connection has ended; the client has a lease's time to come back."""
        client = self._by_peer.pop(peer, None)
        if client is not None and client.peer is peer:
            client.peer, client.gone_us = None, self._core.now_us

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

    # --- Table I ---

    def on_register(self, peer: Any, message: "Message") -> None:
        """newAppRegistration."""
        core, places = self._core, {n.name: (n.rack, n.shelf) for n in self._core.cluster.nodes}
        application = Application(
            name=message["name"],
            relative_deadline_us=message["relative_deadline_us"],
            per_size=message["per_size"],
            average_load=message["average_load"],
            max_consolidated=message["max_consolidated"],
            nodes=tuple(places[name] for name in message["nodes"]),
            gang_size=message["gang_size"],
        )
        client = "" if message["kernel"] else self._by_peer[peer].id
        core.serve(application, message["task_type"], message["demand"], message["kernel"], client)
        core.reply(peer, message)

    def on_request(self, peer: Any, message: "Message") -> None:
        """newRequestNotification. With a payload the manager does the rest; the answer is the result."""
        core, client, key = self._core, self._by_peer[peer], message["key"]
        if key in client.answers:
            core.send(peer, client.answers[key])
            return
        if key in client.items:
            client.items[key].payload, client.items[key].is_found = message.get("payload"), False
            return
        try:
            number = core.application(message["application"])
            size = float(message["size"])
            if not 0 <= size < math.inf:
                raise ValueError(f"size: expected a finite number, 0 or more, found {size}")
            core.check_room()
        except Exception as refused:
            why, kind = str(refused), getattr(refused, "kind", "wrong")
            core.send(peer, {"op": "answer", "key": key, "error": kind, "why": why})
            return
        item = Item(number, size, core.now_us, client.id, key, message.get("payload"))
        client.items[key] = item
        core.counters.n_requests += 1
        core.wait(item)

    def on_issue(self, peer: Any, message: "Message") -> None:
        """The client sends the payloads of a grant; the device that the grant names processes them."""
        run = self._offered(peer, message)
        if run is not None:
            self._core.runs.issue(run, message["kernel"], message["payloads"])

    def on_complete(self, peer: Any, message: "Message") -> None:
        """requestComplete."""
        run = self._offered(peer, message)
        if run is None:
            self._core.reply(peer, message, is_in_time=False)
            return
        for item in run.items:
            self._by_peer[peer].items.pop(item.key, None)
            self._core.counters.n_done += 1
        self._core.runs.release(run, is_complete=True)
        self._core.reply(peer, message, is_in_time=True)

    def on_cancel(self, peer: Any, message: "Message") -> None:
        """The client no longer wants a request."""
        item = self._by_peer[peer].items.get(message["key"])
        if item is not None:
            self._core.runs.cancel(item)

    def on_confirm(self, peer: Any, message: "Message") -> None:
        """The client has these answers."""
        for key in message["keys"]:
            self._by_peer[peer].answers.pop(key, None)

    # --- operators ---

    def on_status(self, peer: Any, message: "Message") -> None:
        """What the cluster looks like."""
        self._core.reply(peer, message, **self._core.status())

    def on_drain(self, peer: Any, message: "Message") -> None:
        """Start nothing more on a node, or let it start again."""
        if message["node"] not in self._core.nodes.all:
            known = ", ".join(self._core.nodes.all)
            raise ValueError(f"no node {message['node']!r}; there are {known}")
        self._core.nodes.drain(message["node"], message["is_draining"])
        self._core.reply(peer, message)

    def on_add(self, peer: Any, message: "Message") -> None:
        """Add a node. Its agent can come as soon as the manager has begun anew with it."""
        add_node(self._core.folder, message["node"], {str(kind): int(n) for kind, n in message["units"].items()})
        self._core.is_changing = True
        self._core.reply(peer, message)

    def on_remove(self, peer: Any, message: "Message") -> None:
        """Remove a node; what runs there starts again elsewhere."""
        remove_node(self._core.folder, message["node"])
        self._core.is_changing = True
        self._core.reply(peer, message)

    def on_stop(self, peer: Any, message: "Message") -> None:
        """End the cluster: nothing more is started, and the agents end what runs."""
        self._core.is_stopping = True
        for node in self._core.nodes.all.values():
            if node.peer is not None:
                self._core.send(node.peer, {"op": "stop"})
        self._core.reply(peer, message)

    # --- for the parts ---

    def answer(self, item: Item, content: "Message") -> None:
        """Answer a request, now or when its client comes back."""
        client = self._all.get(item.client)
        if client is None:
            return
        client.items.pop(item.key, None)
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
                again.is_cancelled, item.is_found, item.payload = True, False, again.payload
            client.items[item.key] = item

    def forget(self, item: Item) -> None:
        """A request that was found running has failed, and its client has not sent it again: it will."""
        self._all[item.client].items.pop(item.key, None)

    def offer(self, client: str, run: Run) -> None:
        """Give a grant to the client that asks for itself."""
        assert run.grant is not None
        places = [[p.unit, p.rack, p.shelf, p.processor_type] for p in run.grant.places]
        self._tell(client, run, "granted", keys=[item.key for item in run.items], places=places)

    def results(self, run: Run, results: list[Any]) -> None:
        """Give the results of a grant to the client that issued it."""
        self._tell(run.items[0].client, run, "results", results=results)

    def withdrawn(self, run: Run, why: str) -> None:
        """Tell a client that its grant is lost."""
        client = self._all.get(run.items[0].client)
        for item in run.items if client is not None else ():
            client.items.pop(item.key, None)  # type: ignore[union-attr]
        self._tell(run.items[0].client, run, "withdrawn", why=why)

    def _tell(self, client: str, run: Run, op: str, **content: Any) -> None:
        assert run.grant is not None
        known = self._all.get(client)
        if known is not None and known.peer is not None:
            application = self._core.served[run.grant.application].name
            self._core.send(known.peer, {"op": op, "grant": run.grant.id, "application": application, **content})

    def _offered(self, peer: Any, message: "Message") -> Run | None:
        """Return a grant that this client holds; None if it was withdrawn."""
        run = self._core.runs.offered.get(message["grant"])
        return run if run is not None and run.items[0].client == self._by_peer[peer].id else None
