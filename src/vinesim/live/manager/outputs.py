"""What jobs have written: read from the node where they ran, a part at a time."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vinesim.live.manager.refusal import Refusal

if TYPE_CHECKING:
    from vinesim.live.manager.core import Core, Message


@dataclass(frozen=True)
class Reader:
    """Who waits for a part of an output, and from where."""

    peer: Any
    n: Any  # number of its call
    agent: Any  # the agent's connection
    node: str


class Outputs:
    """The parts that agents were asked for."""

    def __init__(self, core: "Core"):
        self._core = core
        self._readers: dict[int, Reader] = {}  # by ticket
        self._tickets = 0

    def on_output(self, peer: Any, message: "Message") -> "Message | None":
        """Return a part of what the last attempt of a job has written; its node's agent is asked for it."""
        core, job = self._core, message["job"]
        row = core.journal.one("SELECT * FROM attempts WHERE job = ? ORDER BY id DESC LIMIT 1", job)
        if row is None:
            core.jobs.row(job)
            return {"data": b""}
        node = core.nodes.all.get(row["node"])
        if node is None or node.peer is None:
            raise Refusal("lost", f"node {row['node']}, which has the output of job {job}, is not there")
        self._tickets += 1
        self._readers[self._tickets] = Reader(peer, message["n"], node.peer, node.name)
        where = {"job": job, "attempt": row["id"], "stream": message["stream"], "offset": message["offset"]}
        core.send(node.peer, {"op": "read", "ticket": self._tickets, **where})
        return None

    def text(self, message: "Message") -> None:
        """An agent has sent a part of an output, or why it cannot."""
        reader = self._readers.pop(message["ticket"], None)
        if reader is None:
            return
        if message["why"]:
            self._refuse(reader, message["why"])
        else:
            self._core.send(reader.peer, {"op": "reply", "n": reader.n, "data": message["data"]})

    def closed(self, peer: Any) -> None:
        """A connection has ended: of an agent that was to send outputs, or of a client that waits for them."""
        for ticket, reader in list(self._readers.items()):
            if peer in (reader.peer, reader.agent):
                del self._readers[ticket]
                self._refuse(reader, f"node {reader.node} went away before it sent the output")

    def _refuse(self, reader: Reader, why: str) -> None:
        self._core.send(reader.peer, {"op": "refused", "n": reader.n, "kind": "lost", "why": why})
