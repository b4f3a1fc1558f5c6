"""Which pending tasks start as one, consolidated: the chain of those behind the first. Compiled."""

import numpy as np

from vinesim.model.workload import NO_GANG
from vinesim.state import queries
from vinesim.state.compiled_form import compiled_form_of, with_gangs
from vinesim.state.gang_members import next_member
from vinesim.state.kernel import has_gangs, kernel


def _most_of_group(model, state, task, most):
    return min(np.int64(most), np.int64(queries.group_size(model, state, task)))


@compiled_form_of(queries.joinable, inline=False, without=_most_of_group, where=has_gangs)
def joinable(model, state, task, most):
    n = min(np.int64(most), np.int64(queries.group_size(model, state, task)))
    if model.job_gang[model.task_job[task]] == NO_GANG or state.task_left.shape[0] == 0:
        return n  # no task of a gang that has begun is ever pending again
    found, other = np.int64(0), np.int64(task)
    while found < n and _are_left_alike(model, state, task, other):
        found, other = found + 1, queries.following(model, state, other)
    return found


@kernel
def _are_left_alike(model, state, task, other):
    """Whether the same tasks of two gangs, by their place in the job, are yet to start."""
    apart, member, like = other - task, np.int64(task), np.int64(other)
    if _place_in_job(model, task) != _place_in_job(model, other):
        return False
    while member >= 0 and like == member + apart:
        member, like = next_member(model, state, member), next_member(model, state, like)
    return member < 0 and like < 0


@kernel
def _place_in_job(model, task):
    return task - model.job_first[model.task_job[task]]


def _link_one(model, state, task, n_tasks):
    last = np.int64(task)
    for _ in range(n_tasks - 1):
        follower = queries.following(model, state, last)
        state.task_follower[last] = follower
        last = follower


@with_gangs(without=_link_one)
def link(model, state, task, n_tasks):
    """Chain the n_tasks - 1 pending tasks that follow a task in its group behind it; and those that are attached to
    them behind the ones that are attached to it, in the same place of their jobs."""
    last = np.int64(task)
    for _ in range(n_tasks - 1):
        follower = queries.following(model, state, last)
        state.task_follower[last] = follower
        if model.job_gang[model.task_job[task]] != NO_GANG:
            member = next_member(model, state, last)
            while member >= 0:
                state.task_follower[member] = member + follower - last
                member = next_member(model, state, member)
        last = follower
