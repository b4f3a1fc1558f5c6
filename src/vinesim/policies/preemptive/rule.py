"""Preemption by rank: run the lowest-ranked tasks that fit.

At each instant the policy looks at the pending tasks by rank, the older first among equals. A task that has room
starts. For a task without room, running tasks of higher rank make room: as few as suffice, those of highest rank first.
Those among them that still have room next to it where they are stay after all, lowest rank first. A task for which even
all tasks of higher rank would not make room waits, and does not hold up others.

Tasks of one group demand the same: if the first of them finds no room, none does. So each group has a heap of its
pending tasks, and the first of each heap are in one queue. The running tasks are looked at only if a task needs room,
in an order that is kept (running.py), and a task that found none is not tried again before there may be some
(blocked.py).
"""

import math
from collections.abc import Mapping
from typing import Any

from vinesim.policies.preemptive.blocked import BLOCKED, is_still_blocked
from vinesim.policies.preemptive.noted import note_event, note_nodes_of
from vinesim.policies.preemptive.running import (
    Rank,
    Rise,
    bring_up_to_date,
    first_rise_us,
    forget_running,
    note_preemption,
    note_start,
)
from vinesim.policies.preemptive.victims import VICTIMS, find_victims
from vinesim.policies.structures.priority_queue import PRIORITY_QUEUE, queue_first, queue_pop, queue_push
from vinesim.state.layout import OUTAGE, PENDING
from vinesim.state.places import gang_of
from vinesim.state.queries import (
    arrived_task,
    fastest_free,
    first_interrupted,
    group,
    more_at_once,
    n_arrived,
    n_pending,
    next_interrupted,
    next_pending,
    nothing,
    oldest_pending,
    preempt,
    start,
    wait_until,
)
from vinesim.state.skew_heap import join, without_root

RANKED: Mapping[str, tuple[str, str]] = {
    **PRIORITY_QUEUE,  # in a round: the first task of each group that is still to be tried; others of it are outdated
    **VICTIMS,
    **BLOCKED,
    "rank": ("f8", "tasks"),  # of a pending task
    "left": ("i4", "tasks"),  # the heaps, as in state/skew_heap.py
    "right": ("i4", "tasks"),
    "root": ("i8", "groups"),
    "listed": ("i8", "groups"),  # 1 + the task of the group that is in the queue
    "is_open": ("i8", "one"),  # a round has begun and not ended
    "round": ("i8", "one"),  # its number
    "in_round": ("i8", "groups"),  # the last one in which the group was in the queue
    "returned": ("i8", "one"),  # 1 + the task that was preempted last
    "change_us": ("f8", "one"),  # when the rank of a task that has started in the round changes next
}


def start_by_rank(model: Any, state: Any, view: Any, rank: Rank, rise_us: Rise, sinks: bool) -> Any:
    """Decide. ``rank`` is the rank of a pending or running task, which stands for its gang; it changes only while the
    task runs. ``rise_us`` returns when it rises next if nothing happens: not before the first time, which leaves room
    for rounding, and at the second one; infinite if it never rises. With ``sinks`` it may sink at any time."""
    scratch = view.scratch
    enter(model, state, view, rank)
    if more_at_once(model, state):  # also in a round, if a task that has just started takes no time
        scratch.is_open[0] = 0
        return nothing()
    if scratch.is_open[0] == 0:
        open_round(model, state, view)
    if scratch.n_victims[0] == 0:
        unit = next_to_start(model, state, view, rank, rise_us, sinks)
        if unit >= 0:
            task = queue_first(scratch)
            take_out(model, state, view, task)
            if n_pending(model, state) == 1:
                scratch.is_open[0] = 0
            return start(task, unit)
    if scratch.n_victims[0] > 0:
        scratch.n_victims[0] -= 1
        victim = int(scratch.victims[scratch.n_victims[0]])
        scratch.returned[0] = victim + 1
        note_preemption(scratch, victim)
        note_nodes_of(model, state, scratch, victim, scratch.entered_rank[gang_of(model, victim)[0]])
        return preempt(victim)
    scratch.is_open[0] = 0
    change_us = scratch.change_us[0]
    if scratch.is_up_to_date[0] == 1:  # after all preemptions: those tasks rise no more
        change_us = min(change_us, first_rise_us(model, state, view, rise_us))
    return wait_until(change_us)


def next_to_start(model: Any, state: Any, view: Any, rank: Rank, rise_us: Rise, sinks: bool) -> int:
    """Return the unit on which the first task of the queue starts; -1 if tasks are preempted first, or none is left."""
    scratch = view.scratch
    while scratch.queue_size[0] > 0:
        task = queue_first(scratch)
        of = group(model, state, task)
        if scratch.listed[of] == task + 1:
            if not stays_blocked(model, state, view, task, rank, rise_us, sinks):
                unit = fastest_free(model, state, task)
                if unit >= 0:
                    from_us, at_us = rise_us(model, state, view, task)
                    scratch.change_us[0] = min(scratch.change_us[0], at_us)
                    note_start(scratch, task, from_us)
                    return int(unit)
                look_at_running(model, state, view, rank, rise_us, sinks)
                if find_victims(model, state, view, task, rank, sinks):
                    scratch.blocked_at[task] = 0
                    return -1
            scratch.blocked_at[task] = scratch.n_noted[0] + 1
            scratch.listed[of] = 0
        queue_pop(scratch)
    return -1


def stays_blocked(model: Any, state: Any, view: Any, task: int, rank: Rank, rise_us: Rise, sinks: bool) -> bool:
    """Whether a task found no room in an earlier round and would find none now."""
    if view.scratch.blocked_at[task] == 0:
        return False
    look_at_running(model, state, view, rank, rise_us, sinks)
    return is_still_blocked(model, state, view, task, rank, sinks)


def look_at_running(model: Any, state: Any, view: Any, rank: Rank, rise_us: Rise, sinks: bool) -> None:
    """Bring the order of the running tasks up to date, once a round."""
    scratch = view.scratch
    if scratch.is_up_to_date[0] == 0:
        bring_up_to_date(model, state, view, rank, rise_us, sinks)


def enter(model: Any, state: Any, view: Any, rank: Rank) -> None:
    """Enter the tasks that have become pending since the last answer."""
    scratch = view.scratch
    if scratch.returned[0] > 0:
        insert(model, state, view, scratch.returned[0] - 1, rank)
        if scratch.is_open[0] == 1 and len(model.quota_limit) > 0:
            look_again(model, state, view, scratch.returned[0] - 1)
        scratch.returned[0] = 0
    if scratch.is_open[0] == 0:
        note_event(model, view)
    if view.event == OUTAGE and scratch.is_open[0] == 0:
        forget_running(scratch)
        task = first_interrupted(model, state)
        while task >= 0:
            if scratch.queue_seen[0] > 0 and state.task_unit[task] == PENDING:
                insert(model, state, view, task, rank)
            task = next_interrupted(model, state, task)
    for i in range(scratch.queue_seen[0], n_arrived(model, state)):
        task = arrived_task(model, state, i)
        if state.task_unit[task] == PENDING:
            insert(model, state, view, task, rank)
    scratch.queue_seen[0] = n_arrived(model, state)


def insert(model: Any, state: Any, view: Any, task: int, rank: Rank) -> None:
    """Put a pending task into the heap of its group; in a round, into the queue if it is the group's first."""
    scratch, of = view.scratch, group(model, state, task)
    drop_withdrawn(state, scratch, of)
    scratch.rank[task] = rank(model, state, view, task)
    scratch.root[of] = join(scratch.rank, scratch.left, scratch.right, 1, int(scratch.root[of]), task + 1)
    if scratch.is_open[0] == 1 and scratch.root[of] == task + 1:
        enlist(model, state, view, of)


def drop_withdrawn(state: Any, scratch: Any, of: int) -> None:
    """Let the first of a group's heap be a pending task: those that were withdrawn are still in it."""
    root = int(scratch.root[of])
    while root > 0 and state.task_unit[root - 1] != PENDING:
        root = int(without_root(scratch.rank, scratch.left, scratch.right, 1, root))
    scratch.root[of] = root


def enlist(model: Any, state: Any, view: Any, of: int) -> None:
    """Put the first pending task of a group into the queue."""
    scratch = view.scratch
    drop_withdrawn(state, scratch, of)
    root = int(scratch.root[of])
    scratch.listed[of] = root
    scratch.in_round[of] = scratch.round[0]
    if root > 0:
        queue_push(scratch, root - 1, scratch.rank[root - 1])


def take_out(model: Any, state: Any, view: Any, task: int) -> None:
    """Remove the first task of the queue, which starts; the next of its group takes its place."""
    scratch, of = view.scratch, group(model, state, task)
    queue_pop(scratch)
    scratch.blocked_at[task] = 0
    scratch.root[of] = without_root(scratch.rank, scratch.left, scratch.right, 1, int(scratch.root[of]))
    enlist(model, state, view, of)


def open_round(model: Any, state: Any, view: Any) -> None:
    """Begin to look at the groups with pending tasks."""
    scratch = view.scratch
    scratch.is_open[0] = 1
    scratch.round[0] += 1
    scratch.queue_size[0] = 0
    scratch.n_victims[0] = 0
    scratch.change_us[0] = math.inf
    scratch.is_up_to_date[0] = 0
    task = oldest_pending(model, state)
    while task >= 0:
        enlist(model, state, view, group(model, state, task))
        task = next_pending(model, state, task)


def look_again(model: Any, state: Any, view: Any, preempted: int) -> None:
    """Put groups into the queue again that a quota may have held back until a task of their cohort was preempted."""
    scratch, task, n = view.scratch, oldest_pending(model, state), int(view.scratch.queue_size[0])
    while task >= 0:
        of = group(model, state, task)
        is_out = scratch.in_round[of] != scratch.round[0] or scratch.listed[of] == 0
        if is_out and share_quotas(model, task, preempted):
            enlist(model, state, view, of)
        task = next_pending(model, state, task)
    if scratch.queue_size[0] > n:
        scratch.n_victims[0] = 0  # whoever comes first now may take what they leave


def share_quotas(model: Any, task: int, other: int) -> bool:
    """Whether two tasks are of one partition, or of partitions of one cohort."""
    mine, theirs = model.job_partition[model.task_job[task]], model.job_partition[model.task_job[other]]
    cohort = model.partition_cohort[mine]
    return bool(mine == theirs or (cohort >= 0 and cohort == model.partition_cohort[theirs]))


def never(model: Any, state: Any, view: Any, task: int) -> tuple[float, float]:
    """Say that the rank of a running task does not rise."""
    return math.inf, math.inf
