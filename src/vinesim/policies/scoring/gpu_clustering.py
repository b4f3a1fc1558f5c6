"""Pods of one class together: those with a share of a GPU, with one whole GPU, with two, and so on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from vinesim.policies.contract import Plan
from vinesim.policies.scoring.gpu_pods import MILLI, GpuScorePolicy, gpu_left, pods_and_units
from vinesim.state.model import classes_of_tasks
from vinesim.state.queries import node_tasks, node_tasks_of

NO_CLASS, SHARE = 0, 1  # classes of pods; whole GPUs: one more than their number


@dataclass(frozen=True)
class GpuClustering(GpuScorePolicy):
    """Takes a node with GPU pods of the same class only, then one with others as well, then one without any.

    Classes are a share of a GPU, one whole GPU, two, and so on. Within each kind of node it takes the one with most of
    its GPUs in use. Pods without GPUs score 0 everywhere. Ties: (rack, shelf) order. Of the GPUs it takes the tightest
    that suffices. Cost per decision: see the contract of score policies; a score looks at the classes of demands until
    it has found the node's tasks.
    """

    name: ClassVar[str] = "gpu_clustering"
    scratch: ClassVar[Mapping[str, tuple[str, str]]] = {**GpuScorePolicy.scratch, "class_of": ("i4", "task_types")}
    keeps_tasks: ClassVar[bool] = False

    def plan(self, model: Any, on_message: Callable[[str], None] | None) -> Plan:
        found = pods_and_units(model)
        of_pod = np.where(found["pod_milli"] < MILLI, SHARE, found["pod_gpus"] + 1)
        class_of = np.full(len(model.ranking), NO_CLASS, np.int32)
        class_of[classes_of_tasks(model)] = np.where(found["pod_gpus"] > 0, of_pod, NO_CLASS)
        return Plan({**found, "class_of": class_of})

    @staticmethod
    def score(model: Any, state: Any, task: int, node: int, view: Any) -> int:
        scratch = view.scratch
        if scratch.pod_gpus[task] == 0:
            return 0
        own = SHARE if scratch.pod_milli[task] < MILLI else scratch.pod_gpus[task] + 1
        has_own, has_other, missing = False, False, node_tasks(model, state, node)
        for kind in range(len(scratch.class_of)):
            if missing == 0 or (has_own and has_other):
                break
            n = node_tasks_of(model, state, node, kind)
            if n > 0:
                of_kind, missing = scratch.class_of[kind], missing - n
                has_own |= of_kind == own
                has_other |= of_kind != NO_CLASS and of_kind != own
        most = int(scratch.most[1])
        in_use = 25 * (most - int(gpu_left(model, state, scratch, node))) // most
        if has_own:
            return in_use + (50 if has_other else 75)
        return in_use + (0 if has_other else 25)
