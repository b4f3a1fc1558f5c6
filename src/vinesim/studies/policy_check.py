"""Try a policy on small generated scenarios, twice on both engines, and check what it declares."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.engine.simulate import simulate
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.model.errors import VineSimError
from vinesim.model.result import ExitReason
from vinesim.model.scenario import Scenario
from vinesim.policies.contract import Policy
from vinesim.policies.documents import scenario_from
from vinesim.result import Result
from vinesim.studies.policy_features import BASE, FEATURES, alone, together

N_JOBS = 60
PROMISES = {
    "starts_in_order": "tasks start in order of arrival",
    "work_conserving": "no unit is idle while a task waits that could start on it",
}
ALIKE: Mapping[str, Any] = {  # all units are equally fast, so that a waiting task could have started on any of them
    "datacenter": {"racks": [{"units": {"GPU": 3}}]},
    "workload": {"generator": "identical", "options": {"n_jobs": N_JOBS, "tasks_per_job": 2}},
    "arrivals": {"poisson": {"mean": 20}},
}
SCENARIOS: Mapping[str, Mapping[str, Any]] = {
    "equal units, often busy": ALIKE,
    "equal units, mostly idle": {**ALIKE, "arrivals": {"poisson": {"mean": 200}}},
    "two types, two kinds of tasks": {
        "datacenter": {"racks": [{"units": {"CPU_INTEL": 4, "GPU": 2}}, {"units": {"GPU": 1}}]},
        "workload": {"generator": "mix", "options": {"n_jobs": N_JOBS, "shares": {"INT": 1, "MEM": 2}}},
        "arrivals": {"poisson": {"mean": 60}},
    },
}


@dataclass(frozen=True)
class Checked:
    """What was checked, and the faults, each in a sentence."""

    done: tuple[str, ...]
    faults: tuple[str, ...]
    features: tuple[str, ...] = ()  # features with which it was also tried, one at a time
    left_out: tuple[str, ...] = ()  # features that it does not support


def check(policy: Policy) -> Checked:
    """Run a policy on all scenarios, on both engines, then with each feature that it supports.

    The check stops at the first scenario with faults, because others would mostly repeat them.
    """
    done = ["the same tables in two runs with one seed"]
    if getattr(policy, "compiled", True):
        done.append("the same tables on both engines")
    done += ["the same tables with another seed"] if policy.deterministic else []
    done += [words for promise, words in PROMISES.items() if getattr(policy, promise)]
    done += [] if policy.may_overcommit else ["no unit is loaded beyond its capacity"]
    features = list[str]()
    for name, case, is_plain, on_both in _cases(policy, features):
        try:
            faults = [*_faults(case, policy, is_plain, on_both)]
        except VineSimError as wrong:
            faults = [str(wrong)]
        if faults:
            return Checked(tuple(done), tuple(f"{name}: {fault}" for fault in faults))
    return Checked(tuple(done), (), tuple(features), tuple(name for name in FEATURES if name not in features))


def _cases(policy: Policy, features: list[str]) -> Iterator[tuple[str, Scenario, bool, bool]]:
    """Yield the scenarios with their names, whether they are plain, in which the policy keeps all its promises, and
    whether both engines run them; the features that the policy takes are added to the list once it was tried with
    them."""
    may_compile = getattr(policy, "compiled", True)
    for name, document in SCENARIOS.items():
        yield name, scenario_of(document, policy), True, may_compile
    base = scenario_of(BASE, policy)
    for name, case in alone(base, policy):
        yield name, case, False, False
        features.append(name)
    for names, case in together(base, policy, features) if may_compile else ():
        yield ", ".join(names), case, False, True


def scenario_of(document: Mapping[str, Any], policy: Policy) -> Scenario:
    """Return the scenario of a document under the policy; units have powers if the policy needs them."""
    case = scenario_from(YamlSource.of({**document, "policy": policy}), Path())
    if not getattr(policy, "needs_power", False):
        return case
    types = (replace(one, dynamic_power_w=50.0 + 25.0 * i) for i, one in enumerate(case.datacenter.processor_types))
    return replace(case, datacenter=replace(case.datacenter, processor_types=tuple(types)))


def _faults(scenario: Scenario, policy: Policy, is_plain: bool, on_both: bool) -> Iterator[str]:
    """Yield what is wrong in one scenario; only in plain ones, whether the policy keeps what it promises."""
    first, other_seed = simulate(scenario, engine="reference"), replace(scenario, seed=scenario.seed + 1)
    if is_plain and _differ(first, simulate(scenario, engine="reference")):
        yield "two runs with one seed differ: draw random numbers with random_below only, and keep nothing in globals"
        return
    if on_both and (task := _differ(first, simulate(scenario, engine="compiled"))):
        yield f"the engines differ, first at task {task - 1}: the code means something else when it is compiled"
    if is_plain and policy.deterministic and _differ(first, simulate(other_seed, engine="reference")):
        yield "another seed changes the outcome: declare deterministic = False"
    began, n_left = first.outcome.task_init_us, int((~np.isfinite(first.outcome.task_finish_us)).sum())
    if first.exit_reason is not ExitReason.ALL_DONE and not policy.may_drop:
        yield f"{n_left} of {scenario.workload.n_tasks} tasks never start"
        return
    if is_plain and policy.starts_in_order and (np.diff(began) < 0).any():
        task = int(np.flatnonzero(np.diff(began) < 0)[0])
        yield f"task {task} starts after a later one, but it declares starts_in_order"
    is_alike = is_plain and len(np.unique(scenario.datacenter.unit_type)) == 1
    if is_alike and policy.work_conserving and (task := _kept_idle(scenario, first)) >= 0:
        yield f"a unit is idle while task {task} waits for one, but it declares work_conserving"


def _differ(one: Result, other: Result) -> int:
    """Return the first task whose unit or times differ, plus 1; 0 if all are equal."""
    columns = ("task_unit", "task_init_us", "task_start_us", "task_finish_us")
    pairs = [(getattr(one.outcome, name), getattr(other.outcome, name)) for name in columns]
    is_other = np.any([(a != b) & ~((a != a) & (b != b)) for a, b in pairs], axis=0)
    return int(np.argmax(is_other)) + 1 if is_other.any() else 0


def _kept_idle(scenario: Scenario, result: Result) -> int:
    """Return a task that waited although a unit was idle; -1 if there is none. All units can run all tasks."""
    work, outcome = scenario.workload, result.outcome
    arrival = np.repeat(work.arrival_us, np.diff(work.job_first))
    n_units = scenario.datacenter.n_units
    for task in np.flatnonzero(outcome.task_init_us > arrival):
        low, high = arrival[task], outcome.task_init_us[task]
        busy = np.minimum(outcome.task_finish_us, high) - np.maximum(outcome.task_init_us, low)
        if np.maximum(busy, 0.0).sum() < (high - low) * n_units * (1 - 1e-9):
            return int(task)
    return -1
