"""VineSim itself, in the two forms that are measured: the event loop alone, and the whole of simulate()."""

import math
from collections.abc import Callable

import vinesim as vs
from vinesim.core.code import INLINED_FROM, Code
from vinesim.engine.compiled import CompiledRun
from vinesim.engine.engine_choice import code_of
from vinesim.engine.simulate import online_policy_for, unit_order_of
from vinesim.model.streams import stream_seed
from vinesim.policies.registry import resolve
from vinesim.state.build import build_model
from vinesim.state.layout import GO_ON

TASK_COLUMNS = ("operations", "data_bytes", "data_rack", "data_shelf", "preferred_type")


def built(scenario: vs.Scenario, *, is_inlined: bool = True) -> CompiledRun:
    """A run that is ready for its first event: model and state built, loop compiled with the policy in it or not."""
    policy = resolve(scenario.policy, scenario.options)
    online = online_policy_for(policy, scenario)
    model = build_model(scenario, online.groups, unit_order_of(online, scenario))
    code = code_of(scenario, model, policy, online)
    made = (_Inlined if is_inlined else _InSlot)(code.decide, code.own, lambda: code.features)
    run = CompiledRun(scenario, model, policy, online, made, stream_seed(scenario.seed, "policy"))
    run.compile()
    return run


def advance(run: CompiledRun, n_events: int) -> None:
    """Handle ``n_events`` events, or those that there are: the loop stops to make room for segments that ended
    early."""
    last = run.n_events + n_events
    while run.n_events < last and run.advance(math.inf, math.inf, last - run.n_events) == GO_ON:
        pass


def loop_of(scenario: vs.Scenario, *, is_inlined: bool = True) -> Callable[[], object]:
    """The event loop alone, from the first event to the last."""
    run = built(scenario, is_inlined=is_inlined)

    def loop() -> object:
        advance(run, 1 << 60)
        if run.n_done != scenario.workload.n_tasks:
            raise RuntimeError("not all tasks are done")
        return run.columns()["task_finish_us"]

    return loop


def simulation_of(scenario: vs.Scenario) -> Callable[[], object]:
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


class _Inlined(Code):
    def is_inlined(self, n_tasks: int) -> bool:
        return True


class _InSlot(Code):
    def is_inlined(self, n_tasks: int) -> bool:
        return False
