"""VineSim itself, in the two forms that are measured: the event loop alone, and the whole of simulate()."""

import math
from collections.abc import Callable
from typing import Any

import vinesim as vs
from vinesim.engine.binding import INLINED_FROM, Bound, bound
from vinesim.engine.compiled import CompiledRun
from vinesim.engine.contract import GO_ON
from vinesim.engine.simulate import deciding
from vinesim.model.streams import stream, stream_seed
from vinesim.policies.registry import resolve
from vinesim.state.build import build_model

TASK_COLUMNS = ("operations", "data_bytes", "data_rack", "data_shelf", "preferred_type")


def built(scenario: vs.Scenario, bind: Callable[[Any, str], Bound] = bound) -> CompiledRun:
    """A run that is ready for its first event: model and state built, loop compiled."""
    policy = deciding(resolve(scenario.policy, scenario.options), scenario)
    order = policy.unit_order(scenario.datacenter.n_units, stream(scenario.seed, "policy.order"))
    model = build_model(scenario, policy.groups, order)
    seed = stream_seed(scenario.seed, "policy")
    run = CompiledRun(model, policy, seed, policy.may_overcommit, policy.preempts, bind)
    run.advance(math.inf, math.inf, 0)
    return run


def advance(run: CompiledRun, n_events: int) -> None:
    """Handle so many events, or those that there are: the loop stops to make room for segments that ended early."""
    last = run.n_events + n_events
    while run.n_events < last and run.advance(math.inf, math.inf, last - run.n_events) == GO_ON:
        pass


def loop_of(scenario: vs.Scenario, bind: Callable[[Any, str], Bound] = bound):
    """The event loop alone, from the first event to the last."""
    run = built(scenario, bind)

    def loop():
        advance(run, 1 << 60)
        if run.n_done != scenario.workload.n_tasks:
            raise RuntimeError("not all tasks are done")
        return run.columns()["task_finish_us"]

    return loop


def simulation_of(scenario: vs.Scenario):
    """simulate(): model, state, loop, result with a record for each task; compiled before."""
    loop_of_policy_is_compiled(scenario)
    return lambda: vs.simulate(scenario, engine="compiled").outcome.task_finish_us


def loop_of_policy_is_compiled(scenario: vs.Scenario) -> None:
    """Compile what simulate() takes for a scenario of that size, with the first job only."""
    work = scenario.workload
    n = int(work.job_first[1])
    small = vs.Workload(
        work.job_task_type[:1],
        work.job_first[:2],
        work.arrival_us[:1],
        *(getattr(work, name)[:n] for name in TASK_COLUMNS),
    )
    first = vs.Scenario(scenario.datacenter, small, policy=scenario.policy, options=scenario.options)
    if work.n_tasks >= INLINED_FROM:
        built(first)
    else:
        vs.simulate(first, engine="compiled")
