"""PERIOD events: call a batch policy to place the pending tasks, start them, and record those that it moved."""

import math

import numpy as np

from vinesim.engine.contract import call_policy
from vinesim.engine.run import Run
from vinesim.metrics.periods import PeriodAccounts
from vinesim.model.errors import InputError, PolicyError, Problem
from vinesim.model.result import MOVED, EarlyEnds
from vinesim.model.scenario import Scenario
from vinesim.model.time import FOREVER_US
from vinesim.policies.contract import BatchPolicy, BatchServers, BatchTasks, title_of
from vinesim.state.clock import stuck_period
from vinesim.state.layout import RULES
from vinesim.state.model import Model, classes_of_tasks, demands_of_tasks

MAX_PERIODS = 10_000_000  # from one event to the next, if each must be processed

Columns = dict[str, np.ndarray]


class PeriodClock:
    """The periods of one run: when the next one is, what it does, and what is recorded of it."""

    def __init__(self, policy: BatchPolicy, run: Run, model: Model, scenario: Scenario):
        self.policy, self.run, self.model = policy, run, model
        self.period_us, self.horizon_us = scenario.period_us, scenario.horizon_us
        self.accounts = PeriodAccounts(scenario, model.unit_type)
        self.questions = Questions(policy, run, model, self.accounts)
        self.period = 0
        self._check_clock(min(scenario.workload.arrival_us[-1], scenario.horizon_us))
        self.moves = Moves(scenario.workload.n_tasks) if policy.replaces_running else None

    @property
    def next_us(self) -> float:
        return self.period * self.period_us

    def tick(self) -> bool:
        """Place the tasks of one period, and count the following periods in which nothing can change. Returns False if
        nothing can ever happen again: nothing was started, nothing runs, and no more jobs will arrive."""
        run = self.run
        run.set_clock(self.next_us)
        tasks, servers = self.questions.at(run.now_us)
        placed = self._answer(tasks, servers)
        moved = (tasks.unit >= 0) & (placed >= 0) & (placed != tasks.unit)
        run.place(tasks.task, placed.astype(np.int64), moved)
        if self.moves is not None and moved.any():
            columns, gone = run.columns(), tasks.task[moved]
            init_us, start_us = columns["task_init_us"][gone], columns["task_start_us"][gone]
            self.moves.add(gone, tasks.unit[moved], init_us, start_us, run.now_us)
        is_left, is_placed = (tasks.unit < 0) & (placed < 0), (tasks.unit < 0) & (placed >= 0)
        finish_us = self._note(tasks.unit[moved], int(is_placed.sum()))
        next_us = min(finish_us, self._next_arrival_us())
        if next_us < math.inf:
            asks_again = bool(is_left.any() or (self.policy.replaces_running and finish_us < math.inf))
            n = self._periods_until(min(next_us, self.horizon_us), asks_again)
            if n > 0 and not is_placed.any() and not moved.any():
                n = self._unmoved(n) if asks_again else n
                self.accounts.repeat(n)
                self.period += n
        self.period += 1
        return bool(is_placed.any() or next_us < math.inf)

    def _answer(self, tasks: BatchTasks, servers: BatchServers) -> np.ndarray:
        """Return the policy's answer, after checking its type and shape."""
        placed = np.asarray(call_policy(self.policy.place, self.policy.place, tasks, servers))
        name, wrong = title_of(self.policy), ""
        if placed.shape != tasks.task.shape or placed.dtype.kind not in "iu":
            wrong = f"expected {len(tasks.task)} whole numbers, returned {placed.dtype} of shape {placed.shape}"
        elif placed.min(initial=-1) < -1:
            wrong = f"returned {placed.min()}"
        if wrong:
            raise PolicyError(f"policy {name}.place: {RULES[-1]}; {wrong}")
        return placed

    def _next_arrival_us(self) -> float:
        arrival_us = self.model.job_arrival_us
        later = np.searchsorted(arrival_us, self.run.now_us, "right")
        return float(arrival_us[later]) if later < len(arrival_us) else math.inf

    def _periods_until(self, until_us: float, asks_again: bool) -> int:
        """Return how many periods after this one end before the next event and need not be processed one by one.

        0 if they must be processed: because the policy would be called for tasks and may move them at any time, or
        because each period takes another energy. Raises :class:`InputError` if they are then too many.
        """
        period_us, is_steady = self.period_us, self.policy.steady or not asks_again
        self._check_clock(until_us)
        n = int((until_us - self.run.now_us) / period_us)
        while n > 0 and until_us - (self.period + n) * period_us < period_us:
            n -= 1
        if is_steady and self.accounts.can_repeat:
            return n
        if n > MAX_PERIODS:
            name, found = title_of(self.policy), f"{period_us:g} us: {n:,} of them"
            why = "for the accounting eq2" if is_steady else f"because {name} is not steady"
            expected = f"at most {MAX_PERIODS:,} periods from one event to the next, {why}"
            raise InputError([Problem(("period_us",), expected, found)])
        return 0

    def _unmoved(self, n: int) -> int:
        """Return how many of the next n periods leave all tasks where they are, found by bisection: the policy is
        steady, so what holds now and later holds in between."""

        def moves_nothing(ahead: int) -> bool:
            tasks, servers = self.questions.at((self.period + ahead) * self.period_us)
            placed = self._answer(tasks, servers)
            return bool(((placed == tasks.unit) | (placed < 0)).all())

        if moves_nothing(n):
            return n
        low, high = 0, 1
        while high < n and moves_nothing(high):
            low, high = high, 2 * high
        high = min(high, n)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if moves_nothing(middle) else (low, middle)
        return low

    def _check_clock(self, time_us: float) -> None:
        """Raise :class:`InputError` if a period does not advance the clock from that time."""
        if problems := stuck_period(self.period_us, time_us):
            raise InputError(problems)

    def _note(self, moved_from: np.ndarray, n_placed: int) -> float:
        """Add the period to the accounts. Returns when the first running task finishes, infinite if none runs."""
        now, codes = self.run.now_us, self.accounts.codes
        tasks, servers, finish_us = self.questions.running()
        has_begun, remaining = ~np.isnan(tasks.remaining_us), np.minimum(finish_us - now, FOREVER_US)
        own = np.searchsorted(codes, self.model.unit_type[tasks.unit])

        def elsewhere(rows: slice) -> np.ndarray:
            """Return the time [c, types in use] on each type; a task that began now takes another time on another
            type."""
            some = tasks.rows(rows)
            time = servers.time_us(some, codes)
            if len(self.model.task_factor):
                factor = np.where(has_begun[rows], 1.0, self.model.task_factor[some.task])
                time = np.where(time < FOREVER_US, time * factor[:, None], time)
            time[np.arange(len(time)), own[rows]] = remaining[rows]
            return time

        self.accounts.add(tasks.unit, tasks.demand, remaining, elsewhere, moved_from, n_placed)
        return float(finish_us.min(initial=math.inf))


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
        model = self._model
        return BatchTasks(
            chosen,
            columns["task_unit"][chosen],
            classes_of_tasks(model, chosen),
            model.task_operations[chosen],
            demands_of_tasks(model, chosen),
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


class Moves:
    """Records the moves of one run as they happen."""

    def __init__(self, n_tasks: int):
        self._came_us = np.full(n_tasks, -np.inf)  # last move of each task
        self._rows: list[tuple[float, ...]] = []

    def add(self, task: np.ndarray, unit: np.ndarray, init_us: np.ndarray, start_us: np.ndarray, now_us: float) -> None:
        """Add tasks that leave their units now; they were given to their first units at ``init_us`` and began to
        execute, on any, at ``start_us``."""
        begin_us = np.maximum(init_us, self._came_us[task])
        started_us = np.maximum(start_us, begin_us)
        columns = (task.tolist(), unit.tolist(), begin_us.tolist(), started_us.tolist())
        self._rows += [(*row, now_us, np.nan, MOVED, False) for row in zip(*columns, strict=True)]
        self._came_us[task] = now_us

    def ends(self) -> EarlyEnds:
        """Return all stays on units that were left, in the order in which they ended."""
        return EarlyEnds.of(self._rows)
