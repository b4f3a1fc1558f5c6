"""What the nodes of a datacenter offer. A workload's cores and GPUs are matched against it.

A CPU is a processor type with the attribute ``cores`` or a name that begins with CPU. A GPU is any other type, except
FPGAs (by name) and resources of the nodes, such as memory.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vinesim.model.catalog import ProcessorType
from vinesim.model.datacenter import Datacenter


@dataclass(frozen=True)
class Offer:
    """What the nodes have: the processor types in the datacenter by kind, and which of them share a node."""

    types: tuple[ProcessorType, ...]
    cpus: tuple[str, ...]
    gpus: tuple[str, ...]  # neither CPU nor FPGA, and no resource
    resources: tuple[str, ...]  # types that have units at nodes, and run nothing
    capacity: Mapping[str, frozenset[float]]  # the capacities of each type's units in the datacenter
    at_node_of: Mapping[str, frozenset[str]]  # type -> the types that share a node with it
    is_known: bool = True  # False: the datacenter is invalid, so missing types cannot be reported

    @classmethod
    def of(
        cls, types: Sequence[ProcessorType], center: Datacenter | None = None, resources: Collection[str] = ()
    ) -> "Offer":
        """Return what a datacenter offers; without a datacenter, one unit of each type, all at one node."""
        if center is None:
            center = Datacenter(np.arange(len(types)), np.zeros(len(types)), np.zeros(len(types)), tuple(types))
        place = np.unique(center.rack * np.int64(center.n_shelves) + center.shelf, return_inverse=True)[1]
        has = np.zeros((int(place.max()) + 1, len(types)), bool)
        has[place, center.unit_type] = True
        names = [p.name for p in types]
        used = [p for code, p in enumerate(types) if has[:, code].any()]
        able = [p for p in used if p.name not in resources]
        no_gpu = ("FPGA", "UNSPECIFIED")
        return cls(
            tuple(types),
            tuple(p.name for p in able if p.is_cpu),
            tuple(p.name for p in able if not p.is_cpu and not p.name.upper().startswith(no_gpu)),
            tuple(p.name for p in used if p.name in resources),
            {p.name: frozenset(center.unit_capacity[center.unit_type == names.index(p.name)].tolist()) for p in used},
            {p.name: frozenset(np.array(names)[has[has[:, names.index(p.name)]].any(axis=0)].tolist()) for p in used},
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The types in the datacenter."""
        return tuple(self.capacity)
