"""What VineSim's own policies that plan ahead ask besides the queries: which units a task would hold, and how much room
tasks find on a unit while a policy supposes that others have left it, or keeps part of it back.

The rows of a task are the units that it holds and how much of each: ``row_unit`` and ``row_amount`` in the policy's
scratch, of the size ``held``, from :func:`first_row` to that of the next task. The first one is the task's own unit.
"""

from typing import Any

from vinesim.model.workload import NO_GANG
from vinesim.state import queries
from vinesim.state.layout import ATTACHED


def set_hypothetical_capacity(model: Any, state: Any, unit: int, capacity: float) -> None:
    """Let tasks find a unit that is up with another capacity. The policy restores the unit's own capacity before time
    advances. It may do so after the start to which this led; the other capacity then also decides which units the rest
    of the task takes."""
    state.unit_open[unit] = capacity


def set_hypothetical_begin(model: Any, state: Any, begin_us: float) -> None:
    """Let reservations be asked about tasks that begin at a time rather than now. Before the policy starts a task, it
    sets this back to a time that is not later than now."""
    state.begin_us = begin_us


def hypothetical_begin_us(model: Any, state: Any) -> float:
    """Return when tasks are supposed to begin: now, or later."""
    return max(state.now_us, state.begin_us)


def first_row(model: Any, task: int) -> int:
    """Return the place of a task's first row."""
    return task + model.task_held[task] if len(model.task_held) else task


def rows_of(model: Any, task: int) -> range:
    """Return the places of a task's rows."""
    return range(first_row(model, task), first_row(model, task + 1))


def note_rows(model: Any, state: Any, rows: Any, task: int, unit: int) -> None:
    """Note what a task would hold if it alone started now on a unit that has room for it."""
    row, task_class, node = first_row(model, task), queries.task_type(model, state, task), int(model.unit_node[unit])
    rows.row_unit[row], rows.row_amount[row] = unit, queries.demand(model, state, task, unit)
    if len(model.class_units) == 0:
        return
    missing, place = model.class_units[task_class] - 1, node * len(model.affinity) + int(model.unit_type[unit])
    for i in range(model.node_begin[place], model.node_begin[place + 1]):
        other = int(model.node_unit[i])
        if missing > 0 and other != unit:
            amount = queries.demand(model, state, task, other)
            if queries.has_room_for(model, state, other, amount):
                row, missing = row + 1, missing - 1
                rows.row_unit[row], rows.row_amount[row] = other, amount
    for c in range(len(model.companion_type)):
        p = int(model.companion_type[c])
        amount = model.class_companion[task_class, p]
        if amount > 0.0:
            row += 1
            rows.row_unit[row] = queries.companion_unit(model, state, node, p, amount)
            rows.row_amount[row] = amount


def note_place(model: Any, state: Any, rows: Any, task: int, unit: int) -> None:
    """Note what a pending task that can start on a unit, and those that are attached to it, would hold."""
    state.note_place(rows, task, unit)


def gang_of(model: Any, task: int) -> tuple[int, int]:
    """Return the tasks, from the first to before the end, of the task's gang; just itself if it has none."""
    job = int(model.task_job[task])
    if len(model.job_gang) == 0 or model.job_gang[job] == NO_GANG:
        return int(task), int(task) + 1
    return int(model.job_first[job]), int(model.job_first[job + 1])


def end_of_members(model: Any, state: Any, task: int) -> int:
    """Return the task after the last one that may be attached to a task: itself without a gang."""
    return gang_of(model, task)[1]


def is_member(model: Any, state: Any, task: int, other: int) -> bool:
    """Whether ``other``, a task before :func:`end_of_members`, is the pending task itself or attached to it."""
    return other == task or state.task_unit[other] == ATTACHED


def may_hold(model: Any, state: Any, quota: int, held: float) -> bool:
    """Whether a quota and its cohort allow its tasks to hold an amount, given what others hold now."""
    return bool(state.quotas.may_hold(quota, held))


def begin_trial(model: Any, state: Any) -> int:
    """Begin to suppose that running tasks have left; until the trial ends, the policy starts nothing. Returns the
    position for :func:`undo` at which nothing is supposed. The policy must declare ``preempts``."""
    return int(state.begin_trial())


def suppose_away(model: Any, state: Any, others: Any, begin: int, end: int) -> int:
    """Suppose that the tasks ``others[begin:end]``, each with its gang, do not run; tasks that do not run anyway do not
    count. Returns the position after that."""
    state.begun.release(others[begin:end])
    return int(state.begun.note())


def undo(model: Any, state: Any, position: int) -> None:
    """Undo what was supposed after a position."""
    state.begun.undo(position)


def end_trial(model: Any, state: Any, begun: int) -> None:
    """Undo all that was supposed since a trial began."""
    state.begun.undo(begun)


def fastest_free_after(model: Any, state: Any, task: int, others: Any, n: int) -> int:
    """Return the fastest unit on which a pending task could start if the first n of ``others`` were preempted: neither
    units nor quotas would count them any more. The policy must declare ``preempts``."""
    with state.trial() as trial:
        trial.release(others[:n])
        trial.leave_quotas(others[:n])
        return int(queries.fastest_free(model, state, task))


def has_place_without(model: Any, state: Any, task: int, node: int, others: Any, n: int) -> bool:
    """Whether a pending task, or one that is attached to it, has room by itself at a node if the first n of ``others``
    did not run: an array of tasks, each with its gang. The policy must declare ``preempts``."""
    with state.trial() as trial:
        trial.release(others[:n])
        return any(
            is_member(model, state, task, member) and queries.fits_itself(model, state, member, unit)
            for member in range(task, end_of_members(model, state, task))
            for unit in range(model.node_first[node], model.node_first[node + 1])
        )


def room_at(model: Any, state: Any, task: int, processor_type: int, node: int, most: int) -> int:
    """Return how many tasks like a pending one, up to a number, a node has room for together on units of a type."""
    with state.trial() as trial:
        n = 0
        while n < most and trial.hold_at(task, processor_type, node):
            n += 1
        return n
