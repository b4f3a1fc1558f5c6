"""Runs in blocks: many runs of one model in one call of a kernel (``core/loops.py``), and then the numbers of all of
them at once.

The policy is compiled once and the model built once. Each thread has one state. The kernel is given the arrays that it
resets before each run, and those to which it writes the results.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from vinesim.core.loops import Running, block_for, loop_for
from vinesim.core.state import build_state
from vinesim.engine.engine_choice import code_of
from vinesim.engine.outcome import may_share_units, take_dropped_us
from vinesim.engine.run import run_interruptibly
from vinesim.metrics.latency import Method
from vinesim.metrics.numbers import flat
from vinesim.metrics.record import Record
from vinesim.metrics.summary import measure
from vinesim.metrics.tables import Tables
from vinesim.metrics.warm_up import WarmUp
from vinesim.model.result import ExitReason, Outcome
from vinesim.model.run_numbers import NUMBERS
from vinesim.model.scenario import Scenario
from vinesim.model.streams import stream_seed
from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.declarations import functions_of
from vinesim.state import queries
from vinesim.state.arrays import IF_CUT_OFF, NEVER, RUN, STATE
from vinesim.state.build import build_model
from vinesim.state.layout import AT_HORIZON, BROKEN
from vinesim.state.scratch import build_scratch

NOT_RUN = -1


class Fresh(NamedTuple):
    """Arrays that runs change, and what they held before the first run. Each array has a row: the address of its bytes,
    the address of a copy, and the number of bytes."""

    changed: np.ndarray  # [A, 3] int64: by every run
    kept: np.ndarray  # [B, 3] int64: only by runs that did not finish all tasks


class Columns(NamedTuple):
    """The columns that are kept of each of K runs; a task column that is not wanted has no rows."""

    task_unit: np.ndarray  # [K, N] int32, or [0, N]
    task_init_us: np.ndarray  # [K, N] float64, or [0, N]
    task_start_us: np.ndarray
    task_finish_us: np.ndarray
    task_follower: np.ndarray  # [K, N] int32, or [0, N]
    run: np.ndarray  # [K] of RUN
    why: np.ndarray  # [K] int64: why the loop stopped; NOT_RUN before
    is_plain: np.ndarray  # [K] bool: all tasks started and finished, none consolidated


TASK_COLUMNS = Columns._fields[:5]
WHOLE = ("task_unit", "task_follower")  # of them, int32; the others are float64


def saved(state: Any, scratch: Any) -> tuple[Fresh, list[np.ndarray]]:
    """Save what the state and the policy's arrays hold now, for resetting them. Returns the copies too: they must exist
    as long as the rows are used."""
    given = [(getattr(state, row.name), row.resets) for row in STATE]
    kept = [array for array, resets in given if resets == IF_CUT_OFF]
    changed = [array for array, resets in given if resets not in (IF_CUT_OFF, NEVER)] + list(scratch)
    copies = [[array.copy() for array in some] for some in (changed, kept)]
    rows = [
        [(one.ctypes.data, copy.ctypes.data, one.nbytes) for one, copy in zip(*both, strict=True)]
        for both in zip((changed, kept), copies, strict=True)
    ]
    return Fresh(*(np.array(some, np.int64).reshape(-1, 3) for some in rows)), [*copies[0], *copies[1]]


def empty_columns(n_runs: int, n_tasks: int, wanted: set[str]) -> Columns:
    """Allocate columns for a number of runs."""
    made = {
        name: np.empty((n_runs if name in wanted else 0, n_tasks), np.int32 if name in WHOLE else np.float64)
        for name in TASK_COLUMNS
    }
    return Columns(
        **made, run=np.empty(n_runs, RUN), why=np.full(n_runs, NOT_RUN, np.int64), is_plain=np.zeros(n_runs, bool)
    )


BLOCK_BYTES = 3 << 20  # task columns of a block: larger means fewer calls from Python, but they should fit in a cache
Piece = tuple[np.ndarray, Mapping[str, Any]]  # numbers of some runs, by name


class Failed(Exception):
    """A run ended with an error."""

    def __init__(self, k: int):
        super().__init__(f"run {k} failed among others, but not alone")
        self.k = k


class Blocks:
    """The runs in blocks, and what they all share."""

    def __init__(
        self,
        scenario: Scenario,
        policy: OnlinePolicy,
        times: np.ndarray | None,
        seeds: np.ndarray,
        wanted: Record,
        method: Method,
        warm_up: WarmUp | None,
        n_workers: int,
    ):
        self.scenario, self.policy, self.times, self.n_runs = scenario, policy, times, len(seeds)
        self.wanted, self.method, self.warm_up = wanted, method, warm_up
        self.model = build_model(scenario, policy.groups)
        self.code = code_of(scenario, self.model, policy, policy)
        self.random = _streams(seeds, policy)
        self.may_share_units = may_share_units(self.model, policy.may_overcommit)
        self.loop = loop_for(self.code, self.n_runs * scenario.workload.n_tasks)
        self.kernel = block_for(self.loop.features)
        self.needed = {"task_finish_us"}.union(*(n.columns for n in NUMBERS.values() if wanted(n.name)))
        if policy.may_drop or scenario.workload.withdraw_us is not None:
            self.needed.add("task_unit")  # of a task that does not start, what stands for its finish is no finish
        if "CONSOLIDATES" not in self.loop.features:
            self.needed.discard("task_follower")
        row = scenario.workload.n_tasks * sum(4 if name in WHOLE else 8 for name in self.needed)
        self.size = max(1, min(BLOCK_BYTES // row, -(-self.n_runs // n_workers)))
        self.n_workers = min(n_workers, -(-self.n_runs // self.size))
        self._first_worker = [_Worker(self)]

    def compile(self) -> None:
        """Compile the kernel, or load it from the disk."""
        self._first_worker[0].call(0, 0)

    def run(self) -> list[Piece]:
        """Return the numbers of all runs."""
        ahead = iter(range(0, self.n_runs, self.size))  # shared: each free thread takes the next block

        def work() -> list[Piece]:
            worker = self._first_worker.pop() if self._first_worker else _Worker(self)
            try:
                return [piece for first in ahead for piece in worker.numbers(first)]
            finally:
                for _ in ahead:  # after an error the others stop too
                    pass

        try:
            return [piece for done in run_interruptibly([work] * self.n_workers) for piece in done]
        finally:
            for _ in ahead:  # after Ctrl-C threads that continue finish only one block
                pass


class _Worker:
    """The state and columns of one thread."""

    def __init__(self, blocks: Blocks):
        self.blocks = blocks
        self.arrival = np.array(blocks.model.job_arrival_us)
        seen = self.arrival.view()
        seen.flags.writeable = False
        model, policy = blocks.model.replaced(job_arrival_us=seen), blocks.policy
        state = build_state(model, blocks.loop.features, 0, policy.sees_every_event, policy.may_overcommit)
        own = blocks.code.own._replace(scratch=build_scratch(policy.scratch, model))
        self.columns = empty_columns(blocks.size, blocks.scenario.workload.n_tasks, blocks.needed)
        self._running = Running(blocks.loop, model, state, own)
        self._loop = self._running.address
        self._fresh, self._copies = saved(state, own.scratch)

    def call(self, first: int, end: int) -> np.ndarray:
        """Do some runs and return their arrivals, [K, J], or [0, J] if they are the scenario's."""
        blocks = self.blocks
        times = np.empty((0, len(self.arrival))) if blocks.times is None else blocks.times[first:end]
        horizon_us, random = float(blocks.scenario.horizon_us), blocks.random[first:end]
        given = (*self._running.given, horizon_us, self.arrival, times, random)
        blocks.kernel(*given, self._fresh, self.columns, self._loop)
        return times

    def numbers(self, first: int) -> Iterator[Piece]:
        """Do one block of runs. Raises :class:`Failed` with the first run that ends with an error."""
        blocks, columns = self.blocks, self.columns
        end = min(first + blocks.size, blocks.n_runs)
        columns.why[:] = NOT_RUN
        try:
            times = self.call(first, end)
        except Exception as wrong:
            raise Failed(first + int(np.argmin(columns.why))) from wrong
        why = columns.why[: end - first]
        if (why == BROKEN).any():
            raise Failed(first + int(np.argmax(why == BROKEN)))
        depends = blocks.may_share_units or blocks.warm_up == "mser5"
        together = np.flatnonzero(columns.is_plain[: end - first] & (not depends))
        apart = np.setdiff1d(np.arange(end - first), together)
        for rows in [together] * bool(len(together)) + list(apart):
            yield first + np.atleast_1d(rows), self._measure(rows, times)

    def _measure(self, rows: Any, times: np.ndarray) -> dict[str, Any]:
        """Return the numbers of some rows that all finished, or of one."""
        blocks, run = self.blocks, self.columns.run[rows]
        if np.size(rows) == len(times) and np.ndim(rows):
            rows = slice(0, np.size(rows))  # no copy
        given = {name: getattr(self.columns, name) for name in TASK_COLUMNS}
        kept = {name: column[rows] if len(column) else column for name, column in given.items()}
        following = kept.pop("task_follower")
        is_one = run.ndim == 0
        followers = np.sort(following[following >= 0]).astype(np.int64) if is_one else np.empty(0, np.int64)
        reason = ExitReason.ALL_DONE
        if is_one and run["n_done"] < blocks.scenario.workload.n_tasks:
            reason = ExitReason.HORIZON if self.columns.why[rows] == AT_HORIZON else ExitReason.STALLED
        horizon_us = blocks.scenario.horizon_us
        dropped_us = take_dropped_us(kept, blocks.policy.may_drop) if len(self.columns.task_unit) else None
        outcome = Outcome(
            **kept,
            unit_order=blocks.model.unit_order,
            shares_units=blocks.may_share_units or len(followers) > 0,
            exit_reason=reason,
            reason="",
            end_us=horizon_us if reason is ExitReason.HORIZON else np.minimum(run["now_us"], horizon_us),
            n_events=run["n_events"],
            followers=followers,
            dropped_us=dropped_us,
        )
        tables = Tables(blocks.scenario, outcome, times[rows] if len(times) else None)
        found = flat(measure(tables, blocks.method, blocks.warm_up, blocks.wanted))
        return {**{name: value for name, value in found if blocks.wanted(name)}, "exit_reason": str(reason)}


def _streams(seeds: np.ndarray, policy: OnlinePolicy) -> np.ndarray:
    """[K] uint64: the initial state of the policy's random stream in each run; 0 for a policy that draws nothing."""
    if not {queries.random_free, queries.random_below} & functions_of(policy.decide):
        return np.zeros(len(seeds), np.uint64)
    distinct, which = np.unique(seeds, return_inverse=True)
    return np.array([stream_seed(int(seed), "policy") for seed in distinct], np.uint64)[which]
