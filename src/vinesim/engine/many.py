"""Many runs of one scenario that differ only in when the jobs arrive and in the seed, at compiled speed
(``engine/blocks.py``). The meaning is that of :func:`simulate`, run by run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vinesim.engine.compiling import NotCompiled, announce_compilation
from vinesim.engine.engine_choice import Engine, check_engine, is_worth_loading
from vinesim.engine.outcome import may_end_early
from vinesim.engine.simulate import check_options, code_for, simulate, unit_order_of
from vinesim.formats.results.table import Table
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.metrics.latency import Method
from vinesim.metrics.numbers import flat
from vinesim.metrics.record import Record
from vinesim.metrics.warm_up import WarmUp
from vinesim.model.application import requests_on_nodes
from vinesim.model.arrays import as_column, as_numbers, first_wrong
from vinesim.model.cores import n_cores
from vinesim.model.errors import InputError, Problem
from vinesim.model.run_numbers import NUMBERS, is_number_or_part
from vinesim.model.scenario import Scenario
from vinesim.policies.contract import OnlinePolicy, Policy, title_of
from vinesim.policies.registry import resolve

Piece = tuple[np.ndarray, Mapping[str, Any]]  # numbers of some runs, by name


class Runs(Table):
    """The numbers of K runs: one column [K] per number, named as in summary.json with dots; NaN where a run has none.

    The text ``exit_reason`` is always included.
    """


def simulate_many(
    scenario: Scenario,
    *,
    arrival_us: np.ndarray | None = None,
    seeds: Sequence[int] | np.ndarray | None = None,
    workers: int | None = None,
    record: Sequence[str] = (),
    engine: Engine = "auto",
    percentiles: Method = "nearest_rank",
    warm_up: WarmUp | None = None,
    on_message: Callable[[str], None] | None = None,
) -> Runs:
    """Run a scenario K times and return the numbers that :func:`simulate` gives for each run alone, bit for bit.

    Run k has the arrivals ``arrival_us[k]`` ([K, J] us; None: the scenario's) and the seed ``seeds[k]`` ([K]; None: the
    scenario's). ``record`` selects numbers by the start of their names, such as ``("jobs.latency_us.mean",
    "utilization")``; other numbers are not computed. ``workers`` is the number of threads, by default one per core.

    Some scenarios are run one by one, about 30 times slower: those with serving engines, with a batch policy, with a
    policy that plans or that draws an order of the units, and all scenarios on the reference engine, which
    ``engine="auto"`` takes for small runs.

    Raises what :func:`simulate` raises. Also raises :class:`InputError` for arrivals or seeds of the wrong shape, and
    for arrivals of a scenario whose applications set deadlines relative to them.
    """
    check_options(percentiles, warm_up)
    check_engine(engine)
    _check_record(record)
    times, numbers = _runs(scenario, arrival_us, seeds)
    wanted = Record(record)

    def alone(k: int) -> Mapping[str, Any]:
        """The numbers of run k; raises what is wrong with it."""
        work = scenario.workload if times is None else replace(scenario.workload, arrival_us=times[k])
        one = replace(scenario, workload=work, seed=int(numbers[k]))
        found = simulate(one, engine=engine, percentiles=percentiles, warm_up=warm_up, on_message=on_message)
        return _of_summary(found.summary, wanted)

    policy: Any = resolve(scenario.policy, scenario.options)
    n_runs = len(numbers)
    pieces: list[Piece] = []
    code = code_for(scenario, policy) if engine != "reference" and fits_blocks(scenario, policy) else None
    for k in range(n_runs):
        if code and (engine == "compiled" or is_worth_loading(code, (n_runs - k) * scenario.workload.n_tasks)):
            break
        pieces.append((np.array([k]), alone(k)))
    first = len(pieces)
    if first == n_runs:
        return _joined(pieces, n_runs)
    from vinesim.engine.blocks import Blocks, Failed  # loads the compiler

    scenario.network.warn_if_unordered()
    n_workers = workers or n_cores()
    left = None if times is None else times[first:]
    try:
        with announce_compilation(policy, on_message):
            blocks = Blocks(scenario, policy, left, numbers[first:], wanted, percentiles, warm_up, n_workers)
            blocks.compile()
    except NotCompiled:
        if engine == "compiled":
            raise
        return _joined([*pieces, *((np.array([k]), alone(k)) for k in range(first, n_runs))], n_runs)
    try:
        return _joined(pieces + [(first + rows, found) for rows, found in blocks.run()], n_runs)
    except KeyboardInterrupt as stop:
        stop.add_note(f"under the policy {title_of(policy)}")
        raise
    except Failed as failed:
        alone(first + failed.k)  # raises the error, with the policy's name and line
        raise


def _check_record(record: Sequence[str]) -> None:
    """Raise :class:`InputError` for names of numbers that no run has."""
    if isinstance(record, str):
        raise InputError([Problem(("record",), "a list of names", repr(record)[:60], f"Write [{record!r}].")])
    expected = "a number of a run: " + ", ".join(NUMBERS)
    problems = [
        Problem(("record", i), expected, repr(name)[:60], did_you_mean(name, NUMBERS))
        for i, name in enumerate(record)
        if not is_number_or_part(name)
    ]
    if problems:
        raise InputError(problems)


def fits_blocks(scenario: Scenario, policy: Policy) -> bool:
    """Whether several runs can be done in one call of a kernel."""
    return (
        isinstance(policy, OnlinePolicy)
        and policy.compiled
        and not policy.plans
        and policy.suited_to(scenario) is policy
        and not may_end_early(scenario, policy)
        and not scenario.workload.has_vectors
        and scenario.workload.after is None
        and not len(scenario.engine_types)
        and scenario.workload.gang_within is None
        and not scenario.datacenter.has_power_caps
        and not scenario.reservations
        and not scenario.datacenter.takes_ahead
        and requests_on_nodes(scenario.workload, scenario.applications, policy.groups) is None
        and unit_order_of(policy, scenario) is None
    )


def are_quicker_in_blocks(scenario: Scenario, policy: Policy, n_runs: int) -> bool:
    """Whether these runs are done sooner in blocks than one by one."""
    return fits_blocks(scenario, policy) and is_worth_loading(
        code_for(scenario, policy), n_runs * scenario.workload.n_tasks
    )


def _runs(scenario: Scenario, arrival_us: Any, seeds: Any) -> tuple[np.ndarray | None, np.ndarray]:
    """Return arrivals [K, J] or None, and seeds [K], after checking them."""
    n_jobs = scenario.workload.n_jobs
    problems: list[Problem] = []
    if arrival_us is not None and scenario.applications and scenario.workload.deadline_us is not None:
        remedy = "Run a study with other `arrivals`: each run then has its own deadlines."
        raise InputError([Problem(("arrival_us",), "none, because applications set the deadlines", "arrivals", remedy)])
    times = None if arrival_us is None else as_numbers("arrival_us", arrival_us)
    if times is not None and (times.ndim != 2 or times.shape[1] != n_jobs):
        raise InputError([Problem(("arrival_us",), f"rows of {n_jobs} times, one per job", f"shape {times.shape}")])
    n_runs = len(seeds) if seeds is not None else 1 if times is None else len(times)
    numbers = (
        np.full(n_runs, scenario.seed) if seeds is None else as_column(("seeds",), seeds, np.int64, None, problems)
    )
    if problems:
        raise InputError(problems)
    if numbers.ndim != 1 or not len(numbers) or (times is not None and len(times) != len(numbers)):
        expected = "one per run, at least one run" if times is None else f"one for each of the {len(times)} arrivals"
        raise InputError([Problem(("seeds",), expected, f"shape {numbers.shape}")])
    for k in np.flatnonzero(numbers < 0)[:5]:
        problems.append(Problem(("seeds", k), "an integer from 0 to 2^63 - 1", f"{numbers[k]}"))
    if times is not None:
        wrong = ~np.isfinite(times) | (times < 0)
        wrong[:, 1:] |= np.diff(times, axis=1) < 0
        for k in np.flatnonzero(wrong.any(axis=1))[:5]:
            found = first_wrong(times[k], wrong[k])
            problems.append(Problem(("arrival_us", k), "finite times, 0 or more, not decreasing", found))
    if problems:
        raise InputError(problems)
    return times, numbers


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
