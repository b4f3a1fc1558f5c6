"""The node whose free CPU and GPUs are least alike to what the pod asks for."""

from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.scoring.gpu_pods import GpuScorePolicy, cpu_left, gpu_left


@dataclass(frozen=True)
class DotProduct(GpuScorePolicy):
    """Takes the node with the smallest product of what is left and what the pod asks for.

    Both are vectors of CPU and GPUs, in shares of the datacenter's largest node; the score is 100 times one less half
    their product, rounded down. Ties: (rack, shelf) order. Of the GPUs it takes the tightest that suffices.
    Cost per decision: see the contract of score policies.
    """

    name: ClassVar[str] = "dot_product"

    @staticmethod
    def score(model: Any, state: Any, task: int, node: int, view: Any) -> int:
        scratch = view.scratch
        cpu, gpu = scratch.most[0], scratch.most[1]
        of_cpu = (cpu_left(model, state, node) / cpu) * (scratch.pod_cpu[task] / cpu)
        asked = scratch.pod_milli[task] * scratch.pod_gpus[task]
        of_gpu = (gpu_left(model, state, scratch, node) / gpu) * (asked / gpu)
        return int(100.0 * (1.0 - (of_cpu + of_gpu) / 2.0))
