"""Nodes: agents that come and go, epochs, and the leases that fence their devices.

A device ends itself when its lease is over. So a unit whose node is silent is given away only after the lease and a
grace, or when a new agent of the node says that it has ended everything that ran there before.
"""

import logging
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from vinesim.live.kernels import source_of
from vinesim.live.manager.calls import END
from vinesim.live.manager.channel import Channel
from vinesim.live.manager.fields import read
from vinesim.live.manager.work import Node
from vinesim.live.wire.board import is_possible

if TYPE_CHECKING:
    from vinesim.live.manager.core import Core, Message

log = logging.getLogger(__name__)
MOST_PROCESSES = 64  # of a unit that are started before it gets work; more come when they are needed


class Nodes:
    """All declared nodes."""

    def __init__(self, core: "Core"):
        self._core = core
        limits = core.cluster.limits
        self.lease_us, self._rest_us = limits.lease_us, limits.lease_us + limits.grace_us
        self.all = {
            one.name: Node(one.name, core.cluster.units_of(one.name))
            for one in core.cluster.nodes
            if not one.is_removed
        }
        self._by_peer: dict[Any, Node] = {}
        self._channels: dict[int, Channel] = {}  # to devices of this machine, by unit
        self._awaited: set[str] = set()  # nodes that were up when the manager died
        self._kernels = source_of(core.cluster.kernels)
        demands = [one.demand for one in core.cluster.applications]
        self._least_demand = min([1.0, *(demand for demand in demands if demand > 0)])  # NaN, one slot, is not

    @property
    def is_recovering(self) -> bool:
        """Whether nodes that were up before a restart of the manager have neither come back nor been fenced. Until then
        nothing is granted: a request that a client sends again may still be running there."""
        return bool(self._awaited)

    @property
    def any_agent(self) -> bool:
        """Whether an agent is connected."""
        return any(node.peer is not None for node in self.all.values())

    def restore(self) -> None:
        """Read the nodes from the journal; all units are closed until their agents come."""
        core = self._core
        for row in core.journal.rows("SELECT * FROM nodes"):
            node = self.all.get(row["name"])
            if node is None:
                continue
            node.epoch = row["epoch"]
            node.is_draining = row["state"] == "draining"
            if row["state"] in ("up", "draining", "silent"):
                node.state, node.fence_us = "silent", core.now_us + self._rest_us
                self._awaited.add(node.name)
        for one in core.cluster.nodes:
            core.set_up(core.cluster.units_of(one.name), False)
        for node in self.all.values():
            node.is_open = True  # whatever it was: the next line says that it is not
            self._note(node, False)

    # --- calls of agents ---

    def on_hello(self, peer: Any, message: "Message") -> None:
        """An agent has connected: a new one, or one that was away for less than its lease."""
        core, node = self._core, self.all.get(message["node"])
        if node is None:
            core.send(
                peer, {"op": "fenced", "why": f"the cluster file has no node {message['node']!r}", "is_final": True}
            )
            return
        is_back = message["epoch"] == node.epoch and node.state in ("up", "silent") and node.epoch > 0
        if message["epoch"] and not is_back:
            why = f"epoch {message['epoch']} of {node.name} is over; its units may belong to others"
            core.send(peer, {"op": "fenced", "why": why})
            return
        if node.peer is not None and node.peer is not peer:
            core.send(node.peer, {"op": "fenced", "why": f"another agent of {node.name} has come", "is_final": True})
            self._by_peer.pop(node.peer, None)
        if not is_back:
            node.epoch += 1
        self._drop_channels(node)
        node.peer, node.facts = peer, message["facts"]
        self._came(node, message)
        self._by_peer[peer] = node  # from now on its lease is renewed
        self.say(node, {"op": "welcome", "epoch": node.epoch, **self._settings(node)})
        log.info("node up", extra={"node": node.name, "epoch": node.epoch, "is_back": is_back})

    def on_lease(self, peer: Any, message: "Message") -> None:
        """An agent renews its lease: it began to wait for the answer at its own time, so it never has more than
        the manager grants."""
        node = self._by_peer.get(peer)
        if node is not None:
            node.fence_us = self._core.now_us + self._rest_us
            self.say(node, {"op": "lease", "at_us": message["at_us"]})

    def on_ready(self, peer: Any, message: "Message") -> None:
        """Devices can take work for the first time."""
        node = self._by_peer.get(peer)
        if node is not None:
            node.ready |= set(message["units"])
            self._open(node)

    def on_ended(self, peer: Any, message: "Message") -> None:
        """Attempts have ended."""
        node = self._by_peer.get(peer)
        ends = [_end(end) for end in message["ends"]]
        for end in ends:
            self._core.runs.ended(node, end)
        if node is not None and not message["is_of_board"]:
            node.known_ends += [end["attempt"] for end in ends]

    def on_board(self, peer: Any, message: "Message") -> None:
        """An agent opens the board of a device to this manager, or has closed it. What it did not find there is sent
        to it."""
        node, unit, generation = self._by_peer.get(peer), message["unit"], message["generation"]
        if node is None or unit not in node.units:
            return
        if is_possible(message["board"]):
            try:
                self._channels[unit] = Channel(message["board"], generation, peer, node.epoch)
            except OSError as wrong:
                log.info("no board", extra={"node": node.name, "why": str(wrong)})
        elif unit in self._channels and self._channels[unit].is_of(generation):
            for order in self._channels.pop(unit).left(message["taken"]):
                self.say(node, order)

    def on_text(self, _: Any, message: "Message") -> None:
        """A part of a job's output."""
        self._core.outputs.text(message)

    def give(self, node: Node, order: "Message") -> None:
        """Give an order: to the device itself if nobody but clients of this machine is to get its results."""
        channel = self._channels.get(order["unit"])
        if channel is not None and channel.is_open:
            if order.get("is_direct") and None not in order["homes"]:
                self._core.send(channel, order)
                return
            channel.is_open = False  # the agent closes the board when it gets the order
        self.say(node, order)

    def channels(self, units: Iterable[int]) -> list[Channel]:
        """Return the channels to these units that there are."""
        return [self._channels[unit] for unit in units if unit in self._channels]

    def _drop_channels(self, node: Node) -> None:
        """Use no board of a node any more; the ends that are there count."""
        for unit in node.units:
            channel = self._channels.pop(unit, None)
            for end in () if channel is None else channel.ends():
                self._core.runs.ended(node, _end(end))

    def say(self, node: Node, message: "Message") -> None:
        """Send a message to an agent, and with it which ends have come: the next order or answer is soon enough."""
        if node.known_ends:
            message["known_ends"], node.known_ends = node.known_ends, []
        self._core.send(node.peer, message)

    # --- what follows from time and connections ---

    def closed(self, peer: Any) -> None:
        """The connection of an agent has ended; its lease has not."""
        node = self._by_peer.pop(peer, None)
        if node is not None and node.peer is peer:
            self._drop_channels(node)
            node.peer = None
            self._become(node, "silent")
            self._note(node, False)
            self._core.set_up(node.units, False)
            log.warning("node silent", extra={"node": node.name, "epoch": node.epoch})

    def check_leases(self) -> None:
        """Give up the nodes whose lease and grace have ended."""
        for node in self.all.values():
            if node.state in ("up", "silent") and node.fence_us <= self._core.now_us:
                self._lose(node)

    def next_us(self) -> float:
        """Return when the next node is given up if it stays silent."""
        return min((n.fence_us for n in self.all.values() if n.state in ("up", "silent")), default=math.inf)

    # --- calls of operators ---

    def drain(self, name: str, is_draining: bool) -> None:
        """Start nothing more on a node, or start again; what runs there continues."""
        node = self.all[name]
        node.is_draining = is_draining
        self._become(node, node.state)
        self._open(node)

    def unblock(self, attempt: Any) -> None:
        """Open the unit of an attempt that was found again after a restart and is over."""
        node = self.all[attempt.node]
        if not any(a.unit == attempt.unit and a.run.grant is None for a in node.attempts.values()):
            node.blocked.discard(attempt.unit)
            self._open(node)

    def _came(self, node: Node, message: "Message") -> None:
        """Compare what the agent knows with what the manager knows."""
        core, running = self._core, {found["attempt"]: found for found in message["running"]}
        ends = [_end(end) for end in message["ended"]]
        node.fence_us = core.now_us + self._rest_us
        core.look_at(node.fence_us)
        node.known_ends = [end["attempt"] for end in ends]
        for end in ends:
            core.runs.ended(node, end, of_any_epoch=True)
        for attempt in [a for a in node.attempts.values() if a.id not in running]:
            core.runs.killed(attempt, "its node's agent has started again")
        for attempt in [a for a in node.attempts.values() if a.is_killed]:
            core.runs.kill(attempt)  # it may not know
        for found in running.values():
            if found["attempt"] not in node.attempts:
                core.runs.found(node, found)
        node.ready = set(message["ready"])
        node.blocked = {a.unit for a in node.attempts.values() if a.run.grant is None}
        self._awaited.discard(node.name)
        self._become(node, "up")
        self._open(node)

    def _open(self, node: Node) -> None:
        """Open the units of a node that may get work, and close the others."""
        is_up = node.state == "up" and not node.is_draining
        is_open = [is_up and unit in node.ready and unit not in node.blocked for unit in node.units]
        self._note(node, all(is_open))
        self._core.set_up([unit for unit, can in zip(node.units, is_open, strict=True) if can], True)
        self._core.set_up([unit for unit, can in zip(node.units, is_open, strict=True) if not can], False)

    def _note(self, node: Node, is_open: bool) -> None:
        """Note when a node begins or ceases to get work, for ``vinesim live explain``."""
        if is_open != node.is_open:
            node.is_open = is_open
            statement = "INSERT INTO node_changes (time_us, node, is_open) VALUES (?, ?, ?)"
            self._core.journal.write(statement, self._core.now_us, node.name, is_open)

    def _lose(self, node: Node) -> None:
        core = self._core
        core.counters.n_lost_nodes += 1
        self._awaited.discard(node.name)
        if node.peer is not None:
            core.send(node.peer, {"op": "fenced", "why": f"no lease was renewed for {self._rest_us / 1e6:g} s"})
            self._by_peer.pop(node.peer, None)
            self._drop_channels(node)
            node.peer = None
        for attempt in list(node.attempts.values()):
            core.runs.killed(attempt, f"node {node.name} was silent until its lease ended")
        node.blocked.clear()
        self._become(node, "lost")
        self._note(node, False)
        core.set_up(node.units, False)
        log.error("node lost", extra={"node": node.name, "epoch": node.epoch})

    def _become(self, node: Node, state: str) -> None:
        node.state = state
        kept = "draining" if node.is_draining and state in ("up", "silent") else state
        self._core.journal.write("INSERT OR REPLACE INTO nodes VALUES (?, ?, ?)", node.name, node.epoch, kept)

    def _settings(self, node: Node) -> "Message":
        """What an agent needs to know."""
        center = self._core.cluster.datacenter
        (gpus,) = (one.gpus for one in self._core.cluster.nodes if one.name == node.name)
        units = []
        for unit, gpu in zip(node.units, gpus, strict=True):
            kind = center.processor_types[int(center.unit_type[unit])]
            n = min(MOST_PROCESSES, max(1, math.floor(kind.capacity / self._least_demand)))
            units.append({"unit": unit, "type": kind.name, "n_processes": n, "ahead": kind.ahead, "gpu": gpu})
        limits = self._core.cluster.limits
        return {
            "units": units,
            "kernels": self._kernels,
            "lease_us": limits.lease_us,
            "limit": limits.payload_bytes,
            "bell": self._core.bell,
            "kernel_us": limits.kernel_us,
        }


def _end(said: Any) -> "Message":
    """Return how an attempt ended, as its agent says. An end that cannot be read is one that failed."""
    try:
        return read(END, said if isinstance(said, dict) else {})
    except ValueError as wrong:
        log.error("an end could not be read", extra={"why": str(wrong)})
        attempt = said.get("attempt") if isinstance(said, dict) else None
        epoch = said.get("epoch") if isinstance(said, dict) else None
        failed = {"outcome": "raised", "why": f"its end could not be read: {wrong}"}
        return {**read(END, {"attempt": 0, **failed}), "attempt": attempt, "epoch": epoch}
