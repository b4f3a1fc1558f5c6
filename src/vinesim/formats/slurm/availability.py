"""When nodes were unavailable: reservations (``scontrol show reservations``) and events (``sacctmgr show event
-P``)."""

from dataclasses import dataclass
from pathlib import Path

from vinesim.formats.slurm.blocks import read_blocks
from vinesim.formats.slurm.lines import Unread
from vinesim.formats.slurm.tables import read_rows
from vinesim.formats.slurm.values import NOTHING, hosts, time_s
from vinesim.model.errors import InputError, Problem


@dataclass(frozen=True)
class Reservation:
    """Nodes that are kept for some users from one time to another, s since 1970."""

    name: str
    start_s: float
    end_s: float
    nodes: tuple[str, ...]
    users: tuple[str, ...]
    accounts: tuple[str, ...]
    flags: frozenset[str]


@dataclass(frozen=True)
class NodeEvent:
    """A time during which a node takes no jobs; ``end_s`` is None if it has not ended."""

    node: str
    start_s: float
    end_s: float | None
    state: str  # DOWN, DRAIN and so on, with Slurm's suffixes
    reason: str


def read_reservations(path: Path, unread: Unread) -> list[Reservation]:
    """Read reservations, or snapshots of them, of which the last one of each reservation counts."""
    found: dict[str, Reservation] = {}
    problems = list[Problem]()
    for line, fields in read_blocks(path, "ReservationName"):
        start, end = time_s(fields.get("StartTime", "")), time_s(fields.get("EndTime", ""))
        if start is None or end is None:
            unread["StartTime or EndTime: no time that can be read"].append(line)
        else:
            name = fields["ReservationName"]
            try:
                nodes = tuple(hosts(fields.get("Nodes", "")))
            except ValueError as error:
                problems.append(Problem(f"{path}:{line}", "a list of hosts as Nodes, such as n[01-32]", str(error)))
                continue
            if not nodes:
                unread["Nodes: none, as of licences"].append(line)
                continue
            found[name] = Reservation(
                name,
                start,
                end,
                nodes,
                _names(fields.get("Users", "")),
                _names(fields.get("Accounts", "")),
                frozenset(_names(fields.get("Flags", ""))),
            )
    if problems:
        raise InputError(problems)
    return sorted(found.values(), key=lambda one: (one.start_s, one.name))


def _names(text: str) -> tuple[str, ...]:
    return () if text in NOTHING else tuple(filter(None, text.split(",")))


def read_events(path: Path, unread: Unread) -> list[NodeEvent]:
    """Read the events of single nodes; events of the whole cluster are left out."""
    found = list[NodeEvent]()
    for line, row in read_rows(path, unread):
        if not row.get("NodeName"):
            continue
        start, end = time_s(row.get("TimeStart", "")), time_s(row.get("TimeEnd", ""))
        if start is None or (end is None and row.get("TimeEnd", "") not in NOTHING):
            unread["TimeStart or TimeEnd: no time that can be read"].append(line)
        else:
            found.append(NodeEvent(row["NodeName"], start, end, row.get("State", ""), row.get("Reason", "")))
    return sorted(found, key=lambda one: (one.start_s, one.node))
