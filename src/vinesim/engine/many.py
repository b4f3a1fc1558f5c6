"""Many runs of one scenario that differ only in arrival times and seed, at compiled speed.

The policy is compiled once and the model built once. Each thread has one state; it does a block of runs in one call of
a kernel (``engine/block.py``), and then computes their numbers together. The meaning is that of :func:`simulate`, run
by run.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vinesim.engine import block
from vinesim.engine.beside import beside
from vinesim.engine.compiled import bound, bound_block
from vinesim.engine.contract import AT_HORIZON, BROKEN
from vinesim.engine.outcome import may_share_units
from vinesim.engine.simulate import announce_compilation, check_options, simulate, unit_order_of
from vinesim.metrics.latency import Method
from vinesim.metrics.numbers import flat
from vinesim.metrics.record import Record
from vinesim.metrics.summary import measure
from vinesim.metrics.tables import Tables
from vinesim.metrics.warm_up import WarmUp
from vinesim.model.cores import n_cores
from vinesim.model.errors import InputError, Problem
from vinesim.model.parallel_jobs import warn_of_parallel_jobs
from vinesim.model.result import ExitReason, Outcome, Table
from vinesim.model.scenario import Scenario
from vinesim.model.streams import stream_seed
from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.declarations import functions_of
from vinesim.policies.registry import resolve
from vinesim.state import queries
from vinesim.state.build import build_model, build_state
from vinesim.state.scratch import build_options, build_scratch

BLOCK_BYTES = 3 << 20  # task columns of a block: larger means fewer calls from Python, but they should fit in a cache
NEEDED = {  # the task columns needed for each number, besides the finish times
    "jobs.wait_us": ("task_init_us",),
    "jobs.bounded_slowdown": ("task_init_us",),
    "tasks.by_type": ("task_unit",),
    "tasks.wait_us": ("task_init_us",),
    "tasks.response_us": ("task_init_us",),
    "utilization": ("task_unit", "task_init_us", "task_follower"),
    "energy_j": ("task_unit", "task_init_us", "task_start_us", "task_follower"),
    "energy": ("task_unit", "task_init_us", "task_start_us", "task_follower"),
}
Piece = tuple[np.ndarray, Mapping[str, Any]]  # numbers of some runs, by name


class Runs(Table):
    """The numbers of K runs: a column [K] for each, under its dotted name in summary.json; NaN if there is none.

    The text ``exit_reason`` is always included.
    """


def simulate_many(
    scenario: Scenario,
    *,
    arrival_us: np.ndarray | None = None,
    seeds: Sequence[int] | np.ndarray | None = None,
    workers: int | None = None,
    record: Sequence[str] = (),
    percentiles: Method = "nearest_rank",
    warm_up: WarmUp | None = None,
    on_message: Callable[[str], None] | None = None,
) -> Runs:
    """Run a scenario K times and return the numbers that :func:`simulate` gives for each run alone, bit for bit.

    Run k has the arrivals ``arrival_us[k]`` ([K, J] us; None: the scenario's) and the seed ``seeds[k]`` ([K]; None: the
    scenario's). ``record`` selects the numbers by the start of their names, such as ``("jobs.latency_us.mean",
    "utilization")``; others cost nothing. ``workers`` is the number of threads, by default one per core. Batch
    policies, policies that plan and policies that draw an order of the units run one by one, about 30 times slower.
    Raises what :func:`simulate` raises, and :class:`InputError` for arrivals or seeds that do not fit, and for arrivals
    of a scenario whose applications set deadlines relative to them.
    """
    check_options(percentiles, warm_up)
    times, numbers = _runs(scenario, arrival_us, seeds)
    wanted = Record(record)

    def alone(k: int) -> Mapping[str, Any]:
        work = scenario.workload if times is None else replace(scenario.workload, arrival_us=times[k])
        one = replace(scenario, workload=work, seed=int(numbers[k]))
        return simulate(one, percentiles=percentiles, warm_up=warm_up, on_message=on_message).summary

    policy = resolve(scenario.policy, scenario.options)
    if (
        not isinstance(policy, OnlinePolicy)
        or not policy.compiled
        or policy.plans
        or len(scenario.outages) > 0
        or unit_order_of(policy, scenario) is not None
    ):
        pieces = [(np.array([k]), _of_summary(alone(k), wanted)) for k in range(len(numbers))]
        return _joined(pieces, len(numbers))
    scenario.network.warn_if_unordered()
    warn_of_parallel_jobs(scenario.workload)
    n_workers = workers or n_cores()
    blocks = _Blocks(scenario, policy, times, numbers, wanted, percentiles, warm_up, n_workers)
    with announce_compilation(policy, on_message):
        blocks.compile()
    try:
        return _joined(blocks.run(), len(numbers))
    except KeyboardInterrupt as stop:
        stop.add_note(f"under the policy {policy.name or type(policy).__name__}")
        raise
    except _Failed as failed:
        alone(failed.k)  # raises the error, with the policy's name and line
        raise


def _runs(scenario: Scenario, arrival_us: Any, seeds: Any) -> tuple[np.ndarray | None, np.ndarray]:
    """Return arrivals [K, J] or None, and seeds [K], after checking them."""
    n_jobs, problems = scenario.workload.n_jobs, []
    if arrival_us is not None and scenario.applications and scenario.workload.deadline_us is not None:
        remedy = "Run a study with other `arrivals`: each run then has deadlines of its own."
        raise InputError([Problem("arrival_us", "none, because applications set the deadlines", "arrivals", remedy)])
    times = None if arrival_us is None else np.ascontiguousarray(arrival_us, np.float64)
    if times is not None and (times.ndim != 2 or times.shape[1] != n_jobs):
        raise InputError([Problem("arrival_us", f"rows of {n_jobs} times, one per job", f"shape {times.shape}")])
    n_runs = len(seeds) if seeds is not None else 1 if times is None else len(times)
    numbers = np.full(n_runs, scenario.seed) if seeds is None else np.asarray(seeds, np.int64)
    if numbers.ndim != 1 or not len(numbers) or (times is not None and len(times) != len(numbers)):
        expected = "one per run, at least one run" if times is None else f"one for each of the {len(times)} arrivals"
        raise InputError([Problem("seeds", expected, f"shape {numbers.shape}")])
    for k in np.flatnonzero(numbers < 0)[:5]:
        problems.append(Problem(f"seeds[{k}]", "an integer from 0 to 2^63 - 1", f"{numbers[k]}"))
    if times is not None:
        rising = np.isfinite(times).all(axis=1) & (np.diff(times, axis=1) >= 0).all(axis=1) & (times[:, 0] >= 0)
        for k in np.flatnonzero(~rising)[:5]:
            problems.append(Problem(f"arrival_us[{k}]", "finite times, 0 or more, not decreasing", "others"))
    if problems:
        raise InputError(problems)
    return times, numbers


class _Failed(Exception):
    """A run ended with an error."""

    def __init__(self, k: int):
        super().__init__(f"run {k} failed among others, but not alone")
        self.k = k


class _Blocks:
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
        self.options = build_options(policy.values_of_options())
        self.random = _streams(seeds, policy)
        self.may_share_units = may_share_units(self.model, policy.may_overcommit)
        self.needed = {"task_finish_us"}.union(*(some for name, some in NEEDED.items() if wanted(name)))
        row = scenario.workload.n_tasks * sum(4 if name in block.WHOLE else 8 for name in self.needed)
        self.size = max(1, min(BLOCK_BYTES // row, -(-self.n_runs // n_workers)))
        self.n_workers = min(n_workers, -(-self.n_runs // self.size))
        self.kernel = bound_block(policy.decide)
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
            return [piece for done in beside([work] * self.n_workers) for piece in done]
        finally:
            for _ in ahead:  # after Ctrl-C threads that continue finish only one block
                pass


class _Worker:
    """The state and columns of one thread."""

    def __init__(self, blocks: _Blocks):
        self.blocks = blocks
        self.arrival = np.array(blocks.model.job_arrival_us)
        seen = self.arrival.view()
        seen.flags.writeable = False
        model = blocks.model._replace(job_arrival_us=seen)
        state = build_state(model, 0, bound(blocks.policy.decide).counts_free)
        scratch = build_scratch(blocks.policy.scratch, model)
        self.columns = block.columns(blocks.size, blocks.scenario.workload.n_tasks, blocks.needed)
        policy = blocks.policy
        self._fixed = (model, state, blocks.options, scratch, policy.may_overcommit, policy.sees_every_event)
        self._fresh = block.fresh(state, scratch)

    def call(self, first: int, end: int) -> np.ndarray:
        """Do some runs and return their arrivals, [K, J], or [0, J] if they are the scenario's."""
        blocks = self.blocks
        times = np.empty((0, len(self.arrival))) if blocks.times is None else blocks.times[first:end]
        horizon_us, random = float(blocks.scenario.horizon_us), blocks.random[first:end]
        blocks.kernel(*self._fixed, horizon_us, self.arrival, times, random, self._fresh, self.columns)
        return times

    def numbers(self, first: int) -> Iterator[Piece]:
        """Do one block of runs. Raises :class:`_Failed` with the first run that ends with an error."""
        blocks, columns = self.blocks, self.columns
        end = min(first + blocks.size, blocks.n_runs)
        columns.why[:] = block.NOT_RUN
        try:
            times = self.call(first, end)
        except Exception as wrong:
            raise _Failed(first + int(np.argmin(columns.why))) from wrong
        why = columns.why[: end - first]
        if (why == BROKEN).any():
            raise _Failed(first + int(np.argmax(why == BROKEN)))
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
        given = {name: getattr(self.columns, name) for name in block.TASK_COLUMNS}
        kept = {name: column[rows] if len(column) else column for name, column in given.items()}
        following = kept.pop("task_follower")
        is_one = run.ndim == 0
        followers = np.sort(following[following >= 0]).astype(np.int64) if is_one else np.empty(0, np.int64)
        reason = ExitReason.ALL_DONE
        if is_one and run["n_done"] < blocks.scenario.workload.n_tasks:
            reason = ExitReason.HORIZON if self.columns.why[rows] == AT_HORIZON else ExitReason.STALLED
        horizon_us = blocks.scenario.horizon_us
        outcome = Outcome(
            **kept,
            unit_order=blocks.model.unit_order,
            shares_units=blocks.may_share_units or len(followers) > 0,
            exit_reason=reason,
            reason="",
            end_us=horizon_us if reason is ExitReason.HORIZON else np.minimum(run["now_us"], horizon_us),
            n_events=run["n_events"],
            followers=followers,
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


def _of_summary(summary: Mapping[str, Any], wanted: Record) -> dict[str, Any]:
    """Return the wanted numbers of one run's summary."""
    found = {name: value for name, value in flat(summary) if wanted(name) and not isinstance(value, str)}
    return {**found, "exit_reason": summary["exit_reason"]}


def _joined(pieces: Sequence[Piece], n_runs: int) -> Runs:
    """Return all pieces as columns, with the runs in order."""
    columns: dict[str, np.ndarray] = {}
    for rows, numbers in pieces:
        for name, value in numbers.items():
            if name not in columns:
                columns[name] = np.full(
                    n_runs, "" if name == "exit_reason" else np.nan, dtype="<U11" if name == "exit_reason" else float
                )
            columns[name][rows] = np.nan if value is None else value
    return Runs(columns)
