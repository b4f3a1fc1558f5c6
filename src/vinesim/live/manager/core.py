"""The manager without sockets: messages in, messages out, one turn at a time.

A turn handles everything that has come in, asks the policy once, writes one transaction, and only then lets its
messages leave.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vinesim.live.clock import ClusterClock
from vinesim.live.decisions import Arrive, Decisions, Lose, Operation, SetUp, Withdraw
from vinesim.live.journal import Journal
from vinesim.live.manager.clients import Clients
from vinesim.live.manager.counters import Counters
from vinesim.live.manager.jobs import Jobs
from vinesim.live.manager.nodes import Nodes
from vinesim.live.manager.runs import Runs
from vinesim.live.manager.status import status_of
from vinesim.live.manager.work import Item, Served
from vinesim.live.remembering import RememberingDecisions
from vinesim.model.application import Application
from vinesim.model.cluster import Cluster
from vinesim.model.errors import InputError

Message = dict[str, Any]
Send = Callable[[Any, Message], None]


class Refusal(Exception):
    """A call cannot be served: the kind says whether to try again."""

    def __init__(self, kind: str, why: str):
        super().__init__(why)
        self.kind = kind


class Core:
    """The state of the manager. ``peers`` are opaque: they are only handed back to ``send``."""

    def __init__(self, cluster: Cluster, decisions: Decisions, journal: Journal, clock: ClusterClock, folder: Path):
        self.folder = folder  # of the cluster
        self.cluster, self.journal, self.clock = cluster, journal, clock
        self.decisions = RememberingDecisions(decisions, journal)
        self.now_us = clock.now_us()
        self.counters = Counters()
        self.served: dict[int, Served] = {}
        self.by_name: dict[str, int] = {}
        self.items: dict[int, Item] = {}  # that wait, by their number in the decision component
        self._waiting_jobs = {job: number for number, (_, job) in self.decisions.waiting.items() if job}
        self.outbox: list[tuple[Any, Message]] = []
        self.is_stopping = False
        self.is_changing = False  # the cluster file has changed: this core ends, and another one continues
        self.ask_again_us = math.inf
        self._operations: list[Operation] = []
        self._arriving: list[Item] = []
        self.clients = Clients(self)
        self.nodes = Nodes(self)
        self.runs = Runs(self)
        self.jobs = Jobs(self)
        for one in cluster.applications:
            self.serve(one.application, one.task_type, one.demand, one.kernel)
        self.nodes.restore()
        self.jobs.restore()
        self._adopt()
        journal.commit()

    def _adopt(self) -> None:
        """Give up what else the policy has of the manager before: requests, because their clients send them again, and
        grants. What still runs closes its unit until it ends."""
        for grant in self.decisions.running:
            self.tell(Lose(grant))
        for number, (application, job) in self.decisions.waiting.items():
            if number not in self.items:
                self.items[number] = Item(application, 0.0, self.now_us, job=job, number=number)
                self.withdraw(self.items[number])
        self._waiting_jobs.clear()

    # --- one turn ---

    def turn(self, messages: Sequence[tuple[Any, Message]]) -> list[tuple[Any, Message]]:
        """Handle messages (peer, message), and what is due. Returns the messages to send, in order."""
        self.now_us = self.clock.now_us()
        for peer, message in messages:
            self.handle(peer, message)
        self.nodes.check_leases()
        self.clients.check_gone()
        self.runs.check_times()
        self._decide()
        self.journal.commit()
        self.counters.n_turns += 1
        outbox, self.outbox = self.outbox, []
        return outbox

    def handle(self, peer: Any, message: Message) -> None:
        """Handle one message; a call that is wrong is answered with a refusal."""
        op = message.get("op") if isinstance(message, dict) else None
        role, _, call = str(op).partition(".")
        handler = {"agent": self.nodes, "client": self.clients, "job": self.jobs}.get(role)
        method = getattr(handler, f"on_{call}", None) if handler is not None else None
        try:
            if method is None:
                raise Refusal("wrong", f"unknown call {op!r}")
            method(peer, message)
        except Refusal as refusal:
            self._refuse(peer, message, refusal.kind, str(refusal))
        except InputError as wrong:
            self._refuse(peer, message, "wrong", str(wrong))
        except (KeyError, TypeError, ValueError, AttributeError) as wrong:  # of a message that lacks what it needs
            self._refuse(peer, message, "wrong", f"{op}: {type(wrong).__name__}: {wrong}")

    def next_us(self) -> float:
        """Return when to turn again if no message comes."""
        return min(self.ask_again_us, self.nodes.next_us(), self.clients.next_us(), self.runs.next_us())

    def closed(self, peer: Any) -> None:
        """Note that a peer has gone."""
        self.now_us = self.clock.now_us()
        self.nodes.closed(peer)
        self.clients.closed(peer)

    # --- for the parts ---

    def send(self, peer: Any, message: Message) -> None:
        """Send a message once this turn is in the journal."""
        self.outbox.append((peer, message))

    def reply(self, peer: Any, message: Message, **content: Any) -> None:
        """Answer a call."""
        self.send(peer, {"op": "reply", "n": message.get("n"), **content})

    def tell(self, operation: Operation) -> None:
        """Tell the decision component at the end of this turn."""
        self._operations.append(operation)

    def wait(self, item: Item) -> None:
        """Let an item wait for a grant. A job that waited under the manager before keeps its place."""
        if item.job in self._waiting_jobs:
            item.number = self._waiting_jobs.pop(item.job)
            self.items[item.number] = item
            return
        self._operations.append(Arrive(item.application, item.size, item.arrived_us, item.job))
        self._arriving.append(item)

    def withdraw(self, item: Item) -> None:
        """Let a cancelled item wait no more, if the policy can forget it; else its grant is given back."""
        item.is_cancelled = True
        if item.number in self.items:
            self._operations.append(Withdraw(item.number))

    @property
    def n_waiting(self) -> int:
        """Number of requests and jobs that wait."""
        return len(self.items) + len(self._arriving)

    def check_room(self) -> None:
        """Raise :class:`Refusal` if nothing more may wait."""
        if self.is_stopping:
            raise Refusal("stopping", "the cluster is being stopped")
        limit = self.cluster.limits.pending
        if self.n_waiting >= limit:
            self.counters.n_refused += 1
            raise Refusal("busy", f"{limit:,} requests and jobs are waiting, the most allowed; try again later")

    def application(self, name: Any) -> int:
        """Return an application's number. Raises :class:`Refusal`."""
        if name not in self.by_name:
            raise Refusal("wrong", f"no application {name!r}; there are {', '.join(self.by_name) or 'none'}")
        return self.by_name[name]

    def serve(
        self,
        application: Application,
        task_type: str,
        demand: float,
        kernel: str,
        client: str = "",
        requests: Mapping[str, float] | None = None,
    ) -> int:
        """Register an application; without a kernel it is for a client that asks for its grants, or for jobs."""
        if application.name in self.by_name:
            raise Refusal("wrong", f"the application {application.name!r} is registered already")
        number = self.decisions.register(application, task_type, demand, requests)
        deadline_us = application.relative_deadline_us
        self.served[number] = Served(application.name, kernel, deadline_us, application.per_size, client)
        self.by_name[application.name] = number
        return number

    def status(self) -> Message:
        """Return what the cluster looks like now."""
        return status_of(self)

    def _refuse(self, peer: Any, message: Any, kind: str, why: str) -> None:
        n = message.get("n") if isinstance(message, dict) else None
        self.send(peer, {"op": "refused", "n": n, "kind": kind, "why": why})

    def _decide(self) -> None:
        """Tell the policy what has happened, and carry out its grants; cancelled work ends at once."""
        may_grant = not (self.nodes.is_recovering or self.is_stopping or self.is_changing)
        while True:
            operations, self._operations = self._operations, []
            arriving, self._arriving = self._arriving, []
            outcome = self.decisions.turn(self.now_us, operations, may_grant)
            for number, item in zip(outcome.numbers, arriving, strict=True):
                item.number = number
                self.items[number] = item
            for grant in outcome.grants:
                self.counters.n_grants += 1
                self.runs.begin(grant, [self.items.pop(number) for number in grant.requests])
            for number in outcome.withdrawn:
                del self.items[number]
            for number in outcome.dropped:
                self.runs.dropped(self.items.pop(number))
            self.ask_again_us = outcome.ask_again_us
            if not self._operations:
                return

    def set_up(self, units: Sequence[int], is_up: bool) -> None:
        """Open or close units for grants."""
        if units:
            self.tell(SetUp(tuple(units), is_up))
