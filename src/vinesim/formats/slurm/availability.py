"""When nodes were not there: reservations, as ``scontrol show reservations`` prints them, events of nodes, as
``sacctmgr show event -P`` does, and drains in the log of slurmctld.

The event of a drain begins when the node is *drained*. It takes no jobs from the request on, which is in the log alone.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vinesim.formats.slurm.blocks import read_blocks
from vinesim.formats.slurm.tables import read_table
from vinesim.formats.slurm.values import NOTHING, hosts, time_s
from vinesim.formats.source.files import lines_of

_SET = re.compile(rb"\[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)[^\]]*\] update_node: node (\S+) state set to (\S+)")


@dataclass(frozen=True)
class Reservation:
    """Nodes that are kept for some from a time to another, s since 1970."""

    name: str
    start_s: float
    end_s: float
    nodes: tuple[str, ...]
    users: tuple[str, ...]
    accounts: tuple[str, ...]
    flags: frozenset[str]


@dataclass(frozen=True)
class NodeEvent:
    """A node that takes no jobs from a time on; ``end_s`` is None while it still does not."""

    node: str
    start_s: float
    end_s: float | None
    state: str  # DOWN, DRAIN ..., with the marks that Slurm puts behind it
    reason: str


def read_reservations(path: Path) -> list[Reservation]:
    """Read reservations, or snapshots of them: each as it was seen last."""
    found: dict[str, Reservation] = {}
    for _, fields in read_blocks(path, "ReservationName"):
        start, end = time_s(fields.get("StartTime", "")), time_s(fields.get("EndTime", ""))
        if start is not None and end is not None:
            name = fields["ReservationName"]
            found[name] = Reservation(
                name,
                start,
                end,
                tuple(hosts(fields.get("Nodes", ""))),
                _names(fields.get("Users", "")),
                _names(fields.get("Accounts", "")),
                frozenset(_names(fields.get("Flags", ""))),
            )
    return sorted(found.values(), key=lambda one: (one.start_s, one.name))


def _names(text: str) -> tuple[str, ...]:
    return () if text in NOTHING else tuple(filter(None, text.split(",")))


def read_events(path: Path) -> list[NodeEvent]:
    """Read the events of nodes; those of the whole cluster are left out."""
    found = list[NodeEvent]()
    for _, row in read_table(path):
        if isinstance(row, int) or not row.get("NodeName"):
            continue
        start = time_s(row.get("TimeStart", ""))
        if start is not None:
            end = time_s(row.get("TimeEnd", ""))
            found.append(NodeEvent(row["NodeName"], start, end, row.get("State", ""), row.get("Reason", "")))
    return sorted(found, key=lambda one: (one.start_s, one.node))


def read_drains(path: Path) -> list[NodeEvent]:
    """Read, in a log of slurmctld, from when until when an operator let nodes take no jobs: each from the request to
    the next state that the node was set to."""
    found = list[NodeEvent]()
    since: dict[str, tuple[float, str]] = {}
    for line in lines_of(path):
        known = _SET.match(line) if b"update_node" in line else None
        at_s = time_s(known[1].decode()) if known else None
        if known is None or at_s is None:
            continue
        node, state = known[2].decode(), known[3].decode()
        if node in since:
            begin_s, was = since.pop(node)
            found.append(NodeEvent(node, begin_s, at_s, was, ""))
        if state.startswith("DRAIN"):
            since[node] = at_s, state
    found += [NodeEvent(node, begin_s, None, state, "") for node, (begin_s, state) in since.items()]
    return sorted(found, key=lambda one: (one.start_s, one.node))


def with_drains(events: Sequence[NodeEvent], drains: Sequence[NodeEvent]) -> list[NodeEvent]:
    """Return events and drains by time. One whose end the log does not have ends with the node's events after it."""
    found = list(events)
    for one in drains:
        ends = [event.end_s for event in events if event.node == one.node and event.start_s >= one.start_s]
        known = [end_s for end_s in ends if end_s is not None]
        is_known = one.end_s is None and ends and len(known) == len(ends)
        found.append(replace(one, end_s=max(known)) if is_known else one)
    return sorted(found, key=lambda one: (one.start_s, one.node))
