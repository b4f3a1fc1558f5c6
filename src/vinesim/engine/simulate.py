"""Run a scenario, the central function: Scenario -> Model -> State -> Result."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from vinesim.engine.compiling import told_when_compiling
from vinesim.engine.contract import AT_HORIZON, AT_PAUSE, LEFT, NO_EVENTS, BrokenContract, OutOfTime
from vinesim.engine.outages import OutageClock, check_policy
from vinesim.engine.outcome import collect, why_stalled
from vinesim.engine.patience import Patience, Progress
from vinesim.engine.periods import PeriodClock
from vinesim.engine.run import Run
from vinesim.metrics import applications
from vinesim.metrics.latency import METHODS, Method
from vinesim.metrics.sampling import sampled
from vinesim.metrics.summary import summarize
from vinesim.metrics.tables import Tables
from vinesim.metrics.warm_up import WarmUp, check_warm_up
from vinesim.model.errors import InputError, PolicyError, Problem
from vinesim.model.parallel_jobs import warn_of_parallel_jobs
from vinesim.model.result import ExitReason, Result, Table
from vinesim.model.scenario import Scenario
from vinesim.model.streams import stream, stream_seed
from vinesim.model.version import VERSION
from vinesim.policies.contract import BatchPolicy, OnlinePolicy, Plan, Policy
from vinesim.policies.identity import content_id, policy_content
from vinesim.policies.registry import resolve
from vinesim.state.build import build_model
from vinesim.state.layout import Model
from vinesim.state.queries import nothing

Engine = Literal["compiled", "reference"]
CHUNK_S = 0.1  # how long the engine works before progress is reported


def simulate(
    scenario: Scenario,
    *,
    engine: Engine = "compiled",
    percentiles: Method = "nearest_rank",
    warm_up: WarmUp | None = None,
    on_progress: Callable[[Progress], bool | None] | None = None,
    on_message: Callable[[str], None] | None = None,
) -> Result:
    """Run a scenario to its end and return the result.

    ``engine="reference"`` runs the same in plain Python, slowly. ``percentiles`` of the summary are by nearest rank or
    ``"linear"``; latencies exclude the jobs of the ``warm_up`` (``"mser5"``, ``{"jobs": N}``, ``{"share": x}``).
    ``on_progress`` is called about ten times a second; if it returns True the run ends as INTERRUPTED. ``on_message``
    gets a line when something takes long.
    Raises :class:`InputError` for a wrong policy or option, :class:`PolicyError` for a policy that breaks its contract.
    """
    check_options(percentiles, warm_up)
    scenario.network.warn_if_unordered()
    warn_of_parallel_jobs(scenario.workload)
    policy = resolve(scenario.policy, scenario.options)
    code = policy_content(scenario.policy, scenario.options)  # now, because its file may be edited during the run
    if scenario.outages:
        check_policy(scenario, policy)
    new_run = _engine(engine, policy)
    begun = time.perf_counter()
    online = policy if isinstance(policy, OnlinePolicy) else _Idle()
    model = build_model(scenario, online.groups, unit_order_of(online, scenario))
    plan = online.plan(model, on_message) if online.plans else Plan({})
    run = new_run(model, online, stream_seed(scenario.seed, "policy"), policy.may_overcommit, len(scenario.outages) > 0)
    for name, contents in plan.scratch.items():
        getattr(run.scratch, name)[:] = contents
    clock = PeriodClock(policy, run, model, scenario) if isinstance(policy, BatchPolicy) else None
    outages = OutageClock(run, model, scenario) if scenario.outages else None
    patience = Patience(run, policy.name or type(policy).__name__, scenario.workload.n_tasks, on_progress, on_message)
    try:
        with announce_compilation(policy, on_message):
            ready = time.perf_counter()
            run.compile()
            compile_s = time.perf_counter() - ready
            answers = online.decide.__module__.startswith("vinesim.")
            reason, words = _advance(scenario, model, run, clock, outages, patience, answers)
    except BrokenContract as broken:
        raise broken.as_policy_error(policy.name or type(policy).__name__, run.now_us) from None
    except OutOfTime as wrong:
        raise wrong.as_input_error(scenario, model, run.now_us) from None
    except KeyboardInterrupt as stop:
        stop.add_note(patience.words())
        raise
    accounts = None if clock is None else clock.accounts
    outcome = collect(scenario, model, run, reason, words, accounts, policy.may_overcommit, plan.proven)
    if outages is not None:
        outcome = replace(outcome, lost=outages.lost())
    if clock is not None and clock.moves is not None:
        outcome = replace(outcome, stays=clock.moves.stays())
    provenance = {
        "version": VERSION,
        "seed": scenario.seed,
        "policy": policy.name or type(policy).__name__,
        "options": {item.name: getattr(policy, item.name) for item in fields(policy)},
        **({"period_us": scenario.period_us} if clock is not None else {}),
        "engine": engine,
        "processor_types": [kind.name for kind in scenario.datacenter.processor_types],
        "task_types": [kind.name for kind in scenario.workload.task_types],
        "events": outcome.n_events,
        "reason": words,
        "wall_s": time.perf_counter() - begun - compile_s - plan.took_s,
        "compile_s": compile_s,
        **({"plan_s": plan.took_s} if online.plans else {}),
    }
    tables = Tables(scenario, outcome)
    builders: dict[str, Callable[[], Table | None]] = {
        name: getattr(tables, name) for name in ("tasks", "jobs", "units")
    }
    builders["segments"] = tables.segments_table
    builders["utilization"] = lambda: sampled(tables)
    builders["applications"] = lambda: applications.table(tables) if applications.has_applications(tables) else None
    return Result(
        outcome,
        lambda: {**provenance, "content_id": content_id(scenario, code)},
        builders,
        partial(summarize, tables=tables, method=percentiles, warm_up=warm_up),
    )


def check_options(percentiles: str, warm_up: WarmUp | None) -> None:
    """Raise :class:`InputError` for an unknown method or rule."""
    if percentiles not in METHODS:
        raise InputError([Problem("percentiles", "one of " + ", ".join(METHODS), repr(percentiles))])
    if warm_up is not None:
        check_warm_up(warm_up)


def unit_order_of(policy: OnlinePolicy, scenario: Scenario) -> np.ndarray | None:
    """Return the order in which the policy wants the units for the scenario's seed, if not (rack, shelf)."""
    if type(policy).unit_order is OnlinePolicy.unit_order:
        return None  # draws no stream, which would take a thirtieth of a small run
    n_units = scenario.datacenter.n_units
    order = policy.unit_order(n_units, stream(scenario.seed, "policy.order"))
    if order is not None and not np.array_equal(np.sort(order), np.arange(n_units)):
        raise PolicyError(f"policy {policy.name or type(policy).__name__}: unit_order must return a permutation")
    return order


def _advance(
    scenario: Scenario,
    model: Model,
    run: Run,
    clock: PeriodClock | None,
    outages: OutageClock | None,
    patience: Patience,
    answers: bool,
) -> tuple[ExitReason, str]:
    """Let the engine work in chunks of about CHUNK_S until the run ends. Returns why, and details in words.

    The first chunk of a policy that is known to answer, and all chunks if a batch policy decides, are done on this
    thread: another thread takes a twelfth of the time of a small run, and more on a busy machine.
    """
    n_tasks, chunk, gives_up = scenario.workload.n_tasks, 1 << 14, None if answers else patience.gives_up
    while True:
        begun = time.perf_counter()
        stop = clock or outages
        until_us = math.inf if stop is None else stop.next_us
        why = run.advance(scenario.horizon_us, until_us, chunk, gives_up)
        gives_up = None if clock is not None else patience.gives_up
        if why == LEFT:
            return ExitReason.INTERRUPTED, patience.words()
        if run.n_done == n_tasks:
            return ExitReason.ALL_DONE, ""
        if why == AT_HORIZON:
            return ExitReason.HORIZON, ""
        if why == NO_EVENTS:
            return ExitReason.STALLED, why_stalled(scenario, model, run)
        if why == AT_PAUSE and outages is not None:
            outages.tick()
        if why == AT_PAUSE and clock is not None:
            if clock.next_us >= scenario.horizon_us:
                return ExitReason.HORIZON, ""  # what is placed now would not run
            if not clock.tick():
                return ExitReason.STALLED, why_stalled(scenario, model, run)
        took = time.perf_counter() - begun
        chunk = max(1 << 8, min(1 << 30, int(chunk * min(4.0, max(0.25, CHUNK_S / max(took, 1e-9))))))
        if patience.looks_up():
            return ExitReason.INTERRUPTED, ""


def _engine(engine: str, policy: Policy) -> Callable[..., Run]:
    if engine == "reference":
        from vinesim.engine.reference import ReferenceRun

        return ReferenceRun
    if engine != "compiled":
        raise InputError([Problem("engine", "compiled or reference", repr(engine))])
    if isinstance(policy, OnlinePolicy) and not policy.compiled:
        raise InputError(
            [
                Problem(
                    "engine",
                    f"reference, because the policy {policy.name or type(policy).__name__} is plain Python",
                    "compiled",
                    "Run it with --engine reference.",
                )
            ]
        )
    from vinesim.engine.compiled import CompiledRun

    return CompiledRun


@contextmanager
def announce_compilation(policy: Policy, on_message: Callable[[str], None] | None) -> Iterator[None]:
    """Report that a policy is being compiled, if it is; turn compiler errors into messages for the user."""
    name = policy.name or type(policy).__name__
    try:
        with told_when_compiling(name, on_message):
            yield
    except BrokenContract:
        raise
    except Exception as wrong:
        if "numba" not in type(wrong).__module__:
            raise
        raise PolicyError(
            f"policy {name} cannot be compiled: {_first_lines(wrong)}\n"
            "Use only numbers, arrays and the queries, and no new arrays; or set compiled = False and run it with "
            "--engine reference."
        ) from None


def _first_lines(error: Exception) -> str:
    """Return what Numba says is wrong, without its advice."""
    if "attribute 'task' of type" in str(error) or "expected Action" in str(error):
        return "decide must return start(...), wait_until(...) or nothing() on every path"
    if "NRT required" in str(error):
        return "it creates a list, an array or another new object"
    if "Untyped global name" in str(error):
        return str(error)[str(error).index("Untyped global name") :].splitlines()[0]
    lines = [line for line in str(error).splitlines() if line.strip()]
    return "\n".join(lines[:12])


@dataclass(frozen=True)
class _Idle(OnlinePolicy):
    """Starts nothing: the loop is bound to this while a batch policy places the tasks."""

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        return nothing()
