"""The scenario file's section about partitions: which nodes certain jobs may use, and how much they hold at once."""

from typing import Annotated

import numpy as np
from pydantic import Field

from vinesim.formats.scenario.datacenter_parts import DatacenterPart, StoragePart
from vinesim.formats.scenario.values import Amount, AmountOrNone, Index, Name, Number
from vinesim.formats.source.parts import Part
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.model.cohort import COHORT_FIELDS
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError, Steps
from vinesim.model.partition import Partition
from vinesim.workloads.placement import distinct_nodes


class PlacePart(StoragePart):
    """A node, by its place."""


class NodesPart(Part):
    """Some nodes of the datacenter; all of them without any of these keys."""

    racks: Annotated[list[Index], Field(min_length=1)] | None = Field(None, description="All nodes of these racks.")
    nodes: Annotated[list[PlacePart], Field(min_length=1)] | None = Field(
        None, description="Single nodes: {rack: 0, shelf: 3}."
    )
    groups: Annotated[list[Name], Field(min_length=1)] | None = Field(
        None, description="The nodes with these names of groups: the key group of nodes."
    )


class PartitionPart(NodesPart):
    """Nodes for the jobs of a partition, and quotas of what these jobs hold at once."""

    name: Name = Field(description="Its name, as in the column partition of the workload.")
    quota: dict[str, AmountOrNone] = Field(
        default_factory=dict,
        description="The most that all its jobs hold at once, by processor type: {A100: 16, memory: 2 TiB}. A name "
        "such as A100|T4 counts several types together.",
    )
    user_quota: dict[str, Amount] = Field(
        default_factory=dict, description="The same of the jobs of each user: the column user of the workload."
    )
    cohort: Name | None = Field(
        None, description="Partitions of a cohort lend each other what they do not use of their quota."
    )
    borrowing_limit: dict[str, AmountOrNone] | None = Field(
        None, description="The most that its jobs hold above its quota, by the same names. Default: no limit."
    )
    lending_limit: dict[str, AmountOrNone] | None = Field(
        None, description="The most of its quota that others of the cohort use. Default: all of it."
    )
    weight: Number = Field(1.0, description="Of its fair share of what the cohort lends, for the policy kueue.")


def partitions(source: YamlSource, center: DatacenterPart | None, parts: list[PartitionPart] | None,
               built: Datacenter | None) -> tuple[Partition, ...]:  # fmt: skip
    """Build the partitions; what is wrong with their groups and racks is added to the source."""
    if built is None or not parts:
        return ()
    found = []
    for i, part in enumerate(parts):
        nodes = chosen_nodes(source, ("partitions", i), part, center, built)
        try:
            given = {name: getattr(part, name) for name in COHORT_FIELDS if name in part.model_fields_set}
            found.append(Partition(part.name, nodes, part.quota, part.user_quota, **given))
        except InputError as error:
            source.adopt(error, ("partitions", i))
    return tuple(found)


def chosen_nodes(
    source: YamlSource, where: Steps, part: NodesPart, center: DatacenterPart | None, built: Datacenter
) -> np.ndarray | None:
    """[n, 2] the places of the nodes that a part names, None for all; what is wrong with its groups and racks is added
    to the source."""
    if part.racks is None and part.nodes is None and part.groups is None:
        return None
    places = distinct_nodes(built.rack, built.shelf)
    of_group = {} if center is None else node_groups(center)
    chosen = [np.empty((0, 2), np.int32)]
    for j, rack in enumerate(part.racks or []):
        mine = places[places[:, 0] == rack]
        if not len(mine):
            source.add((*where, "racks", j), f"a rack with nodes, 0 to {places[-1, 0]}", str(rack))
        chosen.append(mine)
    for j, group in enumerate(part.groups or []):
        if group not in of_group:
            source.add_unknown((*where, "groups", j), of_group, "a group of nodes", value=group)
        chosen.append(np.array(of_group.get(group, []), np.int32).reshape(-1, 2))
    chosen.append(np.array([(node.rack, node.shelf) for node in part.nodes or []], np.int32).reshape(-1, 2))
    return distinct_nodes(*np.concatenate(chosen).T)


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
