"""What VineSim's own policies that plan ahead ask beside the queries: what a task would hold, and what tasks find of a
unit while a policy supposes that others have left it, or keeps part of it back.

The rows of a task are the units that it holds and how much of each: ``row_unit`` and ``row_amount`` in the policy's
scratch, of the size ``held``, from :func:`first_row` to that of the next task. The first one is the task's own unit.
"""

from typing import Any

from vinesim.model.workload import NO_GANG
from vinesim.state import queries
from vinesim.state.layout import ATTACHED


def set_offer(model: Any, state: Any, unit: int, capacity: float) -> None:
    """Let tasks find a unit that is up with another capacity. The policy sets its own back before time goes on, after
    the start that it led to at the latest; then it counts for which units the rest of a task takes."""
    state.unit_open[unit] = capacity


def first_row(model: Any, task: int) -> int:
    """Return the place of a task's first row."""
    return task + model.task_held[task] if len(model.task_held) else task


def note_rows(model: Any, state: Any, rows: Any, task: int, unit: int) -> None:
    """Note what a task for which a unit has room would hold if it alone started there now."""
    row, kind, node = first_row(model, task), queries.task_type(model, state, task), int(model.unit_node[unit])
    rows.row_unit[row], rows.row_amount[row] = unit, queries.demand(model, state, task, unit)
    if len(model.kind_units) == 0:
        return
    missing, place = model.kind_units[kind] - 1, node * len(model.affinity) + int(model.unit_type[unit])
    for i in range(model.node_begin[place], model.node_begin[place + 1]):
        other = int(model.node_unit[i])
        if missing > 0 and other != unit:
            amount = queries.demand(model, state, task, other)
            if queries.has_room_for(model, state, other, amount):
                row, missing = row + 1, missing - 1
                rows.row_unit[row], rows.row_amount[row] = other, amount
    for c in range(len(model.companion_type)):
        p = int(model.companion_type[c])
        amount = model.kind_companion[kind, p]
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
    """Whether ``other`` is a pending task or is attached to it, of those before :func:`end_of_members`."""
    return other == task or state.task_unit[other] == ATTACHED


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
