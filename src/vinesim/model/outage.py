"""Outages: times when a node takes no tasks. Source: RBSS paper, 3 (compute nodes are added and deleted)."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from vinesim.model.attributes import INDEX, TIME, attribute
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import Problem
from vinesim.model.scalars import as_found, is_number

Running = Literal["requeue", "finish"]


@dataclass(frozen=True)
class Outage:
    """The node at (rack, shelf) is down from ``down_us`` until ``up_us`` (infinite: for good).

    ``running`` says what happens to the tasks that run there: they lose their work and are pending again (requeue), or
    they finish first (finish: the node is drained). A node that joins later is down from time 0.
    """

    # fmt: off
    rack: int = field(metadata=attribute("Rack of the node.", INDEX))
    shelf: int = field(metadata=attribute("Shelf of the node.", INDEX))
    down_us: float = field(metadata=attribute("When it goes down; 0 for a node that joins later.", TIME))
    up_us: float = field(default=math.inf, metadata=attribute("When it comes back; by default never.", TIME))
    running: Running = field(default="requeue", metadata=attribute(
        "Tasks running there: lost and pending again (requeue), or allowed to end (finish)."))
    # fmt: on


def wrong_outages(outages: Sequence[Outage], center: Datacenter) -> Iterator[Problem]:
    """Yield what is wrong with them: times, nodes that do not exist, overlapping outages of one node."""
    nodes = set(zip(center.rack.tolist(), center.shelf.tolist(), strict=True))
    last: dict[tuple[int, int], tuple[int, Outage]] = {}
    for i, outage in enumerate(outages):
        for what, value in (("down", outage.down_us), ("up", outage.up_us)):
            if not is_number(value):
                yield Problem(("outages", i, what), "a time, us", as_found(value))
    timed = [(i, one) for i, one in enumerate(outages) if is_number(one.down_us) and is_number(one.up_us)]
    for i, outage in sorted(timed, key=lambda item: item[1].down_us):
        where, node = ("outages", i), (outage.rack, outage.shelf)
        if node not in nodes:
            yield Problem(where, "a (rack, shelf) with a unit", f"{node}")
        if not 0 <= outage.down_us < math.inf:
            yield Problem((*where, "down"), "a finite time, 0 or more", f"{outage.down_us:g}")
        elif not outage.down_us < outage.up_us:
            yield Problem((*where, "up"), f"a time after down ({outage.down_us:g} us)", f"{outage.up_us:g}")
        if outage.running not in get_args(Running):
            yield Problem((*where, "running"), "one of " + ", ".join(get_args(Running)), repr(outage.running))
        before = last.get(node)
        if before is not None and outage.down_us < before[1].up_us:
            yield Problem(where, f"a time after outages[{before[0]}] of that node has ended", f"{outage.down_us:g} us")
        last[node] = (i, outage)


def units_of(outage: Outage, rack: np.ndarray, shelf: np.ndarray) -> np.ndarray:
    """Return the units of its node, given the rack and shelf of all units [U]."""
    return np.flatnonzero((rack == outage.rack) & (shelf == outage.shelf))
