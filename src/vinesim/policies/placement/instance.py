"""A question to a batch policy as the placement kernels take it: servers by type, tasks with a time on each type."""

from dataclasses import dataclass, replace

import numpy as np

from vinesim.policies.contract import BatchServers, BatchTasks
from vinesim.policies.placement.costs import cost_table
from vinesim.state.layout import OVERFULL


@dataclass(frozen=True, eq=False)
class Instance:
    """M tasks and U servers of P types, those in use only."""

    tasks: BatchTasks
    servers: BatchServers
    kind: np.ndarray  # [U] uint32: type of each server, 0 to P - 1
    codes: np.ndarray  # [P] int64: the processor type of each
    capacity: np.ndarray  # [P] float64
    load: np.ndarray  # [U] float64: the kernels bring it up to date

    @classmethod
    def of(cls, tasks: BatchTasks, servers: BatchServers) -> "Instance":
        """The instance of a question; the arrays of the question stay as they are."""
        n_codes = len(servers.affinity)
        present = np.bincount(servers.unit_type, minlength=n_codes) > 0
        codes = np.flatnonzero(present)
        kind = (np.cumsum(present) - 1).astype(np.uint32)[servers.unit_type]
        capacity = np.zeros(n_codes)
        capacity[servers.unit_type] = servers.capacity
        return cls(tasks, servers, kind, codes, capacity[codes], np.array(servers.load, np.float64))

    def part(self, tasks: slice, servers: slice) -> "Instance":
        """Some of the tasks and some of the servers, with a load of its own."""
        few = self.servers._replace(
            unit_type=self.servers.unit_type[servers],
            capacity=self.servers.capacity[servers],
            load=self.load[servers],
        )
        return Instance.of(self.tasks_of(tasks), few)

    def tasks_of(self, rows: slice | np.ndarray) -> BatchTasks:
        """Some of the tasks."""
        return BatchTasks(*(column[rows] if len(column) else column for column in self.tasks))

    def in_order(self, order: np.ndarray) -> "Instance":
        """The same with its tasks in another order."""
        return replace(self, tasks=self.tasks_of(order))

    @property
    def n_tasks(self) -> int:
        """M."""
        return len(self.tasks.task)

    @property
    def n_types(self) -> int:
        """P."""
        return len(self.codes)

    @property
    def limit(self) -> np.ndarray:
        """[P]: what a load may reach."""
        return self.capacity * OVERFULL

    def able(self) -> np.ndarray:
        """[M, P] bool: whether a server of the type can run the task."""
        return (self.servers.affinity.T > 0)[:, self.codes][self.tasks.task_type]

    def times_us(self, rows: slice = slice(None)) -> np.ndarray:
        """[M, P]: how long a task takes on each type from now on, us; infinite where it cannot run."""
        kinds, remaining = self.tasks.task_type[rows], self.tasks.remaining_us[rows]
        speed = np.ascontiguousarray(self.servers.affinity.T[:, self.codes])
        with np.errstate(divide="ignore", invalid="ignore"):
            if len(self.tasks.measured_us):
                alone = self.tasks.measured_us[rows][:, self.codes]
            elif len(speed) == 1:
                alone = self.tasks.operations[rows, None] / speed
            else:
                alone = self.tasks.operations[rows, None] / speed[kinds]
        is_pending = np.isnan(remaining)
        if is_pending.all():
            time = np.broadcast_to(alone, (len(kinds), self.n_types))
        else:
            time = np.where(is_pending[:, None], alone, remaining[:, None])
        if not (speed > 0).all():
            time = np.where((speed > 0)[kinds], time, np.inf)
        return time

    def costs(self, variant: str, penalty: float, period_us: float, rows: slice = slice(None)) -> np.ndarray:
        """[M, P, 4]: what each task costs on each type of server in each state, in the same order as ``costs`` says."""
        demand = self.tasks.demand[rows, None]
        demand = np.where(demand > 0, demand, self.capacity) if not (demand > 0).all() else demand
        powers = (self.servers.idle_power_w, self.servers.dynamic_power_w, self.servers.sleep_power_w)
        awake, per_demand, asleep = (power[self.codes] for power in powers)
        return cost_table(variant, demand, self.times_us(rows), awake, per_demand, asleep, period_us, penalty)
