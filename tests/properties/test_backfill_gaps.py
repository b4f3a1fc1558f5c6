"""Conservative backfilling on nodes of several classes: it plans as a search of all times and of all units does."""

from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.properties.equivalence import run, unlike
from vinesim.model.workload import ANYWHERE, NO_GANG, RACK
from vinesim.policies.backfill import conservative_of_nodes as policy


def mixed(seed, n_jobs=24):
    """Gangs on nodes of two or three types, which some may all use and others one of, with estimates that are wrong;
    every third time they take parts of nodes, and every fourth gang stays within a rack."""
    random = np.random.default_rng(seed)
    n_types = int(random.integers(2, 4))
    n_nodes = 4 * n_types
    size = random.choice([1, 1, 2, 3, 4], n_jobs)
    n, took = int(size.sum()), random.integers(1, 20, n_jobs).astype(float)
    wrong = random.choice([1.0, 1.0, 2.0, 4.0, 0.5], n_jobs)
    within = np.where(size > 1, np.where(np.arange(n_jobs) % 4 == 3, RACK, ANYWHERE), NO_GANG)
    runs_on = np.vstack([np.ones(n_types), np.eye(n_types)]).T
    speed = random.choice([1.0, 1.0, 2.0], n_types)
    work = vs.Workload(
        random.integers(0, n_types + 1, n_jobs),
        np.concatenate([[0], np.cumsum(size)]),
        np.sort(random.integers(0, 40, n_jobs)).astype(float),
        np.repeat(took, size),
        *np.zeros((3, n)),
        np.full(n, -1),
        demand=np.repeat(random.choice([0.5, 1.0], n_jobs), size) if seed % 3 == 0 else None,
        estimate_us=np.repeat(took * wrong, size),
        gang_within=within,
        task_types=tuple(vs.TaskType(f"T{i}") for i in range(n_types + 1)),
    )
    node = np.arange(n_nodes)
    types = tuple(vs.ProcessorType(f"P{i}") for i in range(n_types))
    center = vs.Datacenter(node // 2 % n_types, node // (2 * n_types), node % (2 * n_types), types)
    network = vs.Network(None, None, None, 0.0)
    return vs.Scenario(center, work, "conservative_backfill", affinity=runs_on * speed[:, None], network=network)


def test_it_plans_as_a_search_of_all_times_and_units_does(monkeypatch):
    looks, look_up_needs, latest_gain = [0, 0], policy.look_up_needs, policy.latest_gain

    def needs_all(model, state, scratch, task):
        look_up_needs(model, state, scratch, task)
        scratch.n_units[task], scratch.is_simple[task] = 0, 0

    def counted(model, state, scratch, task, now_us, before_us):
        found = latest_gain(model, state, scratch, task, now_us, before_us)
        looks[int(found > now_us)] += 1
        return found

    for seed in range(30):
        case = mixed(seed)
        with monkeypatch.context() as patch:
            patch.setattr(policy, "latest_gain", counted)
            found = run(case, "reference")
        with monkeypatch.context() as patch:
            patch.setattr(policy, "look_up_needs", needs_all)
            assert unlike(found, run(case, "reference")) == [], seed
    assert min(looks) > 50


@pytest.mark.parametrize("passes_at", ["instant", "event"])
def test_the_engines_agree_on_mixed_nodes(passes_at):
    for seed in range(30):
        case = replace(mixed(seed), options={"passes_at": passes_at})
        assert unlike(run(case, "compiled"), run(case, "reference")) == [], seed
