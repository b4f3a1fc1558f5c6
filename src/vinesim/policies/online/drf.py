"""Dominant resource fairness over users."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.contract import OnlinePolicy
from vinesim.state.layout import FINISH, OUTAGE, TIMER
from vinesim.state.places import end_of_members
from vinesim.state.queries import (
    demand,
    fastest_free,
    first_interrupted,
    first_withdrawn,
    more_at_once,
    next_interrupted,
    next_pending,
    next_withdrawn,
    nothing,
    oldest_pending,
    start,
    task_type,
    user,
)
from vinesim.state.scratch import TASK_ID_PLUS_1

HELD: Mapping[str, tuple[str, str]] = {
    "held": ("f8", "users*types"),  # what each user's tasks hold of each type, those without a user last
    "n_held": ("i8", "users"),  # how many tasks that is
    "total": ("f8", "types"),  # what the datacenter has
    "is_built": ("i8", "one"),
    "lead_type": ("i4", "tasks"),  # 1 + the type on which a task runs, 0 if it is not counted
    "lead_amount": ("f8", "tasks"),  # what it holds of that
    "started": ("i8", "one"),  # 1 + the task that was started last and is not yet counted
}


@dataclass(frozen=True)
class Drf(OnlinePolicy):
    """The next task belongs to the user with the lowest dominant share.

    A user's share of a processor type is what its tasks hold of all units of that type. Its dominant share is the
    largest of these, whether CPUs, GPUs or memory. A user without any task that has room is passed over. The user's
    oldest task that has room starts, on the fastest type. Tasks without a user count as those of one more user. A gang
    is one task.

    Ties: order of arrival; fastest type first, then (rack, shelf). Cost per decision: the classes of demands that each
    user has pending, and the processor types.
    """

    name: ClassVar[str] = "drf"
    source: ClassVar[str] = "Ghodsi et al., NSDI 2011, section 4"
    work_conserving: ClassVar[bool] = True
    sees_every_event: ClassVar[bool] = True
    keeps_tasks: ClassVar[bool] = True
    takes_back: ClassVar[bool] = True
    takes_withdrawals: ClassVar[bool] = True
    takes_dependencies: ClassVar[bool] = True
    takes_gangs: ClassVar[bool] = True
    groups: ClassVar[tuple[str, ...]] = ("user", "demand")
    scratch: ClassVar[Mapping[str, tuple[str, str]]] = HELD
    task_numbers: ClassVar[Mapping[str, str]] = {"started": TASK_ID_PLUS_1}

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        count_changes(model, state, view)
        if more_at_once(model, state):
            return nothing()
        best, best_unit, least = -1, -1, 0.0
        task = oldest_pending(model, state)
        while task >= 0:
            share = dominant_share(model, view, user(model, state, task))
            if best < 0 or share < least:
                unit = fastest_free(model, state, task)
                if unit >= 0:
                    best, best_unit, least = int(task), int(unit), share
            task = next_pending(model, state, task)
        if best < 0:
            return nothing()
        view.scratch.started[0] = best + 1
        return start(best, best_unit)


def dominant_share(model: Any, view: Any, of: int) -> float:
    """Return the largest of a user's shares."""
    n_types, held, largest = len(model.affinity), view.scratch.held, 0.0
    row = of if of >= 0 else len(view.scratch.n_held) - 1
    for p in range(n_types):
        if view.scratch.total[p] > 0.0:
            largest = max(largest, held[row * n_types + p] / view.scratch.total[p])
    return largest


def count_changes(model: Any, state: Any, view: Any) -> None:
    """Count what has been started, and leave out what has ended or was interrupted."""
    scratch = view.scratch
    if scratch.is_built[0] == 0:
        scratch.is_built[0] = 1
        for unit in range(len(model.unit_type)):
            scratch.total[model.unit_type[unit]] += model.unit_capacity[unit]
    if scratch.started[0] > 0:
        count_with_gang(model, state, view, scratch.started[0] - 1)
        scratch.started[0] = 0
    if view.event == FINISH:
        leave_out(model, state, view, view.task)
    if view.event == OUTAGE:
        task = first_interrupted(model, state)
        while task >= 0:
            leave_out_with_gang(model, state, view, task)
            task = next_interrupted(model, state, task)
    if view.event == OUTAGE or view.event == TIMER:
        task = first_withdrawn(model, state)
        while task >= 0:
            leave_out(model, state, view, task)
            task = next_withdrawn(model, state, task)


def count_with_gang(model: Any, state: Any, view: Any, task: int) -> None:
    """Count a task that has started, and the tasks that started with it."""
    for member in range(task, end_of_members(model, state, task)):
        unit = state.task_unit[member]
        if unit >= 0 and view.scratch.lead_type[member] == 0:
            p, units = int(model.unit_type[unit]), 1.0
            if len(model.class_units) > 0:
                units = float(model.class_units[task_type(model, state, member)])
            view.scratch.lead_type[member] = p + 1
            view.scratch.lead_amount[member] = units * demand(model, state, member, unit)
            add(model, state, view, member, 1.0)


def leave_out_with_gang(model: Any, state: Any, view: Any, task: int) -> None:
    """Leave out a task that is pending again, and the tasks that wait with it."""
    for member in range(task, end_of_members(model, state, task)):
        if state.task_unit[member] < 0:
            leave_out(model, state, view, member)


def leave_out(model: Any, state: Any, view: Any, task: int) -> None:
    """Leave out a task that holds nothing any more, unless that was done."""
    if view.scratch.lead_type[task] > 0:
        add(model, state, view, task, -1.0)
        view.scratch.lead_type[task] = 0


def add(model: Any, state: Any, view: Any, task: int, sign: float) -> None:
    """Change what the task's user holds by what the task does."""
    scratch, n_types, of = view.scratch, len(model.affinity), user(model, state, task)
    row = of if of >= 0 else len(scratch.n_held) - 1
    scratch.held[row * n_types + scratch.lead_type[task] - 1] += sign * scratch.lead_amount[task]
    if len(model.class_units) > 0:
        own_type = task_type(model, state, task)
        for c in range(len(model.companion_type)):
            p = model.companion_type[c]
            scratch.held[row * n_types + p] += sign * model.class_companion[own_type, p]
    scratch.n_held[row] += 1 if sign > 0.0 else -1
    if scratch.n_held[row] == 0:  # without what rounding leaves
        for p in range(n_types):
            scratch.held[row * n_types + p] = 0.0
