"""What the jobs of partitions hold at once in the reference engine: the meaning of core/pools.py, in plain Python."""

from collections.abc import Iterator
from typing import Any

from vinesim.engine.reference_gangs import attached_to
from vinesim.state import queries
from vinesim.state.layout import OVERFULL


class HeldQuotas:
    """What the running tasks hold of each quota."""

    def __init__(self, state: Any):
        self.state, self.model = state, state.model
        n = len(state.model.quota_limit)
        self.held, self.n_tasks = [0.0] * n, [0] * n

    def copied(self) -> tuple[list[float], list[int]]:
        """What is held, for a trial that changes it."""
        return list(self.held), list(self.n_tasks)

    def of(self, task: int) -> Iterator[int]:
        """The quotas against which a task counts."""
        model = self.model
        account = model.job_account[model.task_job[task]] if len(model.job_account) else -1
        if account >= 0:
            yield from model.account_quota[model.account_first[account] : model.account_first[account + 1]].tolist()

    def count(self, task: int, unit: int, sign: int) -> None:
        """Count a task that starts on a unit, 1, or leaves it, -1."""
        for quota in self.of(task):
            self.n_tasks[quota] += sign
            amount = queries.counted_amount(self.model, self.state, task, unit, self.model.quota_counts[quota])
            self.held[quota] = self.held[quota] + sign * amount if self.n_tasks[quota] else 0.0

    def allow(self, task: int, unit: int) -> bool:
        """Whether they leave room for a task on a unit, with those that are attached to it where they fit."""
        return all(self._allows(quota, task, unit) for quota in self.of(task))

    def _allows(self, quota: int, task: int, unit: int) -> bool:
        held, counted = self.held[quota], self.model.quota_counts[quota]
        units = self.state.place_of(task, unit)
        members = [task, *attached_to(self.state, task)] if len(units) > 1 else [task]
        for member, own in zip(members, units, strict=True):
            held += queries.counted_amount(self.model, self.state, member, own, counted)
        return self.may_hold(quota, held)

    def may_hold(self, quota: int, held: float) -> bool:
        """Whether a quota and its cohort allow that its tasks hold an amount."""
        model, cohort = self.model, int(self.model.quota_cohort[quota])
        if held > model.quota_limit[quota] * OVERFULL:
            return False
        if cohort < 0 or held <= model.quota_kept[quota] * OVERFULL:
            return True
        lent = held - model.quota_kept[quota]
        for other in model.cohort_quota[model.cohort_first[cohort] : model.cohort_first[cohort + 1]].tolist():
            if other != quota:
                lent += max(0.0, self.held[other] - model.quota_kept[other])
        return bool(lent <= model.cohort_lent[cohort] * OVERFULL)

    def leave_room(self, task: int) -> bool:
        """Whether they leave room for the least that a pending task and those attached to it could hold."""
        return all(self._leaves_room(quota, task) for quota in self.of(task))

    def _leaves_room(self, quota: int, task: int) -> bool:
        held, model = self.held[quota], self.model
        for member in [task, *attached_to(self.state, task)]:
            held += model.class_least[self.state.task_type_of(member), model.quota_counts[quota]]
        return self.may_hold(quota, held)
