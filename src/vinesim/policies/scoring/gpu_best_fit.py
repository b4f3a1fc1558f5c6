"""The node on which the pod leaves least CPU and GPUs."""

from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.scoring.gpu_pods import GpuScorePolicy, cpu_left, gpu_left


@dataclass(frozen=True)
class GpuBestFit(GpuScorePolicy):
    """Takes the node with the least CPU and GPUs left once the pod is there.

    Both are shares of the datacenter's largest node and count half; the score is 100 times one less their sum, rounded
    toward 0. Ties: (rack, shelf) order. Of the GPUs it takes the tightest that suffices. Cost per decision: see the
    contract of score policies.
    """

    name: ClassVar[str] = "gpu_best_fit"

    @staticmethod
    def score(model: Any, state: Any, task: int, node: int, view: Any) -> int:
        scratch = view.scratch
        cpu = cpu_left(model, state, node) - scratch.pod_cpu[task]
        gpu = gpu_left(model, state, scratch, node) - scratch.pod_milli[task] * scratch.pod_gpus[task]
        return int((1.0 - (cpu / scratch.most[0] * 0.5 + gpu / scratch.most[1] * 0.5)) * 100.0)
