"""Preemption by rank in plain loops over all tasks, as a reference for the rule with heaps."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.preemptive.las import Las, by_level, next_level_us
from vinesim.policies.preemptive.priority import least_urgent_last
from vinesim.policies.preemptive.rule import never
from vinesim.policies.preemptive.srtf import longest_left_us
from vinesim.state.layout import START
from vinesim.state.places import gang_of
from vinesim.state.queries import (
    fastest_free,
    fastest_free_without,
    is_running,
    more_at_once,
    nothing,
    preempt,
    start,
    victims_for,
    wait_until,
)


def start_plainly(model: Any, state: Any, view: Any, rank: Any, rise_us: Any) -> Any:
    """At each ask all pending tasks are tried by rank; fewest of highest rank leave for the first that can start so."""
    if more_at_once(model, state):
        return nothing()

    def place(task: int) -> tuple[float, int]:
        return float(rank(model, state, view, task)), task

    running = [task for task in range(len(model.task_job)) if is_running(model, state, task)]
    firsts = {gang_of(model, task)[0]: task for task in reversed(running)}  # each gang by its first running task
    for task in sorted(state.pending, key=place):
        unit = fastest_free(model, state, task)
        if unit >= 0:
            return start(task, unit)
        others = sorted((r for r in firsts.values() if place(r) > place(task)), key=place, reverse=True)
        for n in range(1, len(others) + 1):
            unit = fastest_free_without(model, state, task, np.array(others), n)
            if unit >= 0:
                found = np.zeros(n, np.int64)
                n_found = victims_for(model, state, task, unit, np.array(others), n, found)
                return preempt(int(found[n_found - 1]) if n_found > 0 else others[n - 1])
    return wait_until(min((rise_us(model, state, view, task)[1] for task in firsts.values()), default=np.inf))


@dataclass(frozen=True)
class RankedPlainly(OnlinePolicy):
    """``priority`` or ``srtf``."""

    name: ClassVar[str] = "test_ranked_plainly"
    source: ClassVar[str] = "tests"
    preempts: ClassVar[bool] = True
    compiled: ClassVar[bool] = False
    groups: ClassVar[tuple[str, ...]] = ("demand",)

    by_time: bool = False

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        rank = longest_left_us if view.options.by_time else least_urgent_last
        return start_plainly(model, state, view, rank, never)


@dataclass(frozen=True)
class LasPlainly(Las):
    """``las``."""

    name: ClassVar[str] = "test_las_plainly"
    compiled: ClassVar[bool] = False

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        action = start_plainly(model, state, view, by_level, next_level_us)
        if action.kind == START:
            place, first = view.scratch.place, gang_of(model, action.task)[0]
            if place[first] == 0:
                place[first] = place.max() + 1
        return action
