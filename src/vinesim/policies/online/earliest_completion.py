"""Earliest completion: on arrival, each task is committed to the unit that is expected to finish it first."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.online.ready import READY, build, end_on_us, first_to_finish, note_ready, share
from vinesim.state.expected import expected_end_us, expected_us
from vinesim.state.layout import OUTAGE, PENDING, TIMER
from vinesim.state.queries import (
    arrived_task,
    first_interrupted,
    first_withdrawn,
    fits,
    is_up,
    meets_on_type,
    n_arrived,
    next_interrupted,
    next_withdrawn,
    nothing,
    start,
)
from vinesim.state.scratch import TASK_COUNT, TASK_ID_PLUS_1


@dataclass(frozen=True)
class EarliestCompletion(OnlinePolicy):
    """On arrival, each task joins the queue of the unit that is expected to finish it first, even if that unit is busy.

    It runs after what runs on the unit and what is committed to it, in order; only units that can run the task and meet
    its requests are considered. Each unit's queue is first in, first out; only outages send tasks to other units, and
    withdrawn tasks leave it.
    Expected times: transfer, then the workload's estimate or else the true time, and at most the job's limit; a task
    that runs longer counts as ending now. Tasks that share a unit keep it busy in proportion to their demands.

    ``earliest_finish`` in contrast chooses only among idle units. Ties: (rack, shelf) order.

    Cost per decision: types x log(units), and for an arrival the units that are expected to be ready at the same time
    as the one that is chosen, or whose task runs longer than expected; neighbours that are busy with equal tasks for
    equally long count as one. If tasks take parts of units, an arrival costs units + running tasks, and so does an
    outage.
    """

    name: ClassVar[str] = "earliest_completion"
    source: ClassVar[str] = "StarPU's dm; HEFT's processor choice, Topcuoglu et al., IEEE TPDS 13(3), 2002"
    sees_every_event: ClassVar[bool] = True
    takes_back: ClassVar[bool] = True
    takes_withdrawals: ClassVar[bool] = True
    takes_dependencies: ClassVar[bool] = True
    needs_estimates: ClassVar[bool] = True
    supports_multi_unit_tasks: ClassVar[bool] = False
    unsupported_because: ClassVar[str] = "it commits each task to one unit"
    scratch: ClassVar[Mapping[str, tuple[str, str]]] = {
        "known": ("i8", "one"),  # how many of the tasks that have arrived are known
        "arrived": ("i8", "one"),  # 1 + the youngest of these
        "seen": ("i8", "one"),  # those below this number were considered
        "homeless": ("i8", "one"),  # 1 + the oldest task that no unit now up could hold, 0 = none
        "first": ("i4", "units"),  # the unit's queue, a chain; tasks are numbered from 1, 0 = none
        "last": ("i4", "units"),
        "next": ("i4", "tasks"),
        "busy_us": ("f8", "units"),  # expected time of the tasks in the unit's queue, each times its share of the unit
        "on_unit": ("i4", "tasks"),  # 1 + the unit that the task is committed to or runs on, 0 = none
        "running": ("i4", "units"),  # the tasks running on the unit, a chain
        "next_running": ("i4", "tasks"),
        "is_running": ("u1", "tasks"),
        "end_us": ("f8", "tasks"),  # expected, of running tasks
        "vacated": ("i4", "units"),  # units that withdrawn tasks have left, whose queues may go on
        "n_vacated": ("i8", "one"),
        "is_vacated": ("u1", "units"),
        **READY,
        "expected": ("f8", "types"),  # of one task; infinite on types that do not meet its requests
    }
    task_numbers: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("known", "arrived", "seen"), TASK_COUNT),
        **dict.fromkeys(("homeless", "first", "last", "next", "running", "next_running"), TASK_ID_PLUS_1),
    }

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        update(model, state, view)
        scratch = view.scratch
        while scratch.seen[0] < scratch.arrived[0]:
            task = int(scratch.seen[0])
            scratch.seen[0] += 1
            if state.task_unit[task] == PENDING and scratch.on_unit[task] == 0:
                unit = unit_for(model, state, scratch, task, view.now_us)
                if unit < 0:
                    no_unit_for(scratch, task)
                elif scratch.first[unit] == 0 and fits(model, state, task, unit):
                    return start_now(model, state, scratch, task, unit, view.now_us)
                else:
                    join(model, state, scratch, task, unit)
        if view.unit >= 0:
            task = next_of(model, state, scratch, view.unit)
            if task >= 0:
                return begin_next(model, state, view, task, view.unit)
        while scratch.n_vacated[0] > 0:
            unit = int(scratch.vacated[scratch.n_vacated[0] - 1])
            task = next_of(model, state, scratch, unit)
            if task >= 0:
                return begin_next(model, state, view, task, unit)
            scratch.n_vacated[0] -= 1
            scratch.is_vacated[unit] = 0
        return nothing()


def next_of(model: Any, state: Any, scratch: Any, unit: int) -> int:
    """Return the first task of the unit's queue if it fits now; else -1."""
    task = int(scratch.first[unit]) - 1
    return task if task >= 0 and fits(model, state, task, unit) else -1


def begin_next(model: Any, state: Any, view: Any, task: int, unit: int) -> Any:
    """Start the first task of the unit's queue."""
    leave(model, state, view.scratch, task, unit)
    return start_now(model, state, view.scratch, task, unit, view.now_us)


def update(model: Any, state: Any, view: Any) -> None:
    """Process arrivals, ends and outages. If asked again about the same event, nothing is left to do."""
    scratch = view.scratch
    if scratch.tree_size[0] == 0:
        build(model, state, scratch)
    for i in range(int(scratch.known[0]), n_arrived(model, state)):
        task = arrived_task(model, state, i)
        scratch.seen[0] = min(scratch.seen[0], task)  # it may be older than some that were considered
        scratch.arrived[0] = max(scratch.arrived[0], task + 1)
    scratch.known[0] = n_arrived(model, state)
    if view.task >= 0 and scratch.on_unit[view.task] > 0:
        note_stop(model, state, scratch, view.task)
    if view.event == OUTAGE:
        take_back_interrupted(model, state, scratch)
    if view.event == OUTAGE or view.event == TIMER:
        forget_withdrawn(model, state, scratch)


def forget_withdrawn(model: Any, state: Any, scratch: Any) -> None:
    """Forget tasks whose jobs were withdrawn, so that the queues of their units can continue."""
    task = first_withdrawn(model, state)
    while task >= 0:
        unit = int(scratch.on_unit[task]) - 1
        if unit >= 0:
            if scratch.is_running[task] == 1:
                note_stop(model, state, scratch, task)
            else:
                leave(model, state, scratch, task, unit)
                scratch.on_unit[task] = 0
                note_ready(model, state, scratch, unit)
            if scratch.is_vacated[unit] == 0:
                scratch.is_vacated[unit] = 1
                scratch.vacated[scratch.n_vacated[0]] = unit
                scratch.n_vacated[0] += 1
        task = next_withdrawn(model, state, task)


def no_unit_for(scratch: Any, task: int) -> None:
    """Record that the task must be considered again after the next outage event."""
    homeless = int(scratch.homeless[0])
    scratch.homeless[0] = min(homeless, task + 1) if homeless > 0 else task + 1


def take_back_interrupted(model: Any, state: Any, scratch: Any) -> None:
    """Commit tasks again that were interrupted, that were committed to units that are down, or that have no unit."""
    task = first_interrupted(model, state)
    while task >= 0:
        if scratch.on_unit[task] > 0 and state.task_unit[task] == PENDING and scratch.is_running[task] == 1:
            note_stop(model, state, scratch, task)
            scratch.seen[0] = min(scratch.seen[0], task)
        task = next_interrupted(model, state, task)
    for unit in range(len(model.unit_type)):
        while scratch.first[unit] > 0 and not is_up(model, state, unit):
            task = int(scratch.first[unit]) - 1
            leave(model, state, scratch, task, unit)
            scratch.on_unit[task] = 0
            scratch.seen[0] = min(scratch.seen[0], task)
        note_ready(model, state, scratch, unit)
    if scratch.homeless[0] > 0:
        scratch.seen[0] = min(scratch.seen[0], scratch.homeless[0] - 1)
        scratch.homeless[0] = 0


def unit_for(model: Any, state: Any, scratch: Any, task: int, now_us: float) -> int:
    """Return the unit that is expected to finish the task first; -1 if no unit now up can ever hold it."""
    for p in range(len(model.affinity)):
        is_met = meets_on_type(model, state, task, p)
        scratch.expected[p] = expected_us(model, state, task, p) if is_met else math.inf
    if len(model.task_demand) == 0:
        return first_to_finish(model, state, scratch, task, now_us)
    best, best_us = -1, math.inf
    for unit in range(len(model.unit_type)):
        end_us = end_on_us(model, state, scratch, task, unit, now_us)
        if end_us < best_us:
            best, best_us = unit, end_us
    return best


def takes_us(model: Any, state: Any, task: int, unit: int) -> float:
    """Return how long the task is expected to keep the unit busy."""
    return expected_end_us(model, state, task, unit, 0.0) * share(model, state, task, unit)


def join(model: Any, state: Any, scratch: Any, task: int, unit: int) -> None:
    """Commit the task to the unit."""
    if scratch.first[unit] > 0:
        scratch.next[scratch.last[unit] - 1] = task + 1
    else:
        scratch.first[unit] = task + 1
    scratch.last[unit] = task + 1
    scratch.next[task] = 0
    scratch.on_unit[task] = unit + 1
    scratch.busy_us[unit] += takes_us(model, state, task, unit)
    note_ready(model, state, scratch, unit)


def leave(model: Any, state: Any, scratch: Any, task: int, unit: int) -> None:
    """Remove the task from the unit's queue."""
    before = 0
    if scratch.first[unit] == task + 1:
        scratch.first[unit] = scratch.next[task]
    else:
        before = int(scratch.first[unit])
        while scratch.next[before - 1] != task + 1:
            before = int(scratch.next[before - 1])
        scratch.next[before - 1] = scratch.next[task]
    if scratch.last[unit] == task + 1:
        scratch.last[unit] = before
    scratch.busy_us[unit] -= takes_us(model, state, task, unit)
    if scratch.first[unit] == 0:
        scratch.busy_us[unit] = 0.0  # remove rounding errors


def start_now(model: Any, state: Any, scratch: Any, task: int, unit: int, now_us: float) -> Any:
    """Start the task on its unit."""
    scratch.on_unit[task] = unit + 1
    scratch.is_running[task] = 1
    scratch.end_us[task] = expected_end_us(model, state, task, unit, now_us)
    scratch.next_running[task] = scratch.running[unit]
    scratch.running[unit] = task + 1
    note_ready(model, state, scratch, unit)
    return start(task, unit)


def note_stop(model: Any, state: Any, scratch: Any, task: int) -> None:
    """Record that the task no longer runs on its unit."""
    unit = int(scratch.on_unit[task]) - 1
    last, item = 0, int(scratch.running[unit])
    while item != task + 1:
        last, item = item, int(scratch.next_running[item - 1])
    if last > 0:
        scratch.next_running[last - 1] = scratch.next_running[task]
    else:
        scratch.running[unit] = scratch.next_running[task]
    scratch.on_unit[task] = 0
    scratch.is_running[task] = 0
    note_ready(model, state, scratch, unit)
