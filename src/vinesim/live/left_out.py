"""What has happened on a cluster and is not in its record, so that the simulation may decide otherwise."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vinesim.live.decider import usable
from vinesim.live.journal import CANCELLED, Journal
from vinesim.live.registration import can_forget
from vinesim.model.cluster import Cluster
from vinesim.policies.registry import resolve

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class LeftOut:
    """What happened, in words; ``n_starts`` starts at ``since_us`` or later may have been touched by it."""

    what: str
    since_us: float  # by the cluster's clock
    n_starts: int = 0

    def __str__(self) -> str:
        touched = "this touches no start"
        if self.n_starts:
            touched = f"this may touch {self.n_starts:,} start{'s' if self.n_starts != 1 else ''}"
        return f"{self.what}; {touched}"


def left_out(
    cluster: Cluster, journal: Journal, rows: Rows, recorded: Rows, span_us: tuple[float, float]
) -> tuple[LeftOut, ...]:
    """Return what is not in the record: of the requests in ``rows``, of jobs, and of nodes from the first request to
    the last end, ``span_us``. What came later touches nothing."""
    return (*_requests(cluster, rows, recorded), *_jobs(journal, span_us), *_nodes(cluster, journal, span_us))


def _requests(cluster: Cluster, rows: Rows, recorded: Rows) -> list[LeftOut]:
    policy = usable(resolve(cluster.policy, cluster.options))
    names = {one.application.name for one in cluster.applications}
    others, unknown = divided(rows, lambda row: row["application"] in names)
    cancelled = [row for row in others if row["outcome"] == CANCELLED]
    waited, ran = divided(cancelled, lambda row: row["issued_us"] is None and row["n_attempts"] == 0)
    kept = [row for row in recorded if row["outcome"] == CANCELLED and row["issued_us"] is None]
    kept = [] if can_forget(policy) else kept
    again = [row for row in recorded if row["n_attempts"] > 1]
    unseen, given_back = divided(waited, lambda row: (row["number"] or 0) < 0)
    found = [
        _of("REQUESTS of an application that nobody declares", unknown),
        _of("REQUESTS that failed", [row for row in others if row["outcome"] == "failed"]),
        _of("REQUESTS that a client processed itself", [row for row in others if row["outcome"] == "done"]),
        _of("REQUESTS WERE cancelled after THEIR start", ran),
        _of(f"REQUESTS WERE cancelled, which {cluster.policy} starts all the same", given_back + kept),
        _of("REQUESTS WERE cancelled before the policy knew of THEM", unseen, touches=False),
        _of("the earlier starts of REQUESTS that had to start again", again),
    ]
    return [one for one in found if one is not None]


def divided(rows: Rows, is_one: Callable[[dict[str, Any]], bool]) -> tuple[Rows, Rows]:
    """Return the rows of which something is true, and the others."""
    found: tuple[Rows, Rows] = [], []
    for row in rows:
        found[0 if is_one(row) else 1].append(row)
    return found


def _of(which: str, rows: Rows, touches: bool = True) -> LeftOut | None:
    """Return what happened to these requests."""
    if not rows:
        return None
    n, since_us = len(rows), min(row["arrival_us"] for row in rows) if touches else math.inf
    words = {"REQUESTS": f"{n:,} {'requests' if n > 1 else 'request'}", "WERE": "that were" if n > 1 else "that was"}
    words |= {"THEIR": "their", "THEM": "them"} if n > 1 else {"THEIR": "its", "THEM": "it"}
    return LeftOut(" ".join(words.get(word, word) for word in which.split()), since_us)


def _jobs(journal: Journal, span_us: tuple[float, float]) -> list[LeftOut]:
    row = journal.one(
        "SELECT count(*) AS n, min(submitted_us) AS since_us FROM jobs "
        "WHERE submitted_us <= ? AND ifnull(ended_us, ?) >= ?",
        span_us[1],
        span_us[1],
        span_us[0],
    )
    return [LeftOut(f"{row['n']:,} job{'s' if row['n'] != 1 else ''}", row["since_us"])] if row["n"] else []


def _nodes(cluster: Cluster, journal: Journal, span_us: tuple[float, float]) -> list[LeftOut]:
    """Nodes that got no work for a time: they drained, were down, had left or had not joined yet."""
    changes: dict[str, list[tuple[float, bool]]] = {node.name: [] for node in cluster.nodes}
    for row in journal.rows("SELECT * FROM node_changes WHERE time_us <= ? ORDER BY id", span_us[1]):
        changes.setdefault(row["node"], []).append((row["time_us"], bool(row["is_open"])))
    found = []
    for name, mine in changes.items():
        is_open = next((is_open for us, is_open in reversed(mine) if us <= span_us[0]), not mine)
        times = [] if is_open else [span_us[0]]
        times += [us for us, opens in mine if us > span_us[0] and not opens]
        if times:
            often = f" {len(times):,} times" if len(times) > 1 else ""
            found.append(LeftOut(f"node {name} got no work for a time{often}", min(times)))
    return found
