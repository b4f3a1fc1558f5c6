"""The scenario file's section about partitions: which nodes certain jobs may use, and how much they hold at once."""

from typing import Annotated

import numpy as np
from pydantic import Field

from vinesim.formats.scenario.datacenter_parts import DatacenterPart, StoragePart
from vinesim.formats.scenario.values import Amount, Index, Name
from vinesim.formats.source.parts import Part
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError
from vinesim.model.partition import Partition
from vinesim.workloads.placement import distinct_nodes


class PlacePart(StoragePart):
    """A node, by its place."""


class PartitionPart(Part):
    """Nodes for the jobs of a partition, and quotas of what these jobs hold at once."""

    name: Name = Field(description="Its name, as in the column partition of the workload.")
    racks: Annotated[list[Index], Field(min_length=1)] | None = Field(None, description="All nodes of these racks.")
    nodes: Annotated[list[PlacePart], Field(min_length=1)] | None = Field(
        None, description="Single nodes: {rack: 0, shelf: 3}."
    )
    groups: Annotated[list[Name], Field(min_length=1)] | None = Field(
        None, description="The nodes with these names of groups: the key group of nodes."
    )
    quota: dict[str, Amount] = Field(
        default_factory=dict,
        description="The most that all its jobs hold at once, by processor type: {A100: 16, memory: 2 TiB}. A name "
        "such as A100|T4 counts several types together.",
    )
    user_quota: dict[str, Amount] = Field(
        default_factory=dict, description="The same of the jobs of each user: the column user of the workload."
    )


def partitions(source: YamlSource, center: DatacenterPart | None, parts: list[PartitionPart] | None,
               built: Datacenter | None) -> tuple[Partition, ...]:  # fmt: skip
    """Build the partitions; what is wrong with their groups and racks is added to the source."""
    if built is None or not parts:
        return ()
    places = distinct_nodes(built.rack, built.shelf)
    of_group = {} if center is None else node_groups(center)
    found = []
    for i, part in enumerate(parts):
        chosen = [np.empty((0, 2), np.int32)]
        for j, rack in enumerate(part.racks or []):
            mine = places[places[:, 0] == rack]
            if not len(mine):
                source.add(("partitions", i, "racks", j), f"a rack with nodes, 0 to {places[-1, 0]}", str(rack))
            chosen.append(mine)
        for j, group in enumerate(part.groups or []):
            if group not in of_group:
                source.add_unknown(("partitions", i, "groups", j), of_group, "a group of nodes", value=group)
            chosen.append(np.array(of_group.get(group, []), np.int32).reshape(-1, 2))
        chosen.append(np.array([(node.rack, node.shelf) for node in part.nodes or []], np.int32).reshape(-1, 2))
        is_all = part.racks is None and part.nodes is None and part.groups is None
        nodes = None if is_all else distinct_nodes(*np.concatenate(chosen).T)
        try:
            found.append(Partition(part.name, nodes, part.quota, part.user_quota))
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
