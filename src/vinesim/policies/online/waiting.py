"""Which waiting tasks of ``delay`` may start, if each task takes a whole unit.

Then two tasks of one type that wait for the same processor type, or whose wait is over, can start on the same units. So
only the oldest task of each such set is looked at. Among the tasks that still wait, only those that the last event
concerns are looked at: tasks that wait for the unit that became free, and tasks that have just arrived.

The groups are sorted by task type and preferred type; a tree over them holds the oldest pending task of each.
"""

from collections.abc import Mapping
from typing import Any

from vinesim.policies.structures.min_tree import least_of, set_value
from vinesim.state.queries import (
    arrival_us,
    can_start,
    fastest_free,
    first_free,
    first_pending,
    group,
    has_room,
    n_arrived,
    n_pending,
    next_pending,
    oldest_pending,
    preferred_type,
)

WAITING: Mapping[str, tuple[str, str]] = {
    "is_built": ("i8", "one"),
    "oldest": ("i4", "2*groups"),  # tree: the oldest waiting task of each group, the number of tasks if it has none
    "position": ("i4", "groups"),  # of the group in the tree
    "begin": ("i4", "3*types*task_types"),  # position of the first group of each task type and preference
    "place_first": ("i4", "units"),  # 1 + the first group with data at the node, or rack, that begins with the unit
    "place_end": ("i4", "units"),  # the same for the last group; groups are numbered by place
    "seen": ("i8", "one"),  # tasks below this number have arrived
    "tried": ("i8", "one"),  # tasks below this number start only after a unit becomes free or their wait is over
    "over": ("i8", "one"),  # the wait of tasks below this number is over
    "known": ("i8", "one"),  # pending tasks; there are more after an outage
    "started": ("i8", "one"),  # 1 + the group of the task that was started last, 0 = none since
}


def is_over(model: Any, state: Any, view: Any, task: int) -> bool:
    """Whether the task's wait is over."""
    expiry_us = arrival_us(model, state, task) + view.options.wait_us
    return bool(expiry_us <= view.now_us)


def unit_for(model: Any, state: Any, view: Any, task: int) -> int:
    """Return the unit on which the task starts now, -1 if it waits."""
    if is_over(model, state, view, task):
        return int(fastest_free(model, state, task))
    if view.options.wait_for.type:
        return int(first_free(model, state, task, preferred_type(model, state, task)))
    unit = int(first_free(model, state, task, -1, 0))
    if unit < 0 and view.options.wait_for.rack:
        unit = int(first_free(model, state, task, -1, 1))
    return unit


def follow(model: Any, state: Any, view: Any) -> None:
    """Bring the tree up to date: with the last start, arrivals, interrupted tasks, and waits that are over."""
    scratch = view.scratch
    if scratch.is_built[0] == 0:
        build(model, scratch)
    if scratch.started[0] > 0:
        note_oldest(model, state, view, scratch.started[0] - 1)
        scratch.started[0] = 0
    n = n_arrived(model, state)
    scratch.known[0] += n - scratch.seen[0]
    scratch.seen[0] = n
    if scratch.known[0] != n_pending(model, state):
        scratch.known[0] = n_pending(model, state)
        task = oldest_pending(model, state)
        while task >= 0:
            note_oldest(model, state, view, group(model, state, task))
            task = next_pending(model, state, task)
    while scratch.over[0] < n and is_over(model, state, view, scratch.over[0]):
        scratch.over[0] += 1


def build(model: Any, scratch: Any) -> None:
    """Sort the groups by task type, then by preferred type, and fill the tree."""
    scratch.is_built[0] = 1
    n_wanted, n_groups = len(model.affinity) + 1, len(model.group_task_type)
    begin = scratch.begin
    for g in range(n_groups):
        begin[model.group_task_type[g] * n_wanted + model.group_preferred[g] + 2] += 1
    for i in range(1, len(model.ranking) * n_wanted + 1):
        begin[i] += begin[i - 1]
    for g in range(n_groups):
        i = model.group_task_type[g] * n_wanted + model.group_preferred[g] + 1
        scratch.position[g] = begin[i]
        begin[i] += 1
    for i in range(len(model.ranking) * n_wanted, 0, -1):
        begin[i] = begin[i - 1]
    begin[0] = 0
    for i in range(2 * n_groups):
        scratch.oldest[i] = len(model.task_operations)


def note_oldest(model: Any, state: Any, view: Any, of: int) -> None:
    """Put the oldest pending task of a group into the tree; a task that is still to be tried is not there."""
    task, scratch, none = first_pending(model, state, of), view.scratch, len(model.task_operations)
    if task > scratch.tried[0]:
        task = -1
    set_value(scratch.oldest, len(scratch.position), scratch.position[of], task if task >= 0 else none)
    if task >= 0 and not view.options.wait_for.type:
        note_place(model, state, view, task)


def first_unit(model: Any, view: Any, node: int) -> int:
    """Return the first unit of a node, or of its rack if that is what tasks wait for."""
    return int(model.rack_first[model.node_rack[node]] if view.options.wait_for.rack else model.node_first[node])


def note_place(model: Any, state: Any, view: Any, task: int) -> None:
    """Record that the task's group has its data at a place, if the place has units."""
    node = int(model.task_data_node[task]) if len(model.task_data_node) else 0
    end = model.rack_first[model.node_rack[node] + 1] if view.options.wait_for.rack else model.node_first[node + 1]
    scratch, at, item = view.scratch, first_unit(model, view, node), group(model, state, task) + 1
    if at < end:
        scratch.place_first[at] = item if scratch.place_first[at] == 0 else min(scratch.place_first[at], item)
        scratch.place_end[at] = max(scratch.place_end[at], item)


def next_to_start(model: Any, state: Any, view: Any) -> int:
    """Return the oldest task that can start, -1 if there is none; the tree is up to date."""
    scratch, none = view.scratch, len(model.task_operations)
    found = none
    if scratch.oldest[1] < scratch.over[0]:
        for own_type in range(len(model.ranking)):
            task = oldest_over(model, scratch, own_type)
            if 0 <= task < found and unit_for(model, state, view, task) >= 0:
                found = task
    if found == none and view.unit >= 0 and has_room(model, state, view.unit):
        for_type = view.options.wait_for.type
        found = oldest_for_type(model, state, view) if for_type else oldest_for_place(model, state, view)
    while scratch.tried[0] < min(scratch.seen[0], found):
        task = int(scratch.tried[0])
        of = group(model, state, task)
        if first_pending(model, state, of) == task:
            if unit_for(model, state, view, task) >= 0:
                return task
            note_oldest(model, state, view, of)
        scratch.tried[0] += 1
    return found if found < none else -1


def oldest_over(model: Any, scratch: Any, kind: int) -> int:
    """Return the oldest pending task of a type if its wait is over, else -1."""
    n_wanted = len(model.affinity) + 1
    first, end = scratch.begin[kind * n_wanted], scratch.begin[(kind + 1) * n_wanted]
    task = least_of(scratch.oldest, len(scratch.position), first, end, scratch.over[0])
    return int(task) if task < scratch.over[0] else -1


def oldest_for_type(model: Any, state: Any, view: Any) -> int:
    """Return the oldest task that waits for the type of the unit that became free; the number of tasks if there is
    none."""
    scratch, n_wanted, found = view.scratch, len(model.affinity) + 1, len(model.task_operations)
    p = int(model.unit_type[view.unit])
    for own_type in range(len(model.ranking)):
        if model.affinity[p, own_type] > 0.0:
            for wanted in (0, p + 1):
                i = own_type * n_wanted + wanted
                found = int(
                    least_of(scratch.oldest, len(scratch.position), scratch.begin[i], scratch.begin[i + 1], found)
                )
    return found


def oldest_for_place(model: Any, state: Any, view: Any) -> int:
    """Return the oldest task that waits for the place of the unit that became free; the number of tasks if there is
    none."""
    scratch, found = view.scratch, len(model.task_operations)
    at = first_unit(model, view, model.unit_node[view.unit])
    if scratch.place_first[at] > 0:
        for of in range(scratch.place_first[at] - 1, scratch.place_end[at]):
            task = first_pending(model, state, of)
            if 0 <= task < found and can_start(model, state, task, view.unit):
                found = task
    return found
