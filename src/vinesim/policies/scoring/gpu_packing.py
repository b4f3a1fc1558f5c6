"""GPUs that are in use before idle ones, and nodes that are in use before idle ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.scoring.gpu_pods import MILLI, GpuScorePolicy, milli_left


@dataclass(frozen=True)
class GpuPacking(GpuScorePolicy):
    """Takes a node where the pod needs no idle GPU, then one that is not idle, then the others.

    Of nodes of the first kind it takes the one whose GPU has the least left; of the second the one where the pod takes
    the fewest idle GPUs, on which the least are left that suffice; of idle nodes the one with the fewest GPUs. Pods
    without GPUs score 0 everywhere. Ties: (rack, shelf) order. Of the GPUs it takes the tightest that suffices. Cost
    per decision: see the contract of score policies.
    """

    name: ClassVar[str] = "gpu_packing"
    scratch: ClassVar[Mapping[str, tuple[str, str]]] = {**GpuScorePolicy.scratch, "is_taken": ("u1", "units")}
    keeps_tasks: ClassVar[bool] = False

    @staticmethod
    def score(model: Any, state: Any, task: int, node: int, view: Any) -> int:
        scratch = view.scratch
        if scratch.pod_gpus[task] == 0:
            return 0
        n_gpus, n_idle = 0, 0
        for unit in range(model.node_first[node], model.node_first[node + 1]):
            scratch.is_taken[unit] = 0
            if scratch.scale[unit] > 0.0:
                n_gpus += 1
                n_idle += milli_left(model, state, scratch, unit) == MILLI
        if n_idle == n_gpus:
            return max(33 - n_idle, n_idle)
        n_whole, left = 0, 0.0
        for _ in range(scratch.pod_gpus[task]):
            unit = tightest_gpu(model, state, scratch, task, node)
            if unit >= 0:
                scratch.is_taken[unit] = 1
                n_whole += milli_left(model, state, scratch, unit) == MILLI
                left += milli_left(model, state, scratch, unit)
        if n_whole > 0:
            return max(50 - n_whole, 33)
        return max(100 - int(left) * 100 // 1000 // 10, 50)


def tightest_gpu(model: Any, state: Any, scratch: Any, task: int, node: int) -> int:
    """Return the GPU of a node with the least left that suffices and is not taken; the first of several."""
    best, least = -1, 2.0 * MILLI
    for unit in range(model.node_first[node], model.node_first[node + 1]):
        left = milli_left(model, state, scratch, unit)
        if scratch.scale[unit] > 0.0 and scratch.is_taken[unit] == 0 and scratch.pod_milli[task] <= left < least:
            best, least = unit, left
    return best
