"""The sections ``partitions`` and ``reservations`` of a scenario file.

A partition limits the nodes that its jobs may use, and how much they may hold at once. A reservation keeps nodes for
certain users, or for nobody, during a time.
"""

from functools import cached_property
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from vinesim.formats.scenario.datacenter_parts import DatacenterPart, PlacePart
from vinesim.formats.scenario.declared import declared_by, part_of
from vinesim.formats.scenario.values import Amount, AmountOrNone, Index, Name, Time
from vinesim.formats.source.parts import Part
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError, Steps
from vinesim.model.partition import Partition
from vinesim.model.reservation import Reservation
from vinesim.workloads.placement import distinct_nodes


class NodesPart(Part):
    """Some nodes of the datacenter; all of them without any of these keys."""

    racks: Annotated[list[Index], Field(min_length=1)] | None = Field(None, description="All nodes of these racks.")
    nodes: Annotated[list[PlacePart], Field(min_length=1)] | None = Field(
        None, description="Single nodes: {rack: 0, shelf: 3}."
    )
    groups: Annotated[list[Name], Field(min_length=1)] | None = Field(
        None, description="The nodes with these names of groups: the key group of nodes."
    )


_OfPartition: Any = part_of(  # mypy takes no call as a base class
    Partition,
    NodesPart,
    name=Name,
    quota=dict[str, AmountOrNone],
    user_quota=dict[str, Amount],
    cohort=Name | None,
    borrowing_limit=dict[str, AmountOrNone] | None,
    lending_limit=dict[str, AmountOrNone] | None,
)


class PartitionPart(_OfPartition):
    """Nodes for the jobs of a partition, and quotas of what these jobs hold at once."""


class NodeChoice:
    """Finds the nodes that parts of a file name by rack, place or group."""

    def __init__(self, source: YamlSource, center: DatacenterPart | None, built: Datacenter):
        self._source, self._center, self._built = source, center, built

    @cached_property
    def _places(self) -> np.ndarray:
        return distinct_nodes(self._built.rack, self._built.shelf)

    @cached_property
    def _of_group(self) -> dict[str, list[tuple[int, int]]]:
        return {} if self._center is None else node_groups(self._center)

    def of(self, where: Steps, part: NodesPart) -> np.ndarray | None:
        """Return [n, 2] the places of a part's nodes, None for all; problems with them are added to the source."""
        if part.racks is None and part.nodes is None and part.groups is None:
            return None
        chosen = [np.array([(node.rack, node.shelf) for node in part.nodes or []], np.int32).reshape(-1, 2)]
        for j, rack in enumerate(part.racks or []):
            mine = self._places[self._places[:, 0] == rack]
            if not len(mine):
                self._source.add((*where, "racks", j), f"a rack with nodes, 0 to {self._places[-1, 0]}", str(rack))
            chosen.append(mine)
        for j, group in enumerate(part.groups or []):
            if group not in self._of_group:
                self._source.add_unknown((*where, "groups", j), self._of_group, "a group of nodes", value=group)
            chosen.append(np.array(self._of_group.get(group, []), np.int32).reshape(-1, 2))
        return distinct_nodes(*np.concatenate(chosen).T)


def partitions(
    source: YamlSource, parts: list[PartitionPart] | None, choice: NodeChoice | None
) -> tuple[Partition, ...]:
    """Build the partitions; problems of their groups and racks are added to the source."""
    if choice is None:
        return ()
    found = []
    for i, part in enumerate(parts or []):
        nodes = choice.of(("partitions", i), part)
        try:
            found.append(Partition(nodes=nodes, **declared_by(part, Partition)))
        except InputError as error:
            source.adopt(error, ("partitions", i))
    return tuple(found)


def node_groups(part: DatacenterPart) -> dict[str, list[tuple[int, int]]]:
    """Return the places of the nodes of each group, (rack, shelf)."""
    found: dict[str, list[tuple[int, int]]] = {}
    first = 0
    for rack_part in part.racks or []:
        shelf = 0
        for node in rack_part.nodes or []:
            if node.group is not None:
                racks = range(first, first + rack_part.count)
                mine = [(rack, at) for rack in racks for at in range(shelf, shelf + node.count)]
                found.setdefault(node.group, []).extend(mine)
            shelf += node.count
        first += rack_part.count
    return found


_OfReservation: Any = part_of(  # mypy takes no call as a base class
    Reservation, NodesPart, name=Name, end=Time | None, users=list[Name]
)


class ReservationPart(_OfReservation):
    """A time, known before it begins, when nodes are for the jobs of certain users; without users for none."""


def reservations(parts: list[ReservationPart] | None, choice: NodeChoice | None) -> tuple[Reservation, ...]:
    """Build the reservations; problems of their groups and racks are added to the source of ``choice``."""
    if choice is None:
        return ()
    return tuple(
        Reservation(nodes=choice.of(("reservations", i), part), **declared_by(part, Reservation))
        for i, part in enumerate(parts or [])
    )
