"""Where there may be room that was not there: the nodes that running tasks have left, or where their rank has risen."""

from collections.abc import Mapping
from typing import Any

from vinesim.model.workload import NO_GANG
from vinesim.state.layout import ARRIVAL, FINISH
from vinesim.state.queries import is_running

N_NOTED = 16  # of more nodes than this, only that there are more is known
NOTED: Mapping[str, tuple[str, str]] = {
    "noted": ("i4", str(N_NOTED)),  # the last nodes, in turn
    "n_noted": ("i8", "one"),
}


def note_event(model: Any, view: Any) -> None:
    """Note where an event may make room."""
    if view.event == FINISH:
        note_node(view.scratch, int(model.unit_node[view.unit]))
    elif view.event != ARRIVAL:
        note_all(view.scratch)


def note_all(scratch: Any) -> None:
    """Note that there may be room anywhere."""
    scratch.n_noted[0] += N_NOTED + 1


def note_nodes_of(model: Any, state: Any, scratch: Any, task: int) -> None:
    """Note the nodes of a running task and its gang."""
    first, end = gang_of(model, task)
    for member in range(first, end):
        if is_running(model, state, member):
            note_node(scratch, int(model.unit_node[state.task_unit[member]]))


def note_node(scratch: Any, node: int) -> None:
    """Note a node."""
    scratch.noted[scratch.n_noted[0] % N_NOTED] = node
    scratch.n_noted[0] += 1


def gang_of(model: Any, task: int) -> tuple[int, int]:
    """Return the tasks, from the first to before the end, of the task's gang; just itself if it has none."""
    job = int(model.task_job[task])
    if len(model.job_gang) == 0 or model.job_gang[job] == NO_GANG:
        return int(task), int(task) + 1
    return int(model.job_first[job]), int(model.job_first[job + 1])
