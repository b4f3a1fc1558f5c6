"""What can run short beyond a node in the reference engine: the meaning of core/pools.py, in plain Python.

Quotas count what the running tasks of their accounts hold; power caps limit what the units of a rack, and of the
datacenter, draw.
"""

from collections.abc import Iterator
from typing import Any

from vinesim.engine.reference_trial import attached_to
from vinesim.state import queries
from vinesim.state.layout import OVERFULL
from vinesim.state.power import draw_of, level_of


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


class Draws:
    """What is held of each unit, as levels; the draw of a rack is added up each time."""

    def __init__(self, state: Any):
        self.state, self.model = state, state.model
        self.on: list[list[int]] = [[] for _ in state.model.unit_type]  # by unit, of each task that holds any of it
        self.peaks_mw = [self.draw_mw(pool) for pool in range(len(self.model.cap_mw))]

    def note_peaks(self) -> None:
        """Note what racks draw as a task has started."""
        self.peaks_mw = [max(peak, self.draw_mw(pool)) for pool, peak in enumerate(self.peaks_mw)]

    def copied(self) -> list[list[int]]:
        """What is held now, to be put back."""
        return [list(levels) for levels in self.on] if len(self.model.cap_mw) else self.on

    def hold(self, task: int, unit: int, amount: float) -> None:
        """Let a task hold an amount of a unit."""
        if len(self.model.cap_mw):
            self.on[unit].append(self._level(task, unit, amount))

    def release(self, task: int, unit: int, amount: float) -> None:
        """Let a task hold it no more."""
        if len(self.model.cap_mw):
            self.on[unit].remove(self._level(task, unit, amount))

    def are_kept(self) -> bool:
        """Whether no rack draws more than its cap, nor the datacenter."""
        return all(self.draw_mw(pool) <= cap for pool, cap in enumerate(self.model.cap_mw.tolist()))

    def draw_mw(self, pool: int) -> int:
        """What the units of a rack draw; of the datacenter after the last rack."""
        return sum(int(draw_of(self.model, u, len(self.on[u]) > 0, sum(self.on[u]))) for u in self._units(pool))

    def allow(self, task: int, unit: int) -> bool:
        """Whether the caps are kept if a task starts on a unit, where there is room for all that it holds."""
        if not len(self.model.cap_mw):
            return True
        with self.state.trial():
            self.state.hold_all(task, unit)
            return self.are_kept()

    def _level(self, task: int, unit: int, amount: float) -> int:
        return int(level_of(self.model, queries.task_type(self.model, self.state, task), unit, amount))

    def _units(self, pool: int) -> Iterator[int]:
        model, is_all = self.model, pool == len(self.model.cap_mw) - 1
        return (u for u in range(len(self.on)) if is_all or model.node_rack[model.unit_node[u]] == pool)
