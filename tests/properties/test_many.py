"""Many runs in one call give the numbers of each run alone, bit for bit."""

import math
from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.properties.equivalence import LIMITS, every_policy, mostly_slow, options_of
from tests.strategies import Limits, seeded_scenario
from vinesim.core import code, loops
from vinesim.engine import blocks
from vinesim.engine.many import simulate_many
from vinesim.policies.contract import BatchPolicy

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
N_RUNS = 5
KINDS = ("test_slots", "test_consolidate", "test_periodic_first_fit")
POLICIES = ("flat", "high", "pref", "closer_to_data", "delay", *KINDS)


def family(seed, policy):
    """A scenario with prices, power and deadlines or not, and arrivals and seeds for its runs; or None for either."""
    random = np.random.default_rng(seed)
    choices = options_of(policy)
    scenario = seeded_scenario(seed, policy, choices[seed % len(choices)], LIMITS.get(policy, Limits()))
    work, center = scenario.workload, scenario.datacenter
    if random.random() < 0.5:
        work = replace(work, deadline_us=work.arrival_us + random.choice([1.0, 5.0, 20.0, np.inf], work.n_jobs))
    if random.random() < 0.5:
        types = tuple(replace(one, price=10.0 + i, idle_power_w=2.0) for i, one in enumerate(center.processor_types))
        center = replace(center, processor_types=types)
        is_linear = any(kind.dynamic_power_w is not None for kind in types)
        power = None if is_linear else random.uniform(1.0, 9.0, scenario.affinity.shape)
        scenario = replace(scenario, datacenter=center, power_w=power)
    scenario = replace(scenario, workload=work)
    if random.random() < 0.3:  # some runs are cut off, some are not
        scenario = replace(scenario, horizon_us=float(np.median(work.arrival_us)) + 20.0)
    gaps = random.choice([0.0, 1.0, 2.0, 10.0 / 3.0], (N_RUNS, work.n_jobs))
    times = np.cumsum(gaps * random.choice([0.1, 1.0, 5.0], (N_RUNS, 1)), axis=1)
    seeds = random.integers(0, 2**40, N_RUNS)
    return scenario, times if random.random() < 0.8 else None, seeds if random.random() < 0.8 else None


def flat(values, before=""):
    found = {}
    for name, value in values.items():
        if isinstance(value, dict):
            found |= flat(value, f"{before}{name}.")
        else:
            found[before + name] = value
    return found


def alone(scenario, times, seeds, k, **options):
    """The numbers of run k as simulate() gives them."""
    work = scenario.workload if times is None else replace(scenario.workload, arrival_us=times[k])
    seed = scenario.seed if seeds is None else int(seeds[k])
    summary = dict(vs.simulate(replace(scenario, workload=work, seed=seed), **options).summary)
    del summary["provenance"]
    summary["jobs"].get("warm_up", {}).pop("rule", None)
    return {name: math.nan if value is None else value for name, value in flat(summary).items()}


def same(one, other):
    return one == other or (one != one and other != other)


def differences(scenario, times, seeds, **options):
    runs = simulate_many(scenario, arrival_us=times, seeds=seeds, **options, engine="compiled")
    found = []
    for k in range(runs.n_rows):
        expected = alone(scenario, times, seeds, k, **options)
        if runs.keys() != expected.keys():
            found.append((k, runs.keys() ^ expected.keys()))
        found += [(k, name, runs[name][k], x) for name, x in expected.items() if not same(runs[name][k], x)]
    return found


@pytest.mark.parametrize("name", mostly_slow(POLICIES, {"pref", "test_slots"}))
def test_each_run_is_as_it_is_alone(name, monkeypatch):
    policy = every_policy()[name]
    for seed in range(6 if issubclass(policy, BatchPolicy) else 15):
        monkeypatch.setattr(blocks, "BLOCK_BYTES", [1, 2000, 1 << 20][seed % 3])  # a run a block, some, all
        assert differences(*family(seed, policy)) == [], f"seed {seed}"


def test_many_tasks_take_the_loop_that_the_policy_is_inlined_into(monkeypatch):
    policy = every_policy()["pref"]
    taken = []
    loop_for = blocks.loop_for
    monkeypatch.setattr(loops, "_loops", {})  # other tests may have compiled the same code, here or elsewhere
    monkeypatch.setattr(code, "is_kept", lambda source, digest: False)
    monkeypatch.setattr(blocks, "loop_for", lambda *given: taken.append(loop_for(*given)) or taken[-1])
    case, times, _ = family(1, policy)
    seeds = np.arange(N_RUNS)
    monkeypatch.setattr(code, "INLINED_FROM", N_RUNS * case.workload.n_tasks + 1)
    few = simulate_many(case, arrival_us=times, seeds=seeds, workers=1, engine="compiled")
    monkeypatch.setattr(code, "INLINED_FROM", N_RUNS * case.workload.n_tasks)
    many = simulate_many(case, arrival_us=times, seeds=seeds, workers=1, engine="compiled")
    assert [loop.policy is None for loop in taken] == [False, True]
    assert all(few[name].tobytes() == many[name].tobytes() for name in few)
    for seed in range(3):
        monkeypatch.setattr(blocks, "BLOCK_BYTES", [1, 2000, 1 << 20][seed % 3])
        monkeypatch.setattr(code, "INLINED_FROM", 0)
        assert differences(*family(seed, policy)) == [], f"seed {seed}"


@pytest.mark.parametrize("warm_up", ["mser5", {"share": 0.3}, {"jobs": 1}])
def test_warm_ups(warm_up):
    done = 0
    for seed in range(15):
        scenario, times, seeds = family(seed, every_policy()["pref"])
        if scenario.workload.n_jobs > 1:
            done += 1
            assert differences(scenario, times, seeds, warm_up=warm_up, percentiles="linear") == []
    assert done > 10
