"""Where there may be room that was not there: the nodes that running tasks have left, and those of tasks whose rank has
risen."""

import math
from collections.abc import Mapping
from typing import Any

from vinesim.state.layout import FINISH, OUTAGE, TIMER
from vinesim.state.places import gang_of
from vinesim.state.queries import is_running

N_NOTED = 16  # of more nodes than this, only that there are more is known
NOTED: Mapping[str, tuple[str, str]] = {
    "noted": ("i4", str(N_NOTED)),  # the last nodes, in turn
    "noted_rank": ("f8", str(N_NOTED)),  # of the task that left or rose, before that: room for those that rank higher
    "n_noted": ("i8", "one"),
}


def note_event(model: Any, view: Any) -> None:
    """Note where an event may make room. A TIMER is the policy's own or means that jobs were withdrawn."""
    if view.event == FINISH:
        note_node(view.scratch, int(model.unit_node[view.unit]), -math.inf)
    elif view.event == OUTAGE or (view.event == TIMER and len(model.job_withdraw_us) > 0):
        note_all(view.scratch)


def note_all(scratch: Any) -> None:
    """Note that there may be room anywhere."""
    scratch.n_noted[0] += N_NOTED + 1


def note_nodes_of(model: Any, state: Any, scratch: Any, task: int, rank: float) -> None:
    """Note the nodes of a running task and its gang, which leaves or rises."""
    first, end = gang_of(model, task)
    for member in range(first, end):
        if is_running(model, state, member):
            note_node(scratch, int(model.unit_node[state.task_unit[member]]), rank)


def note_node(scratch: Any, node: int, rank: float) -> None:
    """Note a node."""
    i = int(scratch.n_noted[0] % N_NOTED)
    scratch.noted[i], scratch.noted_rank[i] = node, rank
    scratch.n_noted[0] += 1
