"""The running tasks by rank, the highest first, the younger first among equals. A gang counts as one of its tasks.

As many as were asked for stand in an array, in this order; the others are in a heap. Both are kept from one round to
the next: tasks that have started are entered, tasks whose rank has changed are entered again, and tasks that do not run
any more are passed over. So the cost of a round depends on what has changed, not on what runs. The order is made again
once as many tasks have been entered as ran when it was made, or if an outage interrupted any.

Ranks change in one of two ways. They rise at times that are known before: a heap of these times says which to look at.
Or they sink: then a rank that was found before is a bound, and only tasks with a high bound are looked at again.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from vinesim.policies.preemptive.noted import NOTED, note_all, note_nodes_of
from vinesim.policies.structures.binary_heap import heap_pop, heap_push
from vinesim.state.places import end_of_members, gang_of
from vinesim.state.queries import is_running, next_running

RUNNING: Mapping[str, tuple[str, str]] = {
    **NOTED,
    "standing": ("i4", "queue"),  # those of highest rank, in this order
    "standing_rank": ("f8", "queue"),
    "n_standing": ("i8", "one"),
    "others": ("i4", "queue"),  # a heap of the others, each as N - 1 - task
    "others_rank": ("f8", "queue"),  # and minus its rank
    "n_others": ("i8", "one"),
    "entered_rank": ("f8", "tasks"),  # of a running task, or the first of its gang; others are outdated
    "due": ("i4", "queue"),  # a heap of the tasks whose rank rises
    "due_us": ("f8", "queue"),  # from when on it may have done so
    "n_due": ("i8", "one"),
    "rising": ("i4", "queue"),  # another one of the same tasks
    "rising_us": ("f8", "queue"),  # when it does, but for rounding
    "n_rising": ("i8", "one"),
    "joined": ("i4", "queue"),  # since the order was last up to date
    "n_joined": ("i8", "one"),
    "joined_rise_us": ("f8", "one"),  # from when on the rank of one of them may have risen
    "n_entered": ("i8", "one"),  # since the order was made
    "most_entered": ("i8", "one"),  # before it is made again
    "is_up_to_date": ("i8", "one"),
}
Rank = Callable[[Any, Any, Any, int], float]  # of (model, state, view, task)
Rise = Callable[[Any, Any, Any, int], tuple[float, float]]


def forget_running(scratch: Any) -> None:
    """Rebuild the order when it is next needed."""
    scratch.most_entered[0] = 0


def note_start(scratch: Any, task: int, rises_us: float) -> None:
    """Note a task that starts, and from when on its rank may have risen."""
    n = int(scratch.n_joined[0])
    if scratch.n_entered[0] + n >= scratch.most_entered[0]:
        forget_running(scratch)
        return
    scratch.joined_rise_us[0] = min(scratch.joined_rise_us[0], rises_us) if n > 0 else rises_us
    scratch.joined[n] = task
    scratch.n_joined[0] = n + 1


def note_preemption(scratch: Any, task: int) -> None:
    """Remove a task that stands in the order."""
    i, n = 0, int(scratch.n_standing[0]) - 1
    while scratch.standing[i] != task:
        i += 1
    for j in range(i, n):
        scratch.standing[j] = scratch.standing[j + 1]
        scratch.standing_rank[j] = scratch.standing_rank[j + 1]
    scratch.n_standing[0] = n


def bring_up_to_date(model: Any, state: Any, view: Any, rank: Rank, rise_us: Rise, sinks: bool) -> None:
    """Enter what has started or risen since, and drop what has ended."""
    scratch = view.scratch
    scratch.is_up_to_date[0] = 1
    if sinks:
        set_back(model, scratch)
    if scratch.most_entered[0] > 0:
        if scratch.n_joined[0] > 0 and scratch.joined_rise_us[0] <= view.now_us:
            note_all(scratch)
        for i in range(scratch.n_joined[0]):
            enter(model, state, view, int(scratch.joined[i]), rank, rise_us)
        scratch.n_joined[0] = 0
        enter_risen(model, state, view, rank, rise_us)
        drop_outdated(model, state, scratch)
    if scratch.n_entered[0] >= scratch.most_entered[0]:
        enter_all(model, state, view, rank, rise_us)


def enter_all(model: Any, state: Any, view: Any, rank: Rank, rise_us: Rise) -> None:
    """Make the order again; whether ranks have risen since the last one is not known."""
    scratch = view.scratch
    note_all(scratch)
    scratch.n_standing[0], scratch.n_others[0], scratch.n_due[0], scratch.n_rising[0] = 0, 0, 0, 0
    scratch.n_joined[0], scratch.n_entered[0] = 0, 0
    running = next_running(model, state, -1)
    while running >= 0:
        enter(model, state, view, running, rank, rise_us)
        running = next_running(model, state, end_of_members(model, state, running) - 1)
    scratch.most_entered[0] = min(2 * scratch.n_entered[0] + 16, len(scratch.others))


def enter(model: Any, state: Any, view: Any, entered: int, rank: Rank, rise_us: Rise) -> None:
    """Enter a task if it, or another one of its gang, runs."""
    scratch, task = view.scratch, running_of(model, state, entered)
    if task < 0:
        return
    value = rank(model, state, view, task)
    scratch.n_entered[0] += 1
    scratch.entered_rank[gang_of(model, task)[0]] = value
    i = int(scratch.n_standing[0])
    if i > 0 and not ranks_higher(scratch, i - 1, value, task):
        while i > 0 and not ranks_higher(scratch, i - 1, value, task):
            scratch.standing[i], scratch.standing_rank[i] = scratch.standing[i - 1], scratch.standing_rank[i - 1]
            i -= 1
        scratch.standing[i], scratch.standing_rank[i] = task, value
        scratch.n_standing[0] += 1
    else:
        push_other(model, scratch, task, value)
    note_rise(model, state, view, task, rise_us)


def push_other(model: Any, scratch: Any, task: int, value: float) -> None:
    """Put a task into the heap of the others."""
    n = int(scratch.n_others[0])
    heap_push(scratch.others, scratch.others_rank, n, len(model.task_operations) - 1 - task, -value)
    scratch.n_others[0] = n + 1


def note_rise(model: Any, state: Any, view: Any, task: int, rise_us: Rise) -> None:
    """Note when the rank of a task rises next."""
    scratch, (from_us, at_us) = view.scratch, rise_us(model, state, view, task)
    if at_us < math.inf:
        note_due(scratch, task, from_us, view.now_us)
        note_rising(scratch, task, at_us, view.now_us)


def note_due(scratch: Any, task: int, time_us: float, now_us: float) -> None:
    """Note from when on the rank of a task may have risen."""
    heap_push(scratch.due, scratch.due_us, int(scratch.n_due[0]), task, after(time_us, now_us))
    scratch.n_due[0] += 1


def note_rising(scratch: Any, task: int, time_us: float, now_us: float) -> None:
    """Note when the rank of a task rises."""
    heap_push(scratch.rising, scratch.rising_us, int(scratch.n_rising[0]), task, after(time_us, now_us))
    scratch.n_rising[0] += 1


def after(time_us: float, now_us: float) -> float:
    """Return a time a little before ``time_us``, as it may be found again with other rounding, but after now."""
    return float(max(time_us * (1.0 - 1e-15), np.nextafter(now_us, np.inf)))


def enter_risen(model: Any, state: Any, view: Any, rank: Rank, rise_us: Rise) -> None:
    """Enter those tasks again whose rank has risen."""
    scratch = view.scratch
    while scratch.n_due[0] > 0 and scratch.due_us[0] <= view.now_us and scratch.n_entered[0] < scratch.most_entered[0]:
        task = running_of(model, state, int(scratch.due[0]))
        heap_pop(scratch.due, scratch.due_us, int(scratch.n_due[0]))
        scratch.n_due[0] -= 1
        before = scratch.entered_rank[gang_of(model, task)[0]] if task >= 0 else 0.0
        if task >= 0 and rank(model, state, view, task) != before:
            note_nodes_of(model, state, scratch, task, before)
            enter(model, state, view, task, rank, rise_us)
        elif task >= 0 and rise_us(model, state, view, task)[1] < math.inf:
            note_due(scratch, task, rise_us(model, state, view, task)[0], view.now_us)


def first_rise_us(model: Any, state: Any, view: Any, rise_us: Rise) -> float:
    """Return when the rank of a running task next rises; infinite if no rank will."""
    scratch, first_us, i = view.scratch, math.inf, 0
    drop_risen(model, state, view, rise_us)
    while True:  # all that may be the first, down the heap
        if i < scratch.n_rising[0] and scratch.rising_us[i] <= first_us:
            task = running_of(model, state, int(scratch.rising[i]))
            first_us = min(first_us, rise_us(model, state, view, task)[1] if task >= 0 else math.inf)
            i = 2 * i + 1
            continue
        while i > 0 and i & 1 == 0:  # up to where the heap goes on to the right
            i = (i - 1) >> 1
        if i == 0:
            return first_us
        i += 1


def drop_risen(model: Any, state: Any, view: Any, rise_us: Rise) -> None:
    """Remove tasks that have ended from the front of the heap, and note again when the others rise that should have."""
    scratch = view.scratch
    while scratch.n_rising[0] > 0:
        task = running_of(model, state, int(scratch.rising[0]))
        if task >= 0 and scratch.rising_us[0] > view.now_us:
            return
        heap_pop(scratch.rising, scratch.rising_us, int(scratch.n_rising[0]))
        scratch.n_rising[0] -= 1
        time_us = rise_us(model, state, view, task)[1] if task >= 0 else math.inf
        if time_us < math.inf:
            note_rising(scratch, task, time_us, view.now_us)


def drop_outdated(model: Any, state: Any, scratch: Any) -> None:
    """Keep only tasks that still run with this rank."""
    n = 0
    for i in range(scratch.n_standing[0]):
        task, value = running_of(model, state, int(scratch.standing[i])), scratch.standing_rank[i]
        if task >= 0 and value == scratch.entered_rank[gang_of(model, task)[0]]:
            scratch.standing[n], scratch.standing_rank[n] = task, value
            n += 1
    scratch.n_standing[0] = n


def set_back(model: Any, scratch: Any) -> None:
    """Put all that stand among the others, by the ranks that they had."""
    for i in range(scratch.n_standing[0]):
        push_other(model, scratch, int(scratch.standing[i]), scratch.standing_rank[i])
    scratch.n_standing[0] = 0


def n_higher(model: Any, state: Any, view: Any, task: int, n: int, rank: Rank, sinks: bool) -> int:
    """Let the first n tasks that rank higher than a pending task stand; return how many there are."""
    scratch, own = view.scratch, view.scratch.rank[task]
    while scratch.n_standing[0] < n and scratch.n_others[0] > 0:
        other, value = len(model.task_operations) - 1 - int(scratch.others[0]), -scratch.others_rank[0]
        if value < own or (value == own and other < task):
            break
        let_next_stand(model, state, view, rank, sinks)
    low, high = 0, min(n, int(scratch.n_standing[0]))
    while low < high:
        middle = (low + high) >> 1
        if ranks_higher(scratch, middle, own, task):
            low = middle + 1
        else:
            high = middle
    return low


def let_next_stand(model: Any, state: Any, view: Any, rank: Rank, sinks: bool) -> None:
    """Take the first of the others: it stands if it runs and has this rank, and goes back if it has sunk."""
    scratch, left = view.scratch, int(view.scratch.n_others[0])
    value = -scratch.others_rank[0]
    task = running_of(model, state, len(model.task_operations) - 1 - int(scratch.others[0]))
    heap_pop(scratch.others, scratch.others_rank, left)
    scratch.n_others[0] = left - 1
    if task < 0:
        return
    first = gang_of(model, task)[0]
    if sinks:
        scratch.entered_rank[first] = rank(model, state, view, task)
        if scratch.entered_rank[first] != value:
            push_other(model, scratch, task, scratch.entered_rank[first])
    if scratch.entered_rank[first] == value:
        i = int(scratch.n_standing[0])
        scratch.standing[i], scratch.standing_rank[i] = task, value
        scratch.n_standing[0] = i + 1


def ranks_higher(scratch: Any, i: int, own: float, task: int) -> bool:
    """Whether the running task at a place of the order ranks higher than another task."""
    value = scratch.standing_rank[i]
    return bool(value > own or (value == own and scratch.standing[i] > task))


def running_of(model: Any, state: Any, task: int) -> int:
    """Return the task if it runs, or else the next one of its gang that does; -1 if there is none."""
    if is_running(model, state, task):
        return task
    end = end_of_members(model, state, task)
    other = next_running(model, state, task) if end > task + 1 else -1
    return int(other) if 0 <= other < end else -1
