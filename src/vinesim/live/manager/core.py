"""The manager without sockets: messages in, messages out, one turn at a time.

A turn handles everything that has come in, asks the policy once, writes one transaction, and only then lets its
messages leave. If it holds nothing that was promised to anybody, one transaction is enough for many turns. Each
message is carried out as a whole or refused as a whole: a handler checks everything first, then writes to the journal,
and changes what is in memory last.
"""

import logging
import math
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vinesim.live.clock import GRID_US, ClusterClock
from vinesim.live.decisions import Arrive, Decisions, Lose, Operation, SetUp, Withdraw
from vinesim.live.journal import Journal
from vinesim.live.manager.calls import checked
from vinesim.live.manager.clients import Clients
from vinesim.live.manager.counters import Counters
from vinesim.live.manager.failures import Failures
from vinesim.live.manager.jobs import Jobs
from vinesim.live.manager.nodes import Nodes
from vinesim.live.manager.operators import Operators
from vinesim.live.manager.outputs import Outputs
from vinesim.live.manager.refusal import Refusal
from vinesim.live.manager.runs import Runs
from vinesim.live.manager.work import Item, Served
from vinesim.live.remembering import RememberingDecisions
from vinesim.model.application import Application
from vinesim.model.cluster import Cluster
from vinesim.model.errors import InputError

log = logging.getLogger(__name__)
Message = dict[str, Any]
Send = Callable[[Any, Message], None]
MOST_TIMES = 1_000  # at which the policy is called in one turn, if it wants that very often


class Core:
    """The state of the manager. ``peers`` are opaque: they are only handed back to ``send``."""

    def __init__(self, cluster: Cluster, decisions: Decisions, journal: Journal, clock: ClusterClock, folder: Path):
        self.folder = folder  # of the cluster
        self.bell: Message | None = None  # that devices of this machine ring when they have left an end
        self.cluster, self.journal, self.clock = cluster, journal, clock
        self.decisions = RememberingDecisions(decisions, journal)
        self.now_us = self.started_us = clock.now_us()
        self.counters, self.failures = Counters(), Failures()
        self.served: dict[int, Served] = {}
        self.by_name: dict[str, int] = {}
        self.items: dict[int, Item] = {}  # that wait, by their number in the decision component
        self._waiting_jobs = {job: number for number, (_, job) in self.decisions.waiting.items() if job}
        self.outbox: list[tuple[Any, Message]] = []
        self.is_stopping = False
        self.is_changing = False  # the cluster file has changed: this core ends, and another one continues
        self.ask_again_us = math.inf
        self._could_grant = True  # when the policy was called last
        self._asked_us = -math.inf  # when that was
        self._look_us = -math.inf  # when to look again for leases and clients that have come to their end
        self._operations: list[Operation] = []
        self._arriving: list[tuple[Arrive, Item]] = []
        self.clients = Clients(self)
        self.nodes = Nodes(self)
        self.runs = Runs(self)
        self.jobs = Jobs(self)
        self.outputs = Outputs(self)
        self.operators = Operators(self)
        for one in cluster.applications:
            self.serve(one.application, one.task_type, one.demand, one.kernel)
        self.clients.restore()
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

    def turn(self, messages: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Message]]:
        """Handle messages (peer, message), and what is due. Returns the messages to send, in order. After that the
        journal is to be committed, soon."""
        now_us = self.clock.now_us()
        self._pass_until(now_us)
        self.now_us = now_us
        for peer, message in messages:
            self.handle(peer, message)
        if self._look_us <= self.now_us:
            self._look()
        self._decide()
        if self.journal.is_promised:
            self.journal.commit()
        self.counters.n_turns += 1
        outbox, self.outbox = self.outbox, []
        return outbox

    def handle(self, peer: Any, message: Any) -> None:
        """Handle one message: all of it, or nothing but a refusal."""
        n_sent, n_operations, n_arriving = len(self.outbox), len(self._operations), len(self._arriving)
        try:
            with self.journal.step():
                self._carry_out(peer, message)
        except sqlite3.OperationalError:
            raise  # the journal cannot be written: nothing can be promised to anybody
        except Exception as wrong:
            del self.outbox[n_sent:], self._operations[n_operations:], self._arriving[n_arriving:]
            self._refuse(peer, message, wrong)

    def _carry_out(self, peer: Any, message: Any) -> None:
        op, call, content = checked(message)
        method = getattr(getattr(self, call.part), f"on_{op.partition('.')[2]}")
        n = message.get("n")
        client = self.clients.of(peer).id if call.is_once else ""
        if call.is_once and (reply := self.clients.answered(client, n)) is not None:
            self.send(peer, reply)
            return
        content["n"] = n
        found = method(peer, content)
        if found is None:  # it is answered later, or not at all
            return
        reply = {"op": "reply", "n": n, **found}
        if call.is_once:
            self.clients.note_answer(client, n, reply)
        self.send(peer, reply)

    def _refuse(self, peer: Any, message: Any, wrong: Exception) -> None:
        """Answer a message that was not carried out, in the way that its sender expects an answer."""
        kind, why = getattr(wrong, "kind", "wrong"), str(wrong)
        of = message if isinstance(message, dict) else {}
        op = of.get("op")
        is_expected = isinstance(wrong, Refusal | InputError | ValueError)
        if not is_expected:
            why = f"{op}: {type(wrong).__name__}: {wrong}"
            log.error("a message could not be handled", exc_info=wrong, extra={"op": op})
        if kind == "busy":
            self.counters.n_refused += 1
        else:
            self.counters.n_wrong += 1
        if op == "client.request":
            self.send(peer, {"op": "answer", "key": of.get("key"), "error": kind, "why": why})
        elif op == "client.issue":
            self.send(peer, {"op": "withdrawn", "grant": of.get("grant"), "keys": [], "why": why})
        elif str(op).startswith("agent.") and not is_expected:
            self.send(peer, {"op": "fenced", "why": why})  # it begins again, so that both know the same
        else:
            self.send(peer, {"op": "refused", "n": of.get("n"), "kind": kind, "why": why})

    def next_us(self) -> float:
        """Return when to turn again if no message comes."""
        return min(self.ask_again_us, self._look_us)

    def _look(self) -> None:
        """End what has reached its end: leases, the time of clients that are away, and grants that clients hold."""
        self.nodes.check_leases()
        self.clients.check_gone()
        self.runs.check_times()
        self._look_us = min(self.nodes.next_us(), self.clients.next_us(), self.runs.next_us())

    def look_at(self, us: float) -> None:
        """Look again at this time at the latest for what has reached its end."""
        self._look_us = min(self._look_us, us)

    def closed(self, peer: Any) -> None:
        """Note that a peer has gone."""
        self.now_us = self.clock.now_us()
        self.nodes.closed(peer)
        self.clients.closed(peer)
        self.jobs.closed(peer)
        self.outputs.closed(peer)

    # --- for the parts ---

    def send(self, peer: Any, message: Message) -> None:
        """Send a message at the end of this turn."""
        self.outbox.append((peer, message))

    def tell(self, operation: Operation) -> None:
        """Tell the decision component at the end of this turn."""
        self._operations.append(operation)

    def wait(self, item: Item) -> None:
        """Let an item wait for a grant. A job that already waited under the previous manager keeps its place."""
        item.run, item.number = None, -1
        if item.job in self._waiting_jobs:
            item.number = self._waiting_jobs.pop(item.job)
            self.items[item.number] = item
            return
        arrival = Arrive(item.application, item.size, item.arrived_us, item.job)
        self._operations.append(arrival)
        self._arriving.append((arrival, item))

    def withdraw(self, item: Item) -> bool:
        """Let a cancelled item wait no more. Returns whether it waited. If the policy cannot forget the item, the grant
        that it gets is given back."""
        item.is_cancelled = True
        for place, (arrival, arriving) in enumerate(self._arriving):
            if arriving is item:
                del self._arriving[place]
                del self._operations[next(i for i, one in enumerate(self._operations) if one is arrival)]
                return True
        if self.items.get(item.number) is not item:
            return False
        self._operations.append(Withdraw(item.number))
        return True

    @property
    def waiting(self) -> list[Item]:
        """The requests and jobs that wait."""
        return [*self.items.values(), *(item for _, item in self._arriving)]

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
            raise Refusal("busy", f"{limit:,} requests and jobs are waiting, the most allowed; try again later")

    def application(self, name: str) -> int:
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
        requests: Mapping[str, float] | None = None,
    ) -> int:
        """Register an application; without a kernel it is for clients that ask for its grants, or for jobs."""
        number = self.decisions.register(application, task_type, demand, requests)
        deadline_us = application.relative_deadline_us
        self.served[number] = Served(application.name, kernel, deadline_us, application.per_size)
        self.by_name[application.name] = number
        return number

    @property
    def _may_grant(self) -> bool:
        """Whether anything may start now."""
        return not (self.nodes.is_recovering or self.is_stopping or self.is_changing)

    def _pass_until(self, now_us: float) -> None:
        """Call the policy at the times before now for which it has asked, as a run does: this turn comes a little
        later, and its messages have come after those times."""
        for _ in range(MOST_TIMES):
            if not (self._may_grant and self.ask_again_us < now_us):
                break
            self.now_us = self.ask_again_us
            self._ask([], [])

    def _decide(self) -> None:
        """Tell the policy what has happened, until nothing more follows. If nothing has happened and the time for which
        it has asked has not come, it is not called, because a run would not call it either."""
        is_due = self.ask_again_us <= self.now_us or self._may_grant != self._could_grant
        while is_due or self._operations:
            is_due = False
            operations, self._operations = self._operations, []
            arriving, self._arriving = self._arriving, []
            withdrawn = [one for one in operations if isinstance(one, Withdraw)]
            if 0 < len(withdrawn) < len(operations):
                self._withdraw_before(withdrawn)
                operations = [one for one in operations if not isinstance(one, Withdraw)]
            self._ask(operations, arriving)

    def _withdraw_before(self, withdrawn: Sequence[Operation]) -> None:
        """Tell the policy what need not start any more just before the rest of a turn: in a run it comes last in its
        instant."""
        now_us = self.now_us
        before_us = now_us - GRID_US
        self.now_us = before_us if self._asked_us < before_us else (max(self._asked_us, 0.0) + now_us) / 2
        self._ask(withdrawn, [])
        self._pass_until(now_us)
        self.now_us = now_us

    def _ask(self, operations: Sequence[Operation], arriving: list[tuple[Arrive, Item]]) -> None:
        """Call the policy, and carry out its grants; cancelled work ends at once."""
        self._could_grant, self._asked_us = self._may_grant, self.now_us
        for one in operations:
            if isinstance(one, Withdraw):
                self.runs.withdrawn(self.items[one.request])
        outcome = self.decisions.turn(self.now_us, operations, self._could_grant)
        for number, (_, item) in zip(outcome.numbers, arriving, strict=True):
            item.number = number
            self.items[number] = item
        for grant in outcome.grants:
            self.counters.n_grants += 1
            self.runs.begin(grant, [self.items.pop(number) for number in grant.requests])
        for item in [self.items.pop(number) for number in outcome.withdrawn]:
            if not item.is_cancelled:  # its grant was lost before it was given
                self.wait(item)
        for number in outcome.dropped:
            self.runs.dropped(self.items.pop(number))
        self.ask_again_us = outcome.ask_again_us

    def set_up(self, units: Sequence[int], is_up: bool) -> None:
        """Open or close units for grants."""
        if units:
            self.tell(SetUp(tuple(units), is_up))
