"""Run a scenario, the central function: Scenario -> Model -> State -> Result."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import numpy as np

from vinesim.core.code import Code
from vinesim.engine.attempt import Attempt
from vinesim.engine.contract import ErrorWithoutLine
from vinesim.engine.engine_choice import Engine, EngineChoice, check_engine, code_of
from vinesim.engine.outcome import collect
from vinesim.engine.run import Progress
from vinesim.formats.results.table import Table
from vinesim.metrics import applications
from vinesim.metrics.labels import labels_of
from vinesim.metrics.latency import METHODS, Method
from vinesim.metrics.sampling import sampled
from vinesim.metrics.summary import summarize
from vinesim.metrics.tables import Tables
from vinesim.metrics.warm_up import WarmUp, check_warm_up
from vinesim.model.errors import InputError, PolicyError, Problem
from vinesim.model.result import Outcome
from vinesim.model.run_numbers import QUANTILES
from vinesim.model.scenario import Scenario
from vinesim.model.streams import stream
from vinesim.model.version import code_version
from vinesim.policies.contract import BatchPolicy, OnlinePolicy, Plan, Policy, title_of
from vinesim.policies.demands import check_demands, check_policy
from vinesim.policies.identity import content_id, policy_content
from vinesim.policies.registry import resolve
from vinesim.result import Result
from vinesim.state.build import build_model
from vinesim.state.queries import nothing


def simulate(
    scenario: Scenario,
    *,
    engine: Engine = "auto",
    percentiles: Method = "nearest_rank",
    warm_up: WarmUp | None = None,
    on_progress: Callable[[Progress], bool | None] | None = None,
    on_message: Callable[[str], None] | None = None,
) -> Result:
    """Run a scenario to its end and return the result.

    ``engine="compiled"`` and ``engine="reference"`` (plain Python) give the same result; ``"auto"`` takes the one that
    is likely to finish first (engine/engine_choice.py). ``percentiles`` in the summary use the nearest rank, or linear
    interpolation with ``"linear"``. The summary's latencies leave out the jobs of the ``warm_up`` (``"mser5"``,
    ``{"jobs": N}`` or ``{"share": x}``). ``on_progress`` is called about ten times a second; if it returns True, the
    run ends as INTERRUPTED. ``on_message`` gets a line when something takes long.
    Raises :class:`InputError` for a wrong policy or option, :class:`PolicyError` for a policy that breaks its contract.
    """
    if not isinstance(scenario, Scenario):
        found = repr(scenario)[:60]
        raise InputError([Problem(("scenario",), "a Scenario", found, "Read a file with vinesim.read_scenario(FILE).")])
    check_options(percentiles, warm_up)
    scenario.network.warn_if_unordered()
    policy = resolve(scenario.policy, scenario.options)
    content = policy_content(scenario.policy, scenario.options)  # now, because its file may be edited during the run
    check_demands(scenario, policy)
    check_policy(scenario, policy)
    online = online_policy_for(policy, scenario)
    work = scenario.workload
    check_engine(engine)
    begun = time.perf_counter()
    model = build_model(scenario, online.groups, unit_order_of(online, scenario))
    code = code_of(scenario, model, policy, online)
    choice = EngineChoice(engine, policy, code, work.n_tasks, work.n_jobs + work.n_tasks)
    plan = online.plan(model, on_message) if online.plans else Plan({})
    attempt = Attempt(scenario, policy, online, model, code, plan, choice, on_progress, on_message)
    try:
        ended = attempt.run()
    except ErrorWithoutLine as failed:
        raise (failed if choice.first == "reference" else locate_error(failed, scenario, on_message)) from None
    outcome = collect(scenario, model, policy, online, ended, plan.proven)
    ran_on, why, words, compile_s, plan_s = ended.engine, choice.why, ended.words, ended.compile_s, plan.took_s
    wall_s = time.perf_counter() - begun - compile_s - plan_s

    def provenance() -> dict[str, Any]:  # keeps nothing of the run itself, which is large
        return {
            "version": code_version(),
            "seed": scenario.seed,
            **({} if scenario.start_date is None else {"start_date": scenario.start_date.isoformat()}),
            "policy": title_of(policy),
            "options": {item.name: getattr(policy, item.name) for item in fields(policy)},
            **({"period_us": scenario.period_us} if isinstance(policy, BatchPolicy) else {}),
            "engine": ran_on,
            "engine_choice": why,
            "processor_types": [one.name for one in scenario.datacenter.processor_types],
            "task_types": [one.name for one in scenario.workload.task_types],
            **resources_of(scenario),
            "events": outcome.n_events,
            "reason": words,
            **({"failures": len(outcome.failures)} if scenario.failures else {}),
            **({"preemption": scenario.preemption} if online.preempts else {}),
            "wall_s": wall_s,
            "compile_s": compile_s,
            **({"plan_s": plan_s} if online.plans else {}),
            "content_id": content_id(scenario, content),
        }

    return result_of(scenario, outcome, provenance, percentiles=percentiles, warm_up=warm_up)


def code_for(scenario: Scenario, policy: Policy) -> Code:
    """Return the code that a run of a scenario under a policy needs."""
    online = online_policy_for(policy, scenario)
    return code_of(scenario, build_model(scenario, online.groups, unit_order_of(online, scenario)), policy, online)


def online_policy_for(policy: Policy, scenario: Scenario) -> OnlinePolicy:
    """Return what the event loop is bound to: the policy as it suits the scenario; nothing, for a batch policy."""
    return policy.suited_to(scenario) if isinstance(policy, OnlinePolicy) else _Idle()


def result_of(
    scenario: Scenario,
    outcome: Outcome,
    provenance: Callable[[], dict[str, Any]],
    *,
    percentiles: Method = "nearest_rank",
    warm_up: WarmUp | None = None,
    quantiles: Mapping[str, float] = QUANTILES,
) -> Result:
    """Return the result with the tables and the summary that follow from what happened: in a run, or elsewhere."""
    tables = cache(lambda: Tables(scenario, outcome))  # when the first of them is wanted
    builders: dict[str, Callable[[], Table | None]] = {
        "tasks": lambda: tables().tasks(),
        "jobs": lambda: tables().jobs(),
        "units": lambda: tables().units(),
        "labels": lambda: labels_of(scenario.workload),
        "segments": lambda: tables().segments_table(),
        "utilization": lambda: sampled(tables()),
        "applications": lambda: applications.table(tables()) if applications.has_applications(tables()) else None,
    }
    return Result(
        outcome,
        provenance,
        builders,
        lambda: summarize(tables(), percentiles, warm_up, quantiles),
    )


def resources_of(scenario: Scenario) -> dict[str, list[str]]:
    """Return the names of the processor types that run nothing, which overall figures leave out, if there are any."""
    names = [scenario.datacenter.processor_types[code].name for code in scenario.resources]
    return {"resources": names} if names else {}


def locate_error(failed: ErrorWithoutLine, scenario: Scenario, on_message: Callable[[str], None] | None) -> PolicyError:
    """Return the error with its file and line: plain Python knows them, so the run is repeated there until it fails.

    Returns the error as it was if the run does not fail there after the same number of events, or is interrupted.
    """
    n_events = failed.n_events
    if on_message is not None:
        on_message(f"the policy failed after {n_events:,} events; repeating them in plain Python, which knows the line")
    try:
        simulate(scenario, engine="reference", on_progress=lambda progress: progress.n_events > n_events)
    except PolicyError as found:
        return found
    except (InputError, KeyboardInterrupt):
        pass
    return failed


def check_options(percentiles: str, warm_up: WarmUp | None) -> None:
    """Raise :class:`InputError` for an unknown method or rule."""
    if percentiles not in METHODS:
        raise InputError([Problem(("percentiles",), "one of " + ", ".join(METHODS), repr(percentiles))])
    if warm_up is not None:
        check_warm_up(warm_up)


def unit_order_of(policy: OnlinePolicy, scenario: Scenario) -> np.ndarray | None:
    """Return the order in which the policy wants the units for the scenario's seed, if not (rack, shelf)."""
    if type(policy).unit_order is OnlinePolicy.unit_order:
        return None  # draws no stream, which would take a thirtieth of a small run
    n_units = scenario.datacenter.n_units
    order = policy.unit_order(n_units, stream(scenario.seed, "policy.order"))
    if order is not None and not np.array_equal(np.sort(order), np.arange(n_units)):
        raise PolicyError(f"policy {title_of(policy)}: unit_order must return a permutation")
    return order


@dataclass(frozen=True)
class _Idle(OnlinePolicy):
    """Starts nothing: the loop is bound to this while a batch policy places the tasks."""

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        return nothing()
