"""Pools: what can run short and is not at a node. These are quotas: limits on what the tasks of their accounts hold at
once, extended by what the quotas of the same cohort lend them.

Power caps go by the place of a unit instead, so the ledger keeps what they count: core/ledger.py.
"""

import numpy as np

from vinesim.core import gang_members
from vinesim.core.features import GANGS, QUOTAS, called
from vinesim.core.tasks import is_of_gang, next_member, task_type
from vinesim.state import queries
from vinesim.state.layout import OVERFULL, PENDING

ANY = -1  # as a unit


def account_of(model, task):
    """The account of a task's job; -1: it counts against no quota."""
    return np.int64(model.job_account[model.task_job[task]]) if model.job_account.shape[0] > 0 else np.int64(-1)


def quotas_allow(model, state, task, unit):
    return allow(model, state, task, unit) if QUOTAS else True


def is_within_quotas(model, state, task):
    return allow(model, state, task, ANY) if QUOTAS else True


@called
def allow(model, state, task, unit):
    """Whether the quotas leave room for what a task, or its gang in the place that was found last, would hold; on ANY
    unit, for the least that they could hold."""
    account = account_of(model, task)
    if account < 0:
        return True
    is_gang = GANGS and is_of_gang(model, task) and (unit == ANY or state.task_unit[task] == PENDING)
    for i in range(model.account_first[account], model.account_first[account + 1]):
        quota = np.int64(model.account_quota[i])
        counted, held = np.int64(model.quota_counts[quota]), state.quota_held[quota]
        member, step = np.int64(task), np.int64(-1)
        while member >= 0:
            if unit == ANY:
                held += model.class_least[task_type(model, state, member), counted]
            else:
                own = gang_members.unit_of(model, state, member) if is_gang else np.int64(unit)
                held += queries.counted_amount(model, state, member, own, counted)
            member, step = next_member(model, state, task, step) if is_gang else (np.int64(-1), step)
        if not may_hold(model, state, quota, held):
            return False
    return True


def may_hold(model, state, quota, held):
    """Whether a quota and its cohort allow that its tasks hold an amount."""
    if held > model.quota_limit[quota] * OVERFULL:
        return False
    cohort = np.int64(model.quota_cohort[quota])
    return cohort < 0 or held <= model.quota_kept[quota] * OVERFULL or lends(model, state, cohort, quota, held)


@called
def lends(model, state, cohort, quota, held):
    """Whether a cohort lends one of its quotas what its tasks hold above what it keeps, with what it lends others."""
    lent = held - model.quota_kept[quota]
    for i in range(model.cohort_first[cohort], model.cohort_first[cohort + 1]):
        other = np.int64(model.cohort_quota[i])
        if other != quota:
            lent += max(0.0, state.quota_held[other] - model.quota_kept[other])
    return lent <= model.cohort_lent[cohort] * OVERFULL


@called
def count(model, state, task, unit, sign):
    """Count what a task holds when it starts (1) or leaves (-1)."""
    account = account_of(model, task)
    if account >= 0:
        for i in range(model.account_first[account], model.account_first[account + 1]):
            quota = np.int64(model.account_quota[i])
            state.quota_tasks[quota] += sign
            amount = queries.counted_amount(model, state, task, unit, np.int64(model.quota_counts[quota]))
            held = state.quota_held[quota] + sign * amount
            state.quota_held[quota] = held if state.quota_tasks[quota] > 0 else 0.0


# What is supposed


def note_held(state):
    """Note what is held of the quotas; the next ``as_noted`` puts it back."""
    for quota in range(state.quota_held.shape[0]):
        state.quota_noted[quota], state.quota_noted_tasks[quota] = state.quota_held[quota], state.quota_tasks[quota]


def as_noted(state):
    for quota in range(state.quota_held.shape[0]):
        state.quota_held[quota], state.quota_tasks[quota] = state.quota_noted[quota], state.quota_noted_tasks[quota]
