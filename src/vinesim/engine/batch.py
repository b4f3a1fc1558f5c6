"""BATCH events: ask a batch policy to place what is pending, and start it."""

import math
from typing import Any

import numpy as np

from vinesim.engine import contract
from vinesim.engine.contract import RULES, BrokenContract, asked
from vinesim.model.errors import InputError, PolicyError, Problem
from vinesim.policies.contract import BatchPolicy, BatchServers, BatchTasks
from vinesim.state.layout import OVERFULL, Model


class BatchClock:
    """The periods of one run: when the next one is, what happens then, and what is noted of it."""

    def __init__(self, policy: BatchPolicy, run: Any, model: Model):
        if not 0 < policy.period_us < math.inf:
            raise InputError([Problem("policy.options.period_us", "a time above 0", f"{policy.period_us}")])
        self.policy, self.run, self.model = policy, run, model
        self.period = 0
        self.rows: list[tuple[int, int, float, float]] = []

    @property
    def next_us(self) -> float:
        return self.period * self.policy.period_us

    def tick(self) -> bool:
        """Place the tasks of one period. Returns False when nothing can ever happen again: nothing was started,
        nothing runs, and no job is to come."""
        run, model = self.run, self.model
        run.set_clock(self.next_us)
        tasks, servers = self._question()
        placed = np.asarray(asked(self.policy.place, self.policy.place, tasks, servers))
        if placed.shape != tasks.task.shape or placed.dtype.kind not in "iu":
            name = self.policy.name or type(self.policy).__name__
            raise PolicyError(
                f"policy {name}.place: {RULES[-1]}; expected {len(tasks.task)} whole numbers, "
                f"returned {placed.dtype} of shape {placed.shape}"
            )
        self._move(tasks, placed)
        new = (tasks.unit < 0) & (placed >= 0)
        for task, unit in zip(tasks.task[new].tolist(), placed[new].tolist(), strict=True):
            run.start(task, unit)
        started = bool(new.any())
        load = run.unit_load
        over = float(np.maximum(0.0, load - model.unit_capacity).sum())
        self.rows.append((self.period, int((load > 0).sum()), float("nan"), over))
        self.period += 1
        columns = run.columns()
        is_running = (columns["task_unit"] >= 0) & (columns["task_finish_us"] > run.now_us)
        to_come = model.job_arrival_us[-1] > run.now_us
        return bool(started or is_running.any() or to_come)

    def _move(self, tasks: BatchTasks, placed: np.ndarray) -> None:
        """Move running tasks, all before the first start; only the loads after all moves must be legal."""
        model = self.model
        shared = model.unit_parallelism < model.unit_capacity
        moved = np.flatnonzero((tasks.unit >= 0) & (placed >= 0) & (placed != tasks.unit))
        for i in moved.tolist():
            task, old, unit = int(tasks.task[i]), int(tasks.unit[i]), int(placed[i])
            if unit >= len(model.unit_type):
                raise BrokenContract(contract.UNKNOWN_UNIT, task, unit)
            if model.affinity[model.unit_type[unit], tasks.task_type[i]] <= 0:
                raise BrokenContract(contract.CANNOT_RUN, task, unit)
            if shared[old] or shared[unit]:
                raise BrokenContract(contract.SHARES_SPEED, task, unit)
            self.run.move(task, unit)
        over = self.run.unit_load > model.unit_capacity * OVERFULL
        for i in moved.tolist():
            if over[placed[i]] and not self.policy.may_overcommit:
                raise BrokenContract(contract.NO_ROOM, int(tasks.task[i]), int(placed[i]))

    def _question(self) -> tuple[BatchTasks, BatchServers]:
        run, model = self.run, self.model
        columns = run.columns()
        chosen = run.pending()
        if self.policy.replaces_running:
            running = (columns["task_unit"] >= 0) & (columns["task_finish_us"] > run.now_us)
            chosen = np.sort(np.concatenate([np.flatnonzero(running), chosen]))
        group = model.task_group[chosen] if len(model.task_group) else np.zeros(len(chosen), np.int32)
        demand = model.task_demand[chosen] if len(model.task_demand) else np.zeros(len(chosen))
        unit = columns["task_unit"][chosen]
        load = np.zeros(len(model.unit_type)) if self.policy.replaces_running else np.array(run.unit_load)
        return (
            BatchTasks(
                chosen,
                unit,
                model.group_task_type[group],
                model.task_operations[chosen],
                demand,
                np.where(unit >= 0, columns["task_finish_us"][chosen] - run.now_us, np.nan),
            ),
            BatchServers(model.unit_type, model.unit_capacity, load, model.affinity),
        )

    def table(self) -> dict[str, np.ndarray]:
        """The columns of the table ``periods``."""
        period, active, energy, slav = zip(*self.rows, strict=True) if self.rows else ((), (), (), ())
        return {
            "period": np.array(period, np.int64),
            "active": np.array(active, np.int64),
            "energy_j": np.array(energy, np.float64),
            "slav": np.array(slav, np.float64),
        }
