"""Where the data of generated tasks lies: a node drawn uniformly for each task, from all nodes or those of one rack.

Source: VineSim report, section 8.8: data on all nodes (Figures 15, 16), or in one rack (Figures 17, 18).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError, Problem


@dataclass(frozen=True)
class Placement:
    """Bytes of each task's data, and the nodes it may lie on; ``rack`` None means any of them."""

    data_bytes: float = 0.0
    nodes: Sequence[tuple[int, int]] = ((0, 0),)  # (rack, shelf)
    rack: int | None = None

    def __post_init__(self) -> None:
        if not (self.data_bytes >= 0 and math.isfinite(self.data_bytes)):
            raise InputError([Problem("data_bytes", "a finite number of bytes, 0 or more", f"{self.data_bytes}")])
        if not len(self._choices()):
            racks = ", ".join(map(str, sorted({rack for rack, _ in self.nodes})[:20])) or "none"
            raise InputError([Problem("rack", f"a rack with a node: {racks}", f"{self.rack}")])

    def _choices(self) -> list[tuple[int, int]]:
        return [node for node in self.nodes if self.rack is None or node[0] == self.rack]

    @property
    def is_random(self) -> bool:
        """Whether there is data, and more than one node to draw from."""
        return self.data_bytes > 0 and len(self._choices()) > 1

    def draw(self, n_tasks: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return rack and shelf of each task's data, [N] int32 each; without data those of the first node."""
        nodes = np.array(self._choices(), np.int32)
        drawn = rng.integers(len(nodes), size=n_tasks) if self.is_random else np.zeros(n_tasks, np.int64)
        chosen = nodes[drawn]
        return chosen[:, 0], chosen[:, 1]


def nodes_of(datacenter: Datacenter) -> list[tuple[int, int]]:
    """Return the (rack, shelf) of each node that has a unit, in order."""
    place = np.unique(np.stack([datacenter.rack, datacenter.shelf], axis=1), axis=0)
    return [(int(rack), int(shelf)) for rack, shelf in place]
