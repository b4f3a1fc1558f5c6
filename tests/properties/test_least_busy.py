"""How many tasks run on each node of a large cluster: both engines say the same where this is kept, for requests on one
node and on several, and along with scores of nodes; on thousands of nodes a plain search finds the same node."""

import os
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import vinesim as vs
from tests.properties.equivalence import differences, mostly_interpreted, run, unlike
from tests.properties.test_request_gangs import wrong
from tests.real_nodes import real_scenario
from tests.requests_scenarios import request_scenario, with_gangs
from tests.strategies import all_options
from vinesim.core import features
from vinesim.policies import (
    OnlinePolicy,
    best_node,
    first_free_at,
    least_busy,
    next_pending,
    node_tasks,
    nothing,
    oldest_pending,
    start,
)
from vinesim.policies.registry import policies

N_SCENARIOS = int(os.environ.get("VINESIM_SCENARIOS", "60"))


@pytest.fixture
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers are kept however few nodes there are."""
    monkeypatch.setattr(features, "FEW", 0)


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize(("on_several", "engine"), [(False, "interpreted"), (True, "compiled")])
def test_the_engines_agree(on_several, engine):
    choices = all_options(policies()["fcfs"])
    for seed in range(N_SCENARIOS):
        case = request_scenario(seed, "fcfs", choices[seed % len(choices)], gangs=False)
        case = with_gangs(case, seed, early=True) if on_several else case
        compiled = run(case, engine)
        assert unlike(compiled, run(case, "reference")) == [], seed
        assert list(wrong(case, compiled)) == [], seed


def busiest(model: Any, state: Any, task: int, node: int, view: Any) -> int:
    return node_tasks(model, state, node)


@dataclass(frozen=True)
class Both(OnlinePolicy):
    """Every second task goes to the least busy node, the others to the busiest one with room."""

    name: ClassVar[str] = "test_both"
    source: ClassVar[str] = "tests"
    groups: ClassVar[tuple[str, ...]] = ("application",)

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        while task >= 0:
            if task % 2 == 0:
                for p in range(len(model.affinity)):
                    unit = least_busy(model, state, task, p)
                    if unit >= 0:
                        return start(task, unit)
            else:
                node = best_node(model, state, view, task, busiest)
                if node >= 0:
                    return start(task, first_free_at(model, state, task, node))
            task = next_pending(model, state, task)
        return nothing()


@dataclass(frozen=True)
class OwnOrder(OnlinePolicy):
    """Each request goes to the least busy node, of units in random order: a node's do not lie side by side."""

    name: ClassVar[str] = "test_own_order"
    source: ClassVar[str] = "tests"
    groups: ClassVar[tuple[str, ...]] = ("application",)

    def unit_order(self, n_units: int, random: np.random.Generator) -> np.ndarray:
        return random.permutation(n_units)

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        while task >= 0:
            for p in range(len(model.affinity)):
                unit = least_busy(model, state, task, p)
                if unit >= 0:
                    return start(task, unit)
            task = next_pending(model, state, task)
        return nothing()


@dataclass(frozen=True)
class BothInOwnOrder(Both):
    """The same with units in random order."""

    name: ClassVar[str] = "test_both_in_own_order"

    def unit_order(self, n_units: int, random: np.random.Generator) -> np.ndarray:
        return random.permutation(n_units)


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize(("on_several", "engine"), mostly_interpreted((False, True), (False,)))
def test_the_engines_agree_where_a_policy_has_an_order_of_units(on_several, engine):
    for seed in range(N_SCENARIOS):
        case = request_scenario(seed, OwnOrder, gangs=False)
        case = with_gangs(case, seed) if on_several else case
        compiled = run(case, engine)
        assert unlike(compiled, run(case, "reference")) == [], seed
        assert list(wrong(case, compiled)) == [], seed


@pytest.mark.filterwarnings("ignore:network")
@pytest.mark.parametrize(("policy", "engine"), mostly_interpreted((Both, BothInOwnOrder), (Both,)))
def test_the_engines_agree_where_a_policy_also_scores_nodes(policy, engine):
    for seed in range(N_SCENARIOS):
        assert differences(real_scenario(seed, policy), engine) == [], seed


def test_of_thousands_of_nodes_it_is_the_one_that_a_plain_search_finds():
    n_nodes, n, slots = 4_300, 12_000, 2
    random = np.random.default_rng(5)
    took_us = np.where(random.integers(0, 3, n) == 0, np.inf, random.uniform(100.0, 3_000.0, n))
    arrival = np.arange(n, dtype=float)
    nothing_ = np.zeros(n)
    work = vs.Workload(
        job_task_type=nothing_,
        job_first=np.arange(n + 1),
        arrival_us=arrival,
        operations=took_us,
        data_bytes=nothing_,
        data_rack=nothing_,
        data_shelf=nothing_,
        preferred_type=nothing_ - 1,
        demand=nothing_ + 1,
        task_types=(vs.TaskType("REQUEST"),),
    )
    node = np.arange(n_nodes)
    center = vs.Datacenter(0 * node, node // 100, node % 100, (vs.ProcessorType("GPU", capacity=float(slots)),))
    case = vs.Scenario(center, work, "fcfs", affinity=np.ones((1, 1)))
    found = run(case, "compiled").tasks["unit"]

    n_tasks, ends, expected = np.zeros(n_nodes, int), np.full((n_nodes, slots), -1.0), []
    for task in range(n):
        now = arrival[task]
        n_tasks = (ends > now).sum(axis=1)
        least = int(np.argmin(np.where(n_tasks < slots, n_tasks, slots)))
        expected.append(least)
        ends[least, int(np.argmax(ends[least] <= now))] = now + took_us[task]
        assert n_tasks[least] < slots
    assert found.tolist() == expected
