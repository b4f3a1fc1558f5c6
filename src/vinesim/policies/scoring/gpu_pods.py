"""What the policies for pods on shared GPUs know of pods and nodes, in thousandths of a GPU and of the largest node.

Source: Weng et al., Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent,
USENIX ATC 2023, and the public simulator of its authors.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from vinesim.policies.contract import Plan
from vinesim.policies.scoring.contract import ScorePolicy
from vinesim.state.demand import amounts
from vinesim.state.model import classes_of_tasks, demands_of_tasks
from vinesim.state.queries import room

MILLI = 1000.0  # a whole GPU
SOURCE = "Weng et al., USENIX ATC 2023, section 6, and its authors' simulator"
SCRATCH: Mapping[str, tuple[str, str]] = {
    "pod_cpu": ("f8", "tasks"),  # of the CPU at its node
    "pod_milli": ("f8", "tasks"),  # of each GPU
    "pod_gpus": ("i4", "tasks"),
    "scale": ("f8", "units"),  # thousandths of a GPU in one of its capacity; 0: not a GPU
    "most": ("f8", "2"),  # CPU, and thousandths of GPUs, of the node that has most
}


@dataclass(frozen=True)
class GpuScorePolicy(ScorePolicy):
    """A score policy that looks at CPUs and GPUs. A GPU is a unit of a type that is no CPU and can run a task. A pod is
    a task: with GPUs, if it may run on one. The constants that the paper sets to the largest node of its trace are
    those of the datacenter's."""

    source: ClassVar[str] = SOURCE
    plans: ClassVar[bool] = True
    keeps_tasks: ClassVar[bool] = False
    scratch: ClassVar[Mapping[str, tuple[str, str]]] = SCRATCH

    def plan(self, model: Any, on_message: Callable[[str], None] | None) -> Plan:
        return Plan(pods_and_units(model))


def pods_and_units(model: Any) -> dict[str, np.ndarray]:
    """Return the contents of ``SCRATCH``."""
    types, kinds = model.unit_type, classes_of_tasks(model)
    on_gpu = may_use(model)[kinds]
    n_types = len(model.affinity)
    capacity = np.ones(n_types)
    capacity[types[::-1]] = model.unit_capacity[::-1]  # of the first unit of each type
    has_gpu, has_cpu = on_gpu.any(axis=1), may_lead(model)[kinds] & model.type_is_cpu
    of_gpu, of_cpu = (amounts(demands_of_tasks(model), capacity[lead.argmax(axis=1)]) for lead in (on_gpu, has_cpu))
    companion_cpu = (
        model.class_companion[:, model.type_is_cpu].sum(axis=1)[kinds] if len(model.class_companion) else 0.0
    )
    cpu = np.where(has_gpu, companion_cpu, np.where(has_cpu.any(axis=1), of_cpu, 0.0))
    n_gpus = model.class_units[kinds] if len(model.class_units) else np.ones(len(kinds), np.int32)
    scale = np.where(is_gpu(model)[types], MILLI / model.unit_capacity, 0.0)
    n_nodes = len(model.node_rack)
    cpus = np.where(model.type_is_cpu[types], model.unit_capacity, 0.0)
    most = [np.bincount(model.unit_node, of, n_nodes).max() for of in (cpus, scale * model.unit_capacity)]
    return {
        "pod_cpu": cpu,
        "pod_milli": np.where(has_gpu, of_gpu * (MILLI / capacity[on_gpu.argmax(axis=1)]), 0.0),
        "pod_gpus": np.where(has_gpu, n_gpus, 0),
        "scale": scale,
        "most": np.maximum(most, 1.0),
    }


def is_gpu(model: Any) -> np.ndarray:
    """[P] whether it is the type of a GPU."""
    return ~model.type_is_cpu & (model.affinity > 0).any(axis=1)


def may_lead(model: Any) -> np.ndarray:
    """[T, P] whether a task may run on the type, if a node has all that it demands."""
    return model.class_named if len(model.class_named) else model.affinity.T > 0


def may_use(model: Any) -> np.ndarray:
    """[T, P] the GPUs among them."""
    return may_lead(model) & is_gpu(model)


def cpu_left(model: Any, state: Any, node: int) -> float:
    """Return the CPU that is left at a node."""
    left = 0.0
    for unit in range(model.node_first[node], model.node_first[node + 1]):
        if model.type_is_cpu[model.unit_type[unit]]:
            left += room(model, state, unit)
    return left


def milli_left(model: Any, state: Any, scratch: Any, unit: int) -> float:
    """Return the thousandths that are left of a GPU; 0 for other units."""
    return room(model, state, unit) * scratch.scale[unit]


def gpu_left(model: Any, state: Any, scratch: Any, node: int) -> float:
    """Return the thousandths that are left of the GPUs of a node, together."""
    left = 0.0
    for unit in range(model.node_first[node], model.node_first[node + 1]):
        left += milli_left(model, state, scratch, unit)
    return left
