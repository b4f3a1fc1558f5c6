"""Consolidation by deadline: start only work that will be on time, and consolidate as much as the deadline allows."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.requests.edf import fastest_us
from vinesim.policies.requests.registered import most_as_one
from vinesim.policies.requests.slowdown import slowdown_at
from vinesim.state.queries import (
    consolidated_us,
    deadline_us,
    demand,
    drop,
    following,
    group,
    is_available,
    least_busy,
    more_at_once,
    next_pending,
    nothing,
    oldest_pending,
    start_consolidated,
    task_type,
    time_on_type_us,
)


@dataclass(frozen=True)
class DeadlineConsolidation(OnlinePolicy):
    """The application whose first request must start soonest consolidates the requests that will still be on time.

    It uses the first type, fastest first, on which the first request will be on time, by the true times without noise.
    On a unit that shares its speed, this counts the tasks that run there now. A request that no type can finish on time
    is dropped; a request that only a busy type can finish on time waits for that type.

    Requests of an application wait in separate queues if they demand different things, count against different quotas,
    or are admitted by different reservations. They never start as one.

    Ties: first application, then (rack, shelf). Cost per decision: applications with pending requests x processor
    types, and the requests that are consolidated.
    """

    name: ClassVar[str] = "deadline_consolidation"
    source: ClassVar[str] = "after Clockwork, OSDI 2020: predictable times, early rejection, consolidation by deadline"
    may_drop: ClassVar[bool] = True
    sees_every_event: ClassVar[bool] = True
    needs_estimates: ClassVar[bool] = True
    groups: ClassVar[tuple[str, ...]] = ("application",)

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        if more_at_once(model, state):
            return nothing()
        best, best_group, best_type, best_count, best_us = -1, -1, -1, 0, math.inf
        task = oldest_pending(model, state)
        while task >= 0:
            g = group(model, state, task)
            due, fastest = deadline_us(model, state, task), fastest_us(model, state, task)
            if view.now_us + fastest > due:
                return drop(task)
            latest_us = due - fastest if due < math.inf else math.inf  # a task without end takes as long
            if best < 0 or latest_us < best_us or (latest_us == best_us and g < best_group):
                processor_type, count = in_time(model, state, view, g, task, due - view.now_us)
                if processor_type >= 0:
                    best, best_group, best_us = task, g, latest_us
                    best_type, best_count = processor_type, count
            task = next_pending(model, state, task)
        if best < 0:
            return nothing()
        return start_consolidated(best, best_count, least_busy(model, state, best, best_type))


def in_time(model: Any, state: Any, view: Any, g: int, task: int, room_us: float) -> tuple[int, int]:
    """Return the fastest available type on which the request is on time, and how many start as one; (-1, 0): none."""
    own_type = task_type(model, state, task)
    most = most_as_one(model, state, g, task)
    for i in range(model.ranking.shape[1]):
        p = model.ranking[own_type, i]
        if p < 0:
            break
        if is_available(model, state, task, p):
            unit = least_busy(model, state, task, p)
            load = state.unit_load[unit] + demand(model, state, task, unit)
            slowdown = slowdown_at(model, state, task, unit, load)
            total, count, last = time_on_type_us(model, state, task, p), 1, task
            while consolidated_us(model, state, task, p, count, total) * slowdown <= room_us:
                if count == most:
                    return p, count
                last = following(model, state, last)
                total += time_on_type_us(model, state, last, p) - model.overhead_us[p, own_type]
                count += 1
            if count > 1:
                return p, count - 1
    return -1, 0
