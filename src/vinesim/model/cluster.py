"""A live cluster as its file declares it: nodes, kinds of work, policy, and limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from vinesim.model.application import Application
from vinesim.model.catalog import ProcessorType, TaskType
from vinesim.model.datacenter import Datacenter

LiveEngine = Literal["auto", "compiled", "reference"]


@dataclass(frozen=True)
class Limits:
    """What the manager accepts, and how long things may take."""

    payload_bytes: int = 16 * 2**20  # of one request, and of its result
    pending: int = 10_000  # requests and jobs that wait; more are refused
    attempts: int = 3  # times that a request or job is started, if its devices die
    kernel_us: float = 60e6  # a kernel that takes longer is ended
    lease_us: float = 10e6  # a device that has not heard from the manager for this long ends itself
    grace_us: float = 2e6  # after that, how long the manager waits before it gives the unit away


@dataclass(frozen=True)
class LiveApplication:
    """An application that the cluster serves from its start."""

    application: Application
    kernel: str  # name of the function that processes its requests
    task_type: str
    demand: float


@dataclass(frozen=True)
class NodeSpec:
    """A node: its name, its place, and its units in order."""

    name: str
    rack: int
    shelf: int
    units: tuple[str, ...]  # processor type of each
    is_removed: bool = False  # it is gone; its units keep their numbers, and get no work
    gpus: tuple[str, ...] = ()  # CUDA_VISIBLE_DEVICES of each unit's processes; empty: that of the agent


@dataclass(frozen=True)
class Cluster:
    """Everything that a cluster file says."""

    processor_types: tuple[ProcessorType, ...]
    task_types: tuple[TaskType, ...]
    affinity: np.ndarray  # [P, T] operations (size) per us
    overhead_us: np.ndarray | None  # [P, T]
    nodes: tuple[NodeSpec, ...]
    applications: tuple[LiveApplication, ...] = ()
    kernels: str = ""  # a Python file, or the name of a module
    policy: Any = "symphony"
    options: Mapping[str, Any] = field(default_factory=dict)
    engine: LiveEngine = "auto"  # how the manager runs the policy; auto: compiled if the policy allows it
    limits: Limits = field(default_factory=Limits)
    seed: int = 0
    host: str = "127.0.0.1"  # where the manager listens
    address: str = ""  # of a running Ray cluster; empty: start one on this machine

    @property
    def datacenter(self) -> Datacenter:
        """The units of all nodes, in the order of the nodes; their rows are the units' numbers."""
        placed = [(kind, node.rack, node.shelf) for node in self.nodes for kind in node.units]
        return Datacenter.of(placed, self.processor_types)

    def units_of(self, node: str) -> range:
        """Return the numbers of a node's units."""
        first = 0
        for one in self.nodes:
            if one.name == node:
                return range(first, first + len(one.units))
            first += len(one.units)
        raise KeyError(node)
