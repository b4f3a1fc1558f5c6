"""The question to a batch policy: the state of a run as arrays of tasks and units."""

import numpy as np

from vinesim.engine.run import Run
from vinesim.metrics.periods import PeriodAccounts
from vinesim.model.workload import WHOLE_UNIT
from vinesim.policies.contract import BatchPolicy, BatchServers, BatchTasks
from vinesim.state.model import Model

Columns = dict[str, np.ndarray]


class Questions:
    """The questions to one policy in one run."""

    def __init__(self, policy: BatchPolicy, run: Run, model: Model, accounts: PeriodAccounts):
        self._policy, self._run, self._model, self._accounts = policy, run, model, accounts

    def at(self, now_us: float) -> tuple[BatchTasks, BatchServers]:
        """Return what the policy gets now, or would get at a later time if nothing happened until then."""
        columns, chosen = self._run.columns(), self._run.pending()
        load = np.array(self._run.unit_load)
        if self._policy.replaces_running:
            running = self._running(columns)
            chosen = np.concatenate([chosen, running])
            chosen = chosen if self._policy.new_first else np.sort(chosen)
            load[:] = 0.0
        is_running = columns["task_unit"][chosen] >= 0
        return self._tasks(chosen, columns, is_running, now_us), self._servers(load)

    def running(self) -> tuple[BatchTasks, BatchServers, np.ndarray]:
        """Return the running tasks, as if those that began now were still pending, the units, and when the tasks finish
        [M], us."""
        columns, now_us = self._run.columns(), self._run.now_us
        chosen = self._running(columns)
        has_begun = columns["task_init_us"][chosen] < now_us
        tasks, servers = self._tasks(chosen, columns, has_begun, now_us), self._servers(self._run.unit_load)
        return tasks, servers, columns["task_finish_us"][chosen]

    def _running(self, columns: Columns) -> np.ndarray:
        """Return the running tasks, oldest first; with ``new_first`` those placed last come first."""
        found = np.flatnonzero((columns["task_unit"] >= 0) & (columns["task_finish_us"] > self._run.now_us))
        found = found[~self._run.is_due(found)]
        if not self._policy.new_first:
            return found
        return found[np.argsort(-columns["task_init_us"][found], kind="stable")]

    def _tasks(self, chosen: np.ndarray, columns: Columns, has_begun: np.ndarray, now_us: float) -> BatchTasks:
        model, n = self._model, len(chosen)
        group = model.task_group[chosen] if len(model.task_group) else np.zeros(n, np.int32)
        return BatchTasks(
            chosen,
            columns["task_unit"][chosen],
            model.group_task_type[group],
            model.task_operations[chosen],
            model.task_demand[chosen] if len(model.task_demand) else np.full(n, WHOLE_UNIT),
            np.where(has_begun, columns["task_finish_us"][chosen] - now_us, np.nan),
            model.task_times_us[chosen] if len(model.task_times_us) else model.task_times_us,
            model.task_request[chosen] if len(model.task_request) else model.task_request,
        )

    def _servers(self, load: np.ndarray) -> BatchServers:
        model, accounts = self._model, self._accounts
        return BatchServers(
            model.unit_type,
            model.unit_capacity,
            load,
            model.affinity,
            accounts.awake_w,
            accounts.per_demand_w,
            accounts.asleep_w,
            model.overhead_us,
            model.type_resource,
            accounts.period_us,
        )
