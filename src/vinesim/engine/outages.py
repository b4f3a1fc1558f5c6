"""Outages: nodes go down and come up between the events of the loop."""

import math
from collections import defaultdict

import numpy as np

from vinesim.engine.outcome import held_of
from vinesim.engine.run import Run
from vinesim.model.errors import InputError, Problem
from vinesim.model.outage import Outage, units_of
from vinesim.model.result import Held, Lost
from vinesim.model.scenario import Scenario
from vinesim.policies.contract import OnlinePolicy, Policy, title_of
from vinesim.state.layout import Model


class OutageClock:
    """The outages of one run: when the next one begins or ends, what it does, and what was lost."""

    def __init__(self, run: Run, model: Model, scenario: Scenario):
        self.run = run
        rack, shelf = model.node_rack[model.unit_node], model.node_shelf[model.unit_node]
        self._units = {outage: units_of(outage, rack, shelf) for outage in scenario.outages}
        self._ends: dict[float, list[Outage]] = defaultdict(list)
        self._begins: dict[float, list[Outage]] = defaultdict(list)
        for outage in scenario.outages:
            self._begins[outage.down_us].append(outage)
            if outage.up_us < math.inf:
                self._ends[outage.up_us].append(outage)
        self._times = sorted({*self._begins, *self._ends})
        self._n_done = 0
        self._lost: list[Lost] = []
        self._model = model
        self._held: list[Held] = []

    @property
    def next_us(self) -> float:
        """Return when the next outage begins or ends; infinite if none does."""
        return self._times[self._n_done] if self._n_done < len(self._times) else math.inf

    def tick(self) -> None:
        """Bring nodes up, then take nodes down; then the policy must be asked."""
        time_us = self.next_us
        for outage in self._ends[time_us]:
            self.run.open(self._units[outage])
        begun = self._begins[time_us]
        for outage in begun:
            self.run.close(self._units[outage])
        requeued = [self._units[outage] for outage in begun if outage.running == "requeue"]
        self._interrupt(np.concatenate(requeued) if requeued else np.empty(0, np.int64), time_us)
        self.run.ask_after_outage()
        self._n_done += 1

    def _interrupt(self, units: np.ndarray, time_us: float) -> None:
        """Make what runs on the units pending again, and record it as lost."""
        columns = self.run.columns()
        unit = columns["task_unit"]
        tasks = np.flatnonzero(np.isin(unit, units) & (unit >= 0) & (columns["task_finish_us"] > time_us))
        is_follower = np.isin(tasks, self.run.followers())
        if len(tasks):
            start_us = columns["task_start_us"][tasks]
            end_us = np.full(len(tasks), time_us)
            self._note_held(tasks)
            self._lost.append(
                Lost(tasks, unit[tasks], columns["task_init_us"][tasks], start_us.copy(), end_us, is_follower)
            )
        self.run.interrupt(tasks, is_follower)

    def _note_held(self, tasks: np.ndarray) -> None:
        """Record what the tasks hold beside their own units, as rows of what is about to be lost."""
        if len(self._model.kind_units) == 0:
            return
        held, first = held_of(self._model, self.run), sum(len(lost.task) for lost in self._lost)
        mine = np.isin(held.row, tasks)
        row = first + np.searchsorted(tasks, held.row[mine])
        self._held.append(Held(row, held.unit[mine], held.amount[mine]))

    def lost_held(self) -> Held | None:
        """Return what the lost runs of tasks held beside their own units; None where no task holds several."""
        return Held(*map(np.concatenate, zip(*self._held, strict=True))) if self._held else None

    def lost(self) -> Lost:
        """Return all lost runs of tasks, in the order in which they were lost."""
        if not self._lost:
            nothing = np.empty(0)
            whole = np.empty(0, np.int64)
            return Lost(whole, whole.astype(np.int32), nothing, nothing, nothing, np.empty(0, bool))
        return Lost(*map(np.concatenate, zip(*self._lost, strict=True)))


def check_policy(scenario: Scenario, policy: Policy) -> None:
    """Raise :class:`InputError` for a policy that does not support outages."""
    name = title_of(policy)
    if not isinstance(policy, OnlinePolicy):
        raise InputError([Problem("outages", f"an online policy; {name} is a batch policy", "outages")])
    if policy.plans:
        raise InputError([Problem("outages", f"none; {name} plans before the run", "outages")])
    if not policy.can_requeue and any(outage.running == "requeue" for outage in scenario.outages):
        expected = f"outages with running: finish; {name} keeps tasks in its scratch and does not take them back"
        remedy = "Or choose another policy. A policy of one's own declares keeps_tasks and takes_back."
        raise InputError([Problem("outages", expected, "requeue", remedy)])
