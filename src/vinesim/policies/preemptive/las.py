"""Least attained service, two-dimensional and in levels, as Tiresias has it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from vinesim.model.errors import InputError, Problem
from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.preemptive.rule import RANKED, start_by_rank
from vinesim.state.layout import ATTACHED, PENDING, START
from vinesim.state.places import gang_of
from vinesim.state.queries import attained_us, is_running

NEARLY = 1.0 - 1e-9  # of a threshold: times do not add up exactly


@dataclass(frozen=True)
class Las(OnlinePolicy):
    """The tasks of least attained service that fit run; their run times need not be known.

    The service of a task is the time for which it has held units, times how much of them it held: 8 GPUs for an hour
    are 8 GPU hours. A gang is one task. Tasks with less than ``quantum_us`` of service are on the first of ``levels``
    levels. Each further level covers ``factor`` times as much, and the last level everything else. Lower levels come
    first. Within a level, the task that started first comes first, so that only tasks of another level take its units.
    A task that reaches the next level may then be preempted. Otherwise as ``priority``.

    Ties: order of arrival among tasks that have never started; fastest type first, then (rack, shelf).
    Cost per decision: as ``priority``.
    """

    name: ClassVar[str] = "las"
    source: ClassVar[str] = "Gu et al. (Tiresias), NSDI 2019, section 3.3: Discretized 2D-LAS"
    preempts: ClassVar[bool] = True
    keeps_tasks: ClassVar[bool] = False  # what it keeps of them, it checks against the state
    groups: ClassVar[tuple[str, ...]] = ("demand",)
    scratch: ClassVar[Mapping[str, tuple[str, str]]] = {
        **RANKED,
        "place": ("i8", "tasks"),  # in the order of first starts, from 1; of a gang that of its first task
        "n_started": ("i8", "one"),
    }

    quantum_us: float = 3.6e9
    factor: float = 10.0
    levels: int = 2

    def __post_init__(self) -> None:
        problems = []
        for name, least in (("factor", 1), ("levels", 1), ("quantum_us", 0)):
            value = getattr(self, name)
            if not (value > 0 and value >= least):
                expected = "1 or more" if least else "a time above 0"
                problems.append(Problem(("policy", "options", name), expected, f"{value:g}"))
        if problems:
            raise InputError(problems)

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        action = start_by_rank(model, state, view, by_level, next_level_us, False)
        if action.kind == START:
            first = gang_of(model, action.task)[0]
            if view.scratch.place[first] == 0:
                view.scratch.n_started[0] += 1
                view.scratch.place[first] = view.scratch.n_started[0]
        return action


def held(model: Any, task: int) -> float:
    """Return how much a task holds of the units of its lead; a whole unit and one slot are 1."""
    units, share = 1.0, math.inf
    if len(model.class_units) > 0:
        own_type = (
            model.group_task_type[model.task_group[task]] if len(model.task_group) > 0 else model.group_task_type[0]
        )
        units, share = float(model.class_units[own_type]), model.class_share[own_type]
    elif len(model.task_demand) > 0:
        share = model.task_demand[task]
    return units * share if share < math.inf else units


def service_us(model: Any, state: Any, task: int) -> float:
    """Return the attained service of a task or its gang, in units times us."""
    first, end = gang_of(model, task)
    total = 0.0
    for member in range(first, end):
        total += attained_us(model, state, member) * held(model, member)
    return total


def next_threshold_us(view: Any, service: float) -> float:
    """Return the service at which a task with this much of it reaches the next level; infinite on the last one."""
    threshold = view.options.quantum_us
    for _ in range(view.options.levels - 1):
        if service < threshold * NEARLY:
            return float(threshold)
        threshold *= view.options.factor
    return math.inf


def level_of(view: Any, service: float) -> int:
    """Return the level of a task with this service, from 0."""
    threshold, level = view.options.quantum_us, 0
    for _ in range(view.options.levels - 1):
        level += service >= threshold * NEARLY
        threshold *= view.options.factor
    return level


def by_level(model: Any, state: Any, view: Any, task: int) -> float:
    """Return the rank: by level, then tasks that have started in the order of their first start, then the others."""
    n = len(model.task_operations)
    place = view.scratch.place[gang_of(model, task)[0]]
    level = level_of(view, service_us(model, state, task))
    return float(level * 2 * n + (place if place > 0 else n + task))


def next_level_us(model: Any, state: Any, view: Any, task: int) -> tuple[float, float]:
    """Return when the task, which runs or is about to start, reaches the next level if all of its gang run on: not
    before the first time, and at the second one."""
    service = service_us(model, state, task)
    threshold = next_threshold_us(view, service)
    first, end = gang_of(model, task)
    rate = 0.0
    for member in range(first, end):
        unit = state.task_unit[member]
        if unit in (PENDING, ATTACHED) or is_running(model, state, member):
            rate += held(model, member)
    if not (threshold < math.inf and rate > 0.0):
        return math.inf, math.inf
    at_us = float(max(view.now_us + (threshold - service) / rate, np.nextafter(view.now_us, np.inf)))
    nearly_us = view.now_us + (threshold * (2.0 * NEARLY - 1.0) - service) / rate
    return nearly_us, at_us
