"""Routers of requests to serving engines: each decision by a direct reading of its rule, and both engines alike."""

from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.fleets import LARGE, SMALL, fleet
from tests.policies.test_battery import watched

ROUTERS = ("least_requests", "least_tokens", "power_of_two", "prefix_aware")
WEIGHTS = [(1.0, 1.0), (2.0, 1.0), (0.3, 0.9)]


def requests_on(state, unit):
    return len(state.engines.of_unit[unit].waiting) + len(state.engines.of_unit[unit].running)


def tokens_on(state, unit):
    """In memory, and of prompts still to be computed, after the last step that ended."""
    engine, now_us = state.engines.of_unit[unit], state.now_us
    total = 0
    for one in (*engine.waiting, *engine.running):
        done = one.computed + (one.new if engine.end_us <= now_us and one in engine.running else 0)
        total += done + (0 if one.decodes else one.total - done)
    return total


def decisions(scenario):
    """Run and return each decision: the loads of all engines by requests and by tokens, the task, and the unit."""
    found = []

    def note(policy, model, state, view, action, before):
        if action.task >= 0:
            units = range(len(model.unit_type))
            loads = [requests_on(state, u) for u in units], [tokens_on(state, u) for u in units]
            found.append((*loads, action.task, action.unit))

    watched(scenario, note)
    assert len(found) == scenario.workload.n_jobs
    return found


def weights_of(scenario):
    center = scenario.datacenter
    return scenario.affinity[center.unit_type, 0]


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("seed", range(3))
def test_least_requests(seed, weights):
    scenario = fleet("least_requests", seed=seed, weights=weights)
    for requests, _, _, unit in decisions(scenario):
        assert unit == np.argmin((np.array(requests) + 1) / weights_of(scenario))


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("seed", range(3))
def test_least_tokens(seed, weights):
    scenario = fleet("least_tokens", seed=seed, weights=weights)
    for _, tokens, task, unit in decisions(scenario):
        own = scenario.workload.input_tokens[task]
        assert unit == np.argmin((np.array(tokens) + own) / weights_of(scenario))


def test_least_tokens_counts_a_long_prompt():
    """One long prompt weighs more than several short ones: three short requests go to the other engine."""
    made = fleet("least_tokens", 4, types=(LARGE, LARGE), gap_us=0.0)
    work = replace(made.workload, input_tokens=[300, 20, 20, 20], output_tokens=[5] * 4)
    expected = {"least_tokens": [0, 1, 1, 1], "least_requests": [0, 1, 0, 1]}
    for name, units in expected.items():
        result = vs.simulate(replace(made, workload=work, policy=name), engine="reference")
        assert result.tasks["unit"].tolist() == units


@pytest.mark.parametrize("weights", WEIGHTS)
def test_power_of_two_takes_none_that_is_worse_than_all_others(weights):
    n_not_least = 0
    for seed in range(4):
        scenario = fleet("power_of_two", seed=seed, types=(LARGE, SMALL, LARGE, SMALL), weights=weights)
        for requests, _, _, unit in decisions(scenario):
            load = (np.array(requests) + 1) / weights_of(scenario)
            assert (np.delete(load, unit) >= load[unit]).any()
            n_not_least += load[unit] > load.min()
    assert n_not_least > 10  # it does not look at all of them


def test_power_of_two_compares_two_different_engines():
    for requests, _, _, unit in decisions(fleet("power_of_two", types=(LARGE, LARGE))):
        assert requests[unit] == min(requests)


def test_power_of_two_draws_all_engines_alike():
    """Far apart, all engines are idle, so each of 6 gets a sixth, within 5 standard deviations."""
    n = 3000
    result = vs.simulate(fleet("power_of_two", n, types=(LARGE,) * 6, gap_us=1e5), engine="reference")
    counts = np.bincount(result.tasks["unit"], minlength=6)
    assert abs(counts - n / 6).max() < 5 * np.sqrt(n * (1 / 6) * (5 / 6))
    assert counts.sum() == n


@pytest.mark.parametrize("name", ROUTERS)
def test_a_busy_unit_that_is_no_engine_is_passed_over(name):
    """Requests go to a plain unit too while it is idle; the engine always has room."""
    cpu = vs.ProcessorType("CPU")
    made = fleet(name, 40)
    center = vs.Datacenter.of([("LARGE", 0, 0), ("CPU", 0, 1)], (LARGE, cpu))
    scenario = vs.Scenario(center, made.workload, name, affinity=[[1.0], [0.001]])
    result = vs.simulate(scenario, engine="reference")
    assert result.exit_reason == vs.ExitReason.ALL_DONE
    assert (result.tasks["init_us"] == result.tasks["arrival_us"]).all()


@pytest.mark.parametrize("policy", ROUTERS)
def test_both_engines_agree(policy):
    for seed, types in enumerate([(LARGE, SMALL, LARGE), (SMALL,) * 5, (LARGE, SMALL)]):
        scenario = fleet(policy, 120, seed=seed, types=types, weights=(1.7, 1.0))
        first, second = (vs.simulate(scenario, engine=engine) for engine in ("reference", "compiled"))
        for name in first.tasks:
            assert first.tasks[name].tobytes() == second.tasks[name].tobytes(), name


@pytest.mark.parametrize(("margin", "units"), [(0, [0, 1, 0, 1]), (2, [0, 0, 0, 1]), (9, [0, 0, 0, 0])])
def test_prefix_aware_goes_to_the_prefix_until_too_many_requests_are_there(margin, units):
    """The first engine is the only one that has the prefix, and each request stays long."""
    kind = vs.ProcessorType("LARGE", batching=replace(LARGE.batching, prefix_caching=True))
    made = fleet("prefix_aware", 4, types=(LARGE, LARGE), options={"margin": margin})
    center = replace(made.datacenter, processor_types=(kind,))
    work = replace(
        made.workload, arrival_us=np.arange(4) * 1e3, input_tokens=[64] * 4, output_tokens=[200] * 4,
        prefix=[5] * 4, prefix_tokens=[64] * 4,
    )  # fmt: skip
    result = vs.simulate(replace(made, datacenter=center, workload=work), engine="reference")
    assert result.tasks["unit"].tolist() == units
