"""EDF and related policies: one queue of requests, ordered by a number that is fixed when they arrive."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.requests.fcfs import fastest_available
from vinesim.policies.requests.registered import can_use, most_as_one
from vinesim.policies.structures.priority_queue import (
    PRIORITY_QUEUE,
    QUEUED_TASKS,
    queue_first,
    queue_pop,
    queue_push,
    queue_set_aside,
    queue_take_back,
)
from vinesim.state.layout import ARRIVAL, PENDING
from vinesim.state.queries import (
    arrived_task,
    deadline_us,
    drop,
    first_pending,
    group,
    is_within_quotas,
    least_busy,
    more_at_once,
    n_arrived,
    next_pending,
    nothing,
    oldest_pending,
    start_consolidated,
    task_type,
    time_on_type_us,
)


@dataclass(frozen=True)
class Edf(OnlinePolicy):
    """The request with the nearest deadline starts first, on the fastest type with room: a CPU if all GPUs are busy.

    There is one queue: while the first request finds no unit, all requests wait. Among the units of a type, one on the
    node with the fewest running tasks is used. With ``consolidate`` yes, the order within an application is kept: its
    oldest request represents it and is consolidated with the next ones, up to the limit. With overtaking, as without
    consolidation, the request with the nearest deadline comes first; it is consolidated with others only if it is the
    oldest of its application.

    Ties: order of arrival; fastest type first, then (rack, shelf). Cost per decision: O(log pending) for the order,
    with ``consolidate`` yes the waiting applications; processor types, and the nodes that have changed.
    """

    name: ClassVar[str] = "edf"
    source: ClassVar[str] = "Symphony paper, section V-A"
    sees_every_event: ClassVar[bool] = True
    takes_withdrawals: ClassVar[bool] = True
    takes_dependencies: ClassVar[bool] = True
    takes_gangs: ClassVar[bool] = True
    groups: ClassVar[tuple[str, ...]] = ("application",)
    scratch: ClassVar = PRIORITY_QUEUE
    task_numbers: ClassVar = QUEUED_TASKS

    consolidate: Literal["no", "yes", "overtaking"] = "no"

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        return start_in_order(model, state, view, False)


@dataclass(frozen=True)
class EdfDrop(Edf):
    """As ``edf``, but a request that can no longer be on time is dropped instead of started.

    A request cannot be on time if even the fastest type, started now and alone, would finish after the deadline, by the
    true times without noise. With ``consolidate`` as in ``edf``.

    Ties: order of arrival. Cost per decision: as ``edf``.
    """

    name: ClassVar[str] = "edf_drop"
    source: ClassVar[str] = "EDF with early drop, after Nexus, SOSP 2019"
    may_drop: ClassVar[bool] = True
    needs_estimates: ClassVar[bool] = True

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        enter(model, state, view, False)
        if more_at_once(model, state):
            return nothing()
        task = first_in_order(model, state, view, False)
        if task < 0:
            return nothing()
        if view.now_us + fastest_us(model, state, task) > deadline_us(model, state, task):
            return drop(task)
        return start_first(model, state, view, task)


@dataclass(frozen=True)
class LeastLaxity(Edf):
    """As ``edf``, but the order is by laxity: deadline minus the time on the fastest type, alone and without noise.

    With ``consolidate`` as in ``edf``.

    Ties: order of arrival. Cost per decision: as ``edf``.
    """

    name: ClassVar[str] = "least_laxity"
    source: ClassVar[str] = "Mok and Dertouzos, 1978, without preemption"
    needs_estimates: ClassVar[bool] = True

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        return start_in_order(model, state, view, True)


def start_in_order(model: Any, state: Any, view: Any, by_laxity: bool) -> Any:
    """Decide: the first request of the queue starts."""
    enter(model, state, view, by_laxity)
    if more_at_once(model, state):
        return nothing()
    task = first_in_order(model, state, view, by_laxity)
    return nothing() if task < 0 else start_first(model, state, view, task)


def enter(model: Any, state: Any, view: Any, by_laxity: bool) -> None:
    """Put the requests that have just arrived into the queue, and requests that waited for a quota once it may have
    room again."""
    if view.event != ARRIVAL:
        queue_take_back(view.scratch)
    if view.options.consolidate.yes:
        return
    for i in range(view.scratch.queue_seen[0], n_arrived(model, state)):
        task = arrived_task(model, state, i)
        if state.task_unit[task] == PENDING:
            queue_push(view.scratch, task, urgency(model, state, task, by_laxity))
    view.scratch.queue_seen[0] = n_arrived(model, state)


def urgency(model: Any, state: Any, task: int, by_laxity: bool) -> float:
    """Return the number that orders requests; the smallest comes first."""
    due = deadline_us(model, state, task)
    return due - fastest_us(model, state, task) if by_laxity and due < math.inf else due


def first_of_applications(model: Any, state: Any, by_laxity: bool) -> int:
    """Return the first, in the order, of the oldest requests of the applications; -1 if there is none."""
    best, least = -1, math.inf
    task = oldest_pending(model, state)
    while task >= 0:
        value = urgency(model, state, task, by_laxity)
        if best < 0 or value < least:
            best, least = task, value
        task = next_pending(model, state, task)
    return best


def first_in_order(model: Any, state: Any, view: Any, by_laxity: bool) -> int:
    """Return the first pending request in the order, -1 if there is none."""
    if view.options.consolidate.yes:
        return first_of_applications(model, state, by_laxity)
    task = queue_first(view.scratch)
    while task >= 0:
        if state.task_unit[task] != PENDING:
            queue_pop(view.scratch)
        elif is_within_quotas(model, state, task):
            return task
        else:
            queue_set_aside(view.scratch)
        task = queue_first(view.scratch)
    return -1


def start_first(model: Any, state: Any, view: Any, task: int) -> Any:
    """Start it, or wait."""
    processor_type = fastest_available(model, state, task)
    if processor_type < 0:
        return nothing()
    g = group(model, state, task)
    count = 1
    if not view.options.consolidate.no and first_pending(model, state, g) == task:
        count = most_as_one(model, state, g, task)
    return start_consolidated(task, count, least_busy(model, state, task, processor_type))


def fastest_us(model: Any, state: Any, task: int) -> float:
    """Return the time on the fastest deployed type that its application can use."""
    own_type, g = task_type(model, state, task), group(model, state, task)
    shortest = math.inf
    for i in range(model.ranking.shape[1]):
        if model.ranking[own_type, i] < 0:
            break
        if can_use(model, g, model.ranking[own_type, i]):
            shortest = min(shortest, time_on_type_us(model, state, task, model.ranking[own_type, i]))
    return shortest
