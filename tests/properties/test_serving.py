"""Serving engines: the naive engine, step by step, and the compiled one, in stretches of steps, say the same."""

import math
from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.policies.kinds.router import Router
from tests.properties.equivalence import mostly_slow, run, unlike
from tests.serving import disaggregated, serving_scenario, sharing
from tests.serving_plainly import ROUTERS, serve
from tests.strategies import SeededDice
from vinesim.engine.many import simulate_many

POLICIES = {"router": Router(), "two_each": Router(most=2), "high": "high", "edf": "edf"}


@pytest.mark.parametrize("name", mostly_slow(POLICIES, {"router"}))
def test_the_engines_agree(name):
    """Whatever a router sees, which adds up to what it decides; with memories that are full, and runs cut off."""
    ends, n_put_back, n_compared = set(), 0, 0
    for seed in range(100 if name == "router" else 300):
        case = serving_scenario(SeededDice(seed), POLICIES[name])
        compiled, reference = run(case, "compiled"), run(case, "reference")
        assert unlike(compiled, reference) == [], seed
        ends.add(str(reference.exit_reason))
        if reference.outcome.serving is not None:
            n_compared += 1
            n_put_back += reference.outcome.serving.n_preemptions.sum()
    assert ends == {"ALL_DONE", "HORIZON"}
    assert n_compared > 80
    assert n_put_back > 40


@pytest.mark.parametrize("name", mostly_slow(("router", "two_each", "high"), {"router"}))
def test_the_engines_agree_where_some_only_prefill_or_only_decode(name):
    ends, n_put_back, n_sent = set(), 0, 0
    for seed in range(60 if name == "router" else 200):
        case = disaggregated(SeededDice(seed), POLICIES[name])
        compiled, reference = run(case, "compiled"), run(case, "reference")
        assert unlike(compiled, reference) == [], seed
        ends.add(str(reference.exit_reason))
        n_sent += len(reference.outcome.early.task)
        n_put_back += reference.outcome.serving.n_preemptions.sum()
    assert ends == {"ALL_DONE", "HORIZON"}
    assert n_sent > 100
    assert n_put_back > 10


@pytest.mark.parametrize("make", [serving_scenario, disaggregated, sharing])
def test_the_documentation_says_all_that_the_engines_do(make):
    """Who simulates what it says, and nothing else, gets the same times to the last bit; with a profile, whose tables
    may be added up in another order, to 11 digits."""
    n_put_back = n_found = n_sent = n_compared = 0
    for seed in range(160):
        case = make(SeededDice(seed), tuple(ROUTERS)[seed % len(ROUTERS)])
        kinds = [case.datacenter.processor_types[p].batching for p in case.datacenter.unit_type]
        if None in kinds:
            continue
        case = replace(case, horizon_us=math.inf, workload=replace(case.workload, after=None, after_first=None))
        requests, engines = serve(case)
        outcome = vs.simulate(case, engine="reference").outcome
        found, digits = outcome.serving, 1e-11 if any(kind.step.profile for kind in kinds) else 0.0
        used = [unit for unit in range(len(engines)) if not np.isnan(found.memory_peak[unit])]
        for plainly, simulated in (
            ([one.start_us for one in requests], outcome.task_start_us),
            ([one.scheduled_us for one in requests], found.scheduled_us),
            ([one.first_token_us for one in requests], found.first_token_us),
            ([one.finish_us for one in requests], outcome.task_finish_us),
            ([one.n_put_back for one in requests], found.n_preemptions),
            ([one.found for one in requests], found.found_tokens),
            ([engines[unit].peak for unit in used], found.memory_peak[used]),
            ([engines[unit].memory_us for unit in used], found.memory_us[used]),
        ):
            np.testing.assert_allclose(simulated, plainly, rtol=digits, atol=0, err_msg=f"seed {seed}")
        n_compared += 1
        n_put_back += found.n_preemptions.sum()
        n_found += found.found_tokens.sum()
        n_sent += sum(one.cache_us > one.first_token_us for one in requests)
    assert n_compared > 60
    assert n_put_back > 20
    assert n_found > 20
    assert (n_sent > 20) == (make is disaggregated)


def test_many_runs_are_those_of_each_alone():
    for seed in range(8):
        case = disaggregated(SeededDice(seed), "power_of_two")
        runs = simulate_many(case, seeds=[seed, seed + 1], record=("serving.first_token_us", "serving.transfer_us"))
        for k in range(2):
            serving = vs.simulate(replace(case, seed=seed + k), engine="reference").summary["serving"]
            for name in ("first_token_us", "transfer_us"):
                found = runs[f"serving.{name}.mean"][k] if f"serving.{name}.mean" in runs else np.nan
                wanted = serving[name]["mean"]
                assert found == pytest.approx(np.nan if wanted is None else wanted, rel=0, abs=0, nan_ok=True), seed


def test_each_request_makes_its_tokens_in_order():
    """On the reference engine: it is scheduled, makes its first token, and is done; memories hold what fits."""
    for seed in range(60):
        case = serving_scenario(SeededDice(seed), "high")
        outcome = vs.simulate(case, engine="reference").outcome
        if outcome.serving is None:
            continue
        is_served = np.isfinite(outcome.serving.first_token_us)
        start_us, serving = outcome.task_start_us[is_served], outcome.serving
        assert (start_us <= serving.scheduled_us[is_served]).all(), seed
        assert (serving.scheduled_us[is_served] < serving.first_token_us[is_served]).all(), seed
        is_done = is_served & np.isfinite(outcome.task_finish_us)
        has_one = case.workload.output_tokens == 1
        assert (serving.first_token_us == outcome.task_finish_us)[is_done & has_one].all(), seed
        assert (serving.first_token_us < outcome.task_finish_us)[is_done & ~has_one].all(), seed
        for unit in np.flatnonzero(~np.isnan(serving.memory_peak)):
            kind = case.datacenter.unit_type[outcome.unit_order[unit]]
            assert serving.memory_peak[unit] <= case.datacenter.processor_types[kind].batching.memory_tokens, seed
