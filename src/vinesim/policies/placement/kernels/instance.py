"""A question to a batch policy in the form for the placement kernels: servers by type, tasks with a time on each
type."""

from dataclasses import dataclass

import numpy as np

from vinesim.policies.contract import BatchServers, BatchTasks
from vinesim.policies.placement.kernels.costs import cost_table
from vinesim.state.demand import amounts
from vinesim.state.layout import OVERFULL


@dataclass(frozen=True, eq=False)
class Instance:
    """M tasks and U servers of P types, counting only types in use."""

    tasks: BatchTasks
    servers: BatchServers
    kind: np.ndarray  # [U] uint32: type of each server, 0 to P - 1
    codes: np.ndarray  # [P] int64: the processor type of each
    capacity: np.ndarray  # [P] float64
    load: np.ndarray  # [U] float64: updated by the kernels

    @classmethod
    def of(cls, tasks: BatchTasks, servers: BatchServers) -> "Instance":
        """Build the instance of a question; the arrays of the question are not changed."""
        n_codes = len(servers.affinity)
        present = np.bincount(servers.unit_type, minlength=n_codes) > 0
        codes = np.flatnonzero(present)
        kind = (np.cumsum(present) - 1).astype(np.uint32)[servers.unit_type]
        capacity = np.zeros(n_codes)
        capacity[servers.unit_type] = servers.capacity
        return cls(tasks, servers, kind, codes, capacity[codes], np.array(servers.load, np.float64))

    def part(self, tasks: slice, servers: slice) -> "Instance":
        """Return some of the tasks and some of the servers, with its own load."""
        few = self.servers._replace(
            unit_type=self.servers.unit_type[servers],
            capacity=self.servers.capacity[servers],
            load=self.load[servers],
        )
        return Instance.of(self.tasks.rows(tasks), few)

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
        """[P]: the highest load allowed."""
        return self.capacity * OVERFULL

    def able(self) -> np.ndarray:
        """[M, P] bool: whether a server of the type can run the task."""
        return self.servers.can_run(self.tasks, self.codes)

    def times_us(self, rows: slice = slice(None)) -> np.ndarray:
        """[M, P]: how long a task takes on each type from now on, us; infinite if it cannot run."""
        return self.servers.time_us(self.tasks.rows(rows), self.codes)

    def costs(self, variant: str, penalty: float, period_us: float, rows: slice = slice(None)) -> np.ndarray:
        """[M, P, 4]: the cost of each task on each type of server in each state, in the order of ``costs``."""
        demand = amounts(self.tasks.demand[rows, None], self.capacity)
        powers = (self.servers.idle_power_w, self.servers.dynamic_power_w, self.servers.sleep_power_w)
        awake, per_demand, asleep = (power[self.codes] for power in powers)
        return cost_table(variant, demand, self.times_us(rows), awake, per_demand, asleep, period_us, penalty)
