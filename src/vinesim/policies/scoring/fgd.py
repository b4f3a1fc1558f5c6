"""Fragmentation gradient descent: the place where a pod adds least to what typical pods cannot use."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from vinesim.model.errors import Problem
from vinesim.model.scenario import Scenario
from vinesim.policies.contract import Plan
from vinesim.policies.scoring.fragmentation import (
    MOST_TYPES,
    SCRATCH,
    fragmentation,
    look_at_node,
    next_tightest,
    pod_types_of_workload,
    take_tightest,
    typical_pods,
)
from vinesim.policies.scoring.gpu_pods import MILLI, GpuScorePolicy, pods_and_units
from vinesim.state.queries import can_start, tightest_free_at


@dataclass(frozen=True)
class Fgd(GpuScorePolicy):
    """Takes the node, and of it the GPU, where the pod adds least to the fragmentation.

    The fragmentation of a node is what typical pods cannot use of its free GPUs, on average over them: all if they need
    none, if the node's GPUs are of another type, or if too few have enough left or the CPU is short; else those that
    have too little left. Typical pods are the most frequent kinds of the workload, up to 95 % of its pods, or of its
    first ``typical`` ones. The score falls from 100 to 0 with what the pod adds. Ties: (rack, shelf) order. Cost per
    decision: see the contract of score policies; a score looks at all typical pods, once for each GPU with another
    amount left.
    """

    name: ClassVar[str] = "fgd"
    source: ClassVar[str] = "Weng et al., USENIX ATC 2023, sections 3 and 4"
    scratch: ClassVar[Mapping[str, tuple[str, str]]] = {**GpuScorePolicy.scratch, **SCRATCH}
    keeps_tasks: ClassVar[bool] = False

    typical: int = 0

    def wrong_scenario(self, scenario: Scenario) -> list[Problem]:
        n_types, n_tasks, problems = len(scenario.datacenter.processor_types), scenario.workload.n_tasks, []
        if n_types > MOST_TYPES:
            problems.append(Problem(("processor_types",), f"at most {MOST_TYPES} for the policy fgd", f"{n_types}"))
        if not 0 <= self.typical <= n_tasks:
            expected = f"a number of tasks, 0 to {n_tasks}"
            problems.append(Problem(("policy", "options", "typical"), expected, f"{self.typical}"))
        return problems

    def plan(self, model: Any, on_message: Callable[[str], None] | None) -> Plan:
        found = pods_and_units(model)
        return Plan({**found, **self.typical_pods(model, found)})

    def typical_pods(self, model: Any, pods: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the contents of the scratch arrays about typical pods."""
        return typical_pods(pod_types_of_workload(model, pods, self.typical), len(pods["pod_cpu"]))

    @staticmethod
    def score(model: Any, state: Any, task: int, node: int, view: Any) -> int:
        return best_of_node(model, state, view.scratch, task, node)[0]

    @staticmethod
    def choose(model: Any, state: Any, task: int, node: int, view: Any) -> int:
        return best_of_node(model, state, view.scratch, task, node)[1]


def best_of_node(model: Any, state: Any, scratch: Any, task: int, node: int) -> tuple[int, int]:
    """Return the score of a node, and the unit for the pod."""
    cpu, before = look_at_node(model, state, scratch, node)
    milli, cpu = scratch.pod_milli[task], cpu - scratch.pod_cpu[task]
    if scratch.pod_gpus[task] != 1 or milli >= MILLI:
        take_tightest(model, scratch, task, node)
        unit = tightest_free_at(model, state, task, node)
        return score_of(before - fragmentation(model, scratch, node, cpu)), unit
    best, best_unit, last = -1, -1, -1.0
    unit = next_tightest(model, scratch, node, milli, last)
    while unit >= 0:  # GPUs with equal amounts left are equal: the first of them is tried
        last = scratch.left[unit]
        if can_start(model, state, task, unit):
            scratch.left[unit] = last - milli
            found = score_of(before - fragmentation(model, scratch, node, cpu))
            scratch.left[unit] = last
            if found > best or (found == best and unit < best_unit):
                best, best_unit = found, unit
        unit = next_tightest(model, scratch, node, milli, last)
    if best_unit < 0:  # it may also run on a CPU, and only there now
        best = score_of(before - fragmentation(model, scratch, node, cpu))
        best_unit = tightest_free_at(model, state, task, node)
    return best, best_unit


def score_of(gain: float) -> int:
    """Return the score of a place where the fragmentation falls by ``gain``."""
    return int(100.0 / (1.0 + math.exp(-gain / 1000.0)))
