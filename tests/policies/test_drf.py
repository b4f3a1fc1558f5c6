"""Dominant resource fairness: the example of its paper, and its rule against a count of what users hold."""

from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.gangs import gang_scenario
from tests.real_nodes import real_scenario
from tests.strategies import Limits, seeded_scenario
from vinesim.engine import reference
from vinesim.state import queries
from vinesim.state.layout import START

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")


def with_withdrawals(case, seed):
    """Half of the jobs are withdrawn, before they start or after."""
    random, work = np.random.default_rng([seed, 1]), case.workload
    late = np.where(random.integers(0, 2, work.n_jobs), random.uniform(0, 9, work.n_jobs), np.inf)
    return replace(case, workload=replace(work, withdraw_us=work.arrival_us + late))


KINDS = {
    "single units": lambda seed: seeded_scenario(seed, "drf", {}, Limits(outages=True)),
    "withdrawn": lambda seed: with_withdrawals(seeded_scenario(seed, "drf", {}, Limits(outages=True)), seed),
    "real nodes": lambda seed: real_scenario(seed, "drf", seed % 2 == 0),
    "gangs": lambda seed: gang_scenario(seed, "drf"),
}


def example(n=10):
    """9 CPUs and 18 GB; A's tasks ask for (1, 4), B's for (3, 1). All wait from the beginning and run for long."""
    is_b = np.arange(2 * n) >= n
    work = vs.Workload(
        np.zeros(2 * n), np.arange(2 * n + 1), np.zeros(2 * n), np.full(2 * n, 100.0), *np.zeros((3, 2 * n)),
        np.full(2 * n, -1), demand=np.where(is_b, 3.0, 1.0), companions={"MEMORY": np.where(is_b, 1.0, 4.0)},
        user=is_b.astype(int), user_names=("A", "B"), task_types=(vs.TaskType("T"),),
    )  # fmt: skip
    types = (vs.ProcessorType("CPU", capacity=9.0), vs.ProcessorType("MEMORY", capacity=18.0))
    center = vs.Datacenter([0, 1], [0, 0], [0, 0], types)
    return vs.Scenario(center, work, "drf", affinity=[[1.0], [0.0]], horizon_us=50.0)


@pytest.mark.parametrize("engine", ["reference", pytest.param("compiled", marks=pytest.mark.slow)])
def test_the_example_of_the_paper(engine):
    """Ghodsi et al., section 4.1: 3 tasks of A and 2 of B; 9 CPUs and 14 GB are in use."""
    case = example()
    running = vs.simulate(case, engine=engine).tasks["unit"] >= 0
    is_b = case.workload.user == 1
    assert ((running & ~is_b).sum(), (running & is_b).sum()) == (3, 2)
    assert case.workload.demand[running].sum() == 9.0
    assert case.workload.companions["MEMORY"][running].sum() == 14.0


def test_of_users_with_equal_shares_the_oldest_task_starts():
    """One CPU at a time; all shares are 0 each time, so that users take turns only as their tasks arrived."""
    case = example(2)
    work = replace(
        case.workload, demand=np.full(4, 9.0), companions=None, operations=np.full(4, 5.0), user=[1, 0, 0, 1]
    )
    assert vs.simulate(replace(case, workload=work), engine="reference").tasks["init_us"].tolist() == [0, 5, 10, 15]


def shares(model, state):
    """The dominant share of each user, from what the units hold now."""
    n_types = len(model.affinity)
    total = np.bincount(model.unit_type, model.unit_capacity, n_types)
    held = {}
    for tasks in state.running:
        for task in tasks:
            mine = held.setdefault(queries.user(model, state, task), np.zeros(n_types))
            for unit, amount in state.held[task]:
                mine[model.unit_type[unit]] += amount
    with np.errstate(invalid="ignore"):
        return {of: float(np.nanmax(amounts / total)) for of, amounts in held.items()}


def with_users(case, seed):
    work = case.workload
    users = np.random.default_rng(seed).integers(0, 3, work.n_jobs)
    return replace(case, workload=replace(work, user=users, user_names=("a", "b", "c")))


@pytest.mark.parametrize("kind", KINDS)
def test_the_user_with_the_lowest_dominant_share_starts_next(kind, monkeypatch):
    """No task of a user with a lower share has room."""
    decision, seen = reference.decision, []

    def watched(decide, model, state, view):
        action = decision(decide, model, state, view)
        if action.kind == START:
            held = shares(model, state)
            mine = held.get(queries.user(model, state, action.task), 0.0)
            for task in state.pending:
                of = held.get(queries.user(model, state, task), 0.0)
                if of < mine - 1e-9:
                    assert queries.fastest_free(model, state, task) < 0
                    seen.append(task)
        return action

    monkeypatch.setattr(reference, "decision", watched)
    for seed in range(60 if kind == "withdrawn" else 12):
        vs.simulate(with_users(KINDS[kind](seed), seed), engine="reference")
    assert seen
