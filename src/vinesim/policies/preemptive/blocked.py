"""Which pending tasks are known to find no room, from one round to the next.

If not even all running tasks of higher rank would make room for a task, it finds none until a task of lower rank leaves
or rises, or a node comes up. The nodes where this may have happened are noted. The task is tried again only if it, or
another task of its gang, has room at such a node by itself, without the tasks of higher rank.
"""

from collections.abc import Mapping
from typing import Any

from vinesim.policies.preemptive.noted import N_NOTED
from vinesim.policies.preemptive.running import Rank, n_higher
from vinesim.state.places import has_place_without
from vinesim.state.shortcuts import is_start_local

BLOCKED: Mapping[str, tuple[str, str]] = {
    "blocked_at": ("i8", "tasks"),  # 1 + how many nodes were noted when the task found no room; 0: it is to be tried
}


def is_still_blocked(model: Any, state: Any, view: Any, task: int, rank: Rank, sinks: bool) -> bool:
    """Whether a task that found no room, and has been pending since, finds none now either."""
    scratch = view.scratch
    since, until = int(scratch.blocked_at[task]) - 1, int(scratch.n_noted[0])
    if until - since > N_NOTED or not is_start_local(model):
        return False
    for i in range(since, until):
        if scratch.noted_rank[i % N_NOTED] <= scratch.rank[task]:
            n = n_higher(model, state, view, task, len(scratch.standing), rank, sinks)
            if has_place_without(model, state, task, int(scratch.noted[i % N_NOTED]), scratch.standing, n):
                return False
    return True
