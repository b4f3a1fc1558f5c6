"""What the jobs of partitions hold at once, and whether their quotas allow more: compiled. The meaning, for the reader,
is in state/queries.py and engine/reference_quotas.py."""

import numpy as np

from vinesim.state import queries
from vinesim.state.compiled_form import compiled_form_of, with_gangs, with_partitions
from vinesim.state.gang_members import at_step, next_step, unit_of_member
from vinesim.state.kernel import is_partitioned, kernel
from vinesim.state.layout import OVERFULL, PENDING


def _anywhere(model, state, task, unit):
    return True


def _always(model, state, task):
    return True


compiled_form_of(queries.is_in_partition, without=_anywhere, where=is_partitioned)(queries.is_in_partition)
compiled_form_of(queries.counted_amount, inline=False)(queries.counted_amount)


def _with_one(model, state, so_far, task, unit, counted):
    return so_far + queries.counted_amount(model, state, task, unit, counted)


@with_gangs(without=_with_one, inline=False)
def _with_all(model, state, so_far, task, unit, counted):
    """Add what a task would hold of some types on the unit, and its gang in the place that was found last."""
    if model.job_gang[model.task_job[task]] == 0 or state.task_unit[task] != PENDING:
        return _with_one_kernel(model, state, so_far, task, unit, counted)
    so_far += queries.counted_amount(model, state, task, unit_of_member(model, state, task), counted)
    step = next_step(model, state, task, -1)
    while step >= 0:
        member = at_step(model, task, step)
        so_far += queries.counted_amount(model, state, member, unit_of_member(model, state, member), counted)
        step = next_step(model, state, task, step)
    return so_far


_with_one_kernel = kernel(_with_one)


def _least_of_one(model, state, so_far, task, counted):
    return so_far + model.kind_least[queries.task_type(model, state, task), counted]


@with_gangs(without=_least_of_one, inline=False)
def _least_of_all(model, state, so_far, task, counted):
    """Add the least that a pending task and its gang hold of some types."""
    so_far += model.kind_least[queries.task_type(model, state, task), counted]
    if model.job_gang[model.task_job[task]] == 0:
        return so_far
    step = next_step(model, state, task, -1)
    while step >= 0:
        so_far += model.kind_least[queries.task_type(model, state, at_step(model, task, step)), counted]
        step = next_step(model, state, task, step)
    return so_far


@compiled_form_of(queries.quotas_allow, inline=False, without=_anywhere, where=is_partitioned)
def quotas_allow(model, state, task, unit):
    account = model.job_account[model.task_job[task]]
    if account < 0:
        return True
    for i in range(model.account_first[account], model.account_first[account + 1]):
        quota = np.int64(model.account_quota[i])
        held = _with_all(model, state, state.quota_held[quota], task, unit, model.quota_counts[quota])
        if held > model.quota_limit[quota] * OVERFULL:
            return False
    return True


@compiled_form_of(queries.is_within_quotas, inline=False, without=_always, where=is_partitioned)
def is_within_quotas(model, state, task):
    account = model.job_account[model.task_job[task]]
    if account < 0:
        return True
    for i in range(model.account_first[account], model.account_first[account + 1]):
        quota = np.int64(model.account_quota[i])
        held = _least_of_all(model, state, state.quota_held[quota], task, model.quota_counts[quota])
        if held > model.quota_limit[quota] * OVERFULL:
            return False
    return True


def _counts_nothing(model, state, task, unit, sign):
    pass


@with_partitions(without=_counts_nothing, inline=False)
def count_held(model, state, task, unit, sign):
    """Count what a task that starts on a unit, 1, or leaves it, -1, holds against its quotas."""
    account = model.job_account[model.task_job[task]]
    if account >= 0:
        for i in range(model.account_first[account], model.account_first[account + 1]):
            quota = np.int64(model.account_quota[i])
            state.quota_tasks[quota] += sign
            amount = queries.counted_amount(model, state, task, unit, model.quota_counts[quota])
            held = state.quota_held[quota] + sign * amount
            state.quota_held[quota] = held if state.quota_tasks[quota] > 0 else 0.0


def _has_any(model, state):
    return True


@with_partitions(without=_has_any, inline=False)
def has_task_within_quotas(model, state):
    """Whether the quotas leave room for a pending task, so that the policy is asked."""
    return queries.oldest_pending(model, state) >= 0
