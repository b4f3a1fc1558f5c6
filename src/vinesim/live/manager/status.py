"""What ``status``, ``top`` and the metrics show."""

import os
from typing import TYPE_CHECKING, Any

from vinesim.live.manager.work import Attempt, Node

if TYPE_CHECKING:
    from vinesim.live.manager.core import Core

NUMBERS = {  # of the counters: the name of each in status and metrics, and its meaning
    "n_requests": "Requests accepted",
    "n_done": "Requests processed",
    "n_missed": "Requests processed after their deadline",
    "n_failed": "Requests that failed: their kernel raised or took too long, or their devices died too often",
    "n_dropped": "Requests that the policy dropped",
    "n_cancelled": "Requests that were cancelled",
    "n_refused": "Requests and jobs that were refused because too many were waiting",
    "n_wrong": "Messages that were refused because they were wrong",
    "n_jobs": "Jobs accepted",
    "n_jobs_ended": "Jobs that have ended",
    "n_started_again": "Requests and jobs that were started again because their devices died",
    "n_old": "Completions that came too late and were not used",
    "n_lost_nodes": "Times that a node was given up because its lease had ended",
    "n_grants": "Grants",
    "n_turns": "Turns of the manager's loop",
}

AWAITED = {  # by the state of a node: what keeps work from it
    "absent": "its agent has not come",
    "silent": "its agent has gone, and its lease still runs",
    "lost": "its agent has gone, and its lease has ended",
}


def status_of(core: "Core") -> dict[str, Any]:
    """Return the state of the cluster in plain values."""
    waiting = dict.fromkeys((served.name for served in core.served.values()), 0)
    for item in [one for one in core.waiting if not one.is_cancelled]:
        waiting[core.served[item.application].name] += 1
    running = [attempt for node in core.nodes.all.values() for attempt in node.attempts.values()]
    return {
        "now_us": core.now_us,
        "manager": {"pid": os.getpid(), "n_starts": core.runs.n_starts, "age_us": core.now_us - core.started_us},
        "policy": getattr(core.cluster.policy, "name", str(core.cluster.policy)),
        "engine": core.decisions.engine,
        "engine_why": core.decisions.engine_why,
        "nodes": [_node(core, node) for node in core.nodes.all.values()],
        "waiting": waiting,
        "n_waiting": core.n_waiting,
        "n_running": len(running),
        "n_clients": len(core.clients),
        "is_recovering": core.nodes.is_recovering,
        "awaited": [words for node in core.nodes.all.values() if (words := _awaited(core, node))],
        "failures": core.failures.shown(),
        "counters": {name: getattr(core.counters, name) for name in NUMBERS},
        "response_us": _percentiles(core.counters.response_us),
        "dispatch_us": _percentiles(core.counters.dispatch_us),
    }


def _node(core: "Core", node: Node) -> dict[str, Any]:
    return {
        "name": node.name,
        "state": _state(node),
        "epoch": node.epoch,
        "n_units": len(node.units),
        "running": [_attempt(core, attempt) for attempt in node.attempts.values()],
        "facts": node.facts,
    }


def _attempt(core: "Core", attempt: Attempt) -> dict[str, Any]:
    """Return what runs, and for how long; ``ending`` says why it is to end, if it is."""
    items = attempt.run.items
    what = "-" if not items else f"job {items[0].job}" if items[0].job else core.served[items[0].application].name
    return {
        "unit": attempt.unit,
        "attempt": attempt.id,
        "what": what,
        "age_us": core.now_us - attempt.begun_us,
        "ending": attempt.run.why,
    }


def _state(node: Node) -> str:
    """Return the state in a word; a node that is up, but whose devices still load their kernels, is starting."""
    if node.state != "up":
        return str(node.state)
    if node.is_draining:
        return "draining"
    return "starting" if _loading(node) else "up"


def _loading(node: Node) -> list[int]:
    """Return the units of a node whose device processes still load their kernels."""
    return [unit for unit in node.units if unit not in node.ready]


def _awaited(core: "Core", node: Node) -> str:
    """Return what a node waits for before it gets work, in words; empty if for nothing."""
    why = AWAITED.get(node.state, "")
    if not why and (units := _loading(node)):
        center = core.cluster.datacenter
        named = [f"{unit} ({center.processor_types[int(center.unit_type[unit])].name})" for unit in units]
        why = f"the kernels of unit{'s' if len(units) > 1 else ''} {', '.join(named)} still load or warm up"
    return why and f"node {node.name}: {why}"


def _percentiles(values: Any) -> dict[str, float] | None:
    """Return the median and the 99th percentile of the recent values, nearest rank; None if there are none."""
    found = sorted(values)
    if not found:
        return None
    return {"p50": found[(len(found) - 1) // 2], "p99": found[min(len(found) - 1, -(-len(found) * 99 // 100) - 1)]}
