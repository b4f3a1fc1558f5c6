"""The names of the nodes and racks of a result."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np

Node = tuple[int, int]  # rack, shelf


@dataclass(frozen=True)
class PlaceNames:
    """The names of those nodes and racks that have one."""

    nodes: Mapping[Node, str] = field(default_factory=dict)
    racks: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, rack: np.ndarray, shelf: np.ndarray, names: Mapping[str, np.ndarray]) -> Self:
        """Return the names in the columns ``node`` and ``rack_name`` of units, if these exist."""
        racks, shelves = rack.tolist(), shelf.tolist()
        nodes = zip(zip(racks, shelves, strict=True), names.get("node", [""] * len(racks)), strict=True)
        in_racks = dict(zip(racks, names["rack_name"], strict=True)) if "rack_name" in names else {}
        return cls(
            {at: str(name) for at, name in nodes if name}, {number: str(name) for number, name in in_racks.items()}
        )

    def rack(self, rack: int) -> str:
        """Name a rack: rack 3, or rack B."""
        return f"rack {self.racks.get(rack, rack)}"

    def shelf(self, rack: int, shelf: int) -> str:
        """Name a node whose rack is known: shelf 4, or its own name."""
        return self.nodes.get((rack, shelf), f"shelf {shelf}")

    def node(self, rack: int, shelf: int) -> str:
        """Name a node: rack 3, shelf 4; or its own name, with its rack if that has a name too."""
        name = self.nodes.get((rack, shelf))
        if name is None:
            return f"{self.rack(rack)}, shelf {shelf}"
        return f"{name}, {self.rack(rack)}" if rack in self.racks else name
