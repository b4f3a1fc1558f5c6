"""Where the data of generated tasks lies: a node drawn uniformly for each task, from all nodes or those of one rack.

Source: VineSim report, section 8.8: data on all nodes (Figures 15, 16), or in one rack (Figures 17, 18).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vinesim.model.arrays import distinct
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError, Problem

Nodes = Sequence[tuple[int, int]] | np.ndarray  # (rack, shelf) of each node


@dataclass(frozen=True, eq=False)
class Placement:
    """The bytes of each task's data, and the nodes that may hold it; without ``rack``, any node may."""

    data_bytes: float = 0.0
    nodes: Nodes = ((0, 0),)
    rack: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", np.array(self.nodes, np.int32).reshape(-1, 2))
        if not (self.data_bytes >= 0 and math.isfinite(self.data_bytes)):
            raise InputError([Problem(("data_bytes",), "a finite number of bytes, 0 or more", f"{self.data_bytes}")])
        if not len(self._choices()):
            racks = ", ".join(map(str, np.unique(np.array(self.nodes)[:, 0])[:20])) or "none"
            raise InputError([Problem(("rack",), f"a rack with a node: {racks}", f"{self.rack}")])

    def _choices(self) -> np.ndarray:
        nodes = np.asarray(self.nodes)
        return nodes if self.rack is None else nodes[nodes[:, 0] == self.rack]

    @property
    def is_random(self) -> bool:
        """Whether there is data, and more than one node to draw from."""
        return self.data_bytes > 0 and len(self._choices()) > 1

    def draw(self, n_tasks: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the rack and shelf of each task's data, [N] int32 each; without data, those of the first node."""
        nodes = self._choices()
        drawn = rng.integers(len(nodes), size=n_tasks) if self.is_random else np.zeros(n_tasks, np.int64)
        chosen = nodes[drawn]
        return chosen[:, 0], chosen[:, 1]


def nodes_of(datacenter: Datacenter) -> list[tuple[int, int]]:
    """Return the (rack, shelf) of each node that has a unit, in order."""
    found = distinct_nodes(datacenter.rack, datacenter.shelf)
    return [(rack, shelf) for rack, shelf in found.tolist()]


def distinct_nodes(rack: np.ndarray, shelf: np.ndarray) -> np.ndarray:
    """Return the distinct (rack, shelf) in order, [n, 2] int32. Both are 0 or more."""
    n_shelves = int(shelf.max(initial=0)) + 1
    code = distinct(rack.astype(np.int64) * n_shelves + shelf)  # for millions, pairs take twenty times as long
    return np.stack(np.divmod(code, n_shelves), axis=1).astype(np.int32)
