"""The calls of operators: the state of the cluster, its nodes, and what is kept."""

from typing import TYPE_CHECKING, Any

from vinesim.live.manager.refusal import Refusal
from vinesim.live.manager.status import status_of
from vinesim.live.manager.work import Node
from vinesim.live.membership import add_node, remove_node

if TYPE_CHECKING:
    from vinesim.live.manager.core import Core, Message


class Operators:
    """What people do to the cluster."""

    def __init__(self, core: "Core"):
        self._core = core

    def on_status(self, peer: Any, message: "Message") -> "Message":
        """Return the state of the cluster."""
        return status_of(self._core)

    def on_drain(self, peer: Any, message: "Message") -> "Message":
        """Start nothing more on a node, or let it start again."""
        self._core.nodes.drain(self._node(message["node"]).name, message["is_draining"])
        return {}

    def on_restart(self, peer: Any, message: "Message") -> "Message":
        """Let the agent of a node end everything that runs there and begin again; the work starts again elsewhere."""
        node = self._node(message["node"])
        if node.peer is None:
            raise Refusal("wrong", f"node {node.name} is {node.state}: its agent is not connected")
        self._core.send(node.peer, {"op": "fenced", "why": "an operator restarts it"})
        return {}

    def on_add(self, peer: Any, message: "Message") -> "Message":
        """Add a node. Its agent can come as soon as the manager has begun again with it."""
        add_node(self._core.folder, message["node"], message["units"])
        self._core.is_changing = True
        return {}

    def on_remove(self, peer: Any, message: "Message") -> "Message":
        """Remove a node; what runs there starts again elsewhere."""
        remove_node(self._core.folder, message["node"])
        self._core.is_changing = True
        return {}

    def on_prune(self, peer: Any, message: "Message") -> "Message":
        """Forget jobs and requests that ended longer ago than a given time, and the output of these jobs."""
        core = self._core
        n_jobs, n_requests = core.journal.prune(core.now_us - message["older_us"])
        kept = [row["id"] for row in core.journal.rows("SELECT id FROM jobs ORDER BY id")]
        for node in core.nodes.all.values():
            if node.peer is not None:
                core.send(node.peer, {"op": "prune", "kept": kept})
        return {"n_jobs": n_jobs, "n_requests": n_requests}

    def on_stop(self, peer: Any, message: "Message") -> "Message":
        """End the cluster: nothing more is started, and the agents end what runs. The manager ends after them."""
        self._core.is_stopping = True
        for node in self._core.nodes.all.values():
            if node.peer is not None:
                self._core.send(node.peer, {"op": "stop"})
        return {}

    def _node(self, name: str) -> Node:
        nodes = self._core.nodes.all
        if name not in nodes:
            raise Refusal("wrong", f"no node {name!r}; there are {', '.join(nodes)}")
        return nodes[name]
