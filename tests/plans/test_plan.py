"""Plans from the question to the answer: against every point run by hand, resumed, and with each option."""

import json
import math
import shutil
from copy import deepcopy

import numpy as np
import pytest

import vinesim as vs
from tests.plans.conftest import CPUS, GPUS
from vinesim.plans.answer import Status
from vinesim.plans.record import as_document
from vinesim.plans.screen import OVERLOADED
from vinesim.plans.verdicts import Verdict


def constant(mapping):
    """The same plan without anything random."""
    found = deepcopy(mapping)
    found["scenario"]["workload"] = {"generator": "identical", "options": {"n_jobs": 30, "operations": 3e6}}
    found["scenario"]["arrivals"] = {"iat": 60}
    found["choose"]["policy"] = ["high", "earliest_finish"]  # both draw nothing at random
    return found


def every_point(mapping):
    """(price, mean latency or inf) of each point by hand."""
    found = {}
    choose = mapping["choose"]
    for cpus in range(choose[CPUS]["from"], choose[CPUS]["to"] + 1):
        for gpus in range(choose[GPUS]["from"], choose[GPUS]["to"] + 1):
            for policy in choose["policy"]:
                document = {**mapping["scenario"], "policy": policy, "seed": 0}
                document["datacenter"] = {"racks": [{"units": {"CPU_INTEL": cpus, "GPU": gpus}}]}
                (run,) = vs.expand(study := vs.study({"scenario": document}))
                try:
                    from vinesim.studies.expand import scenario_of

                    latency = vs.simulate(scenario_of(study, run), engine="reference").summary["jobs"]["latency_us"]
                    found[cpus, gpus, policy] = 2000 * cpus + 3000 * gpus, latency["mean"]
                except vs.InputError:
                    found[cpus, gpus, policy] = 2000 * cpus + 3000 * gpus, math.inf
    return found


def test_without_randomness_the_answer_is_that_of_enumeration(mapping):
    mapping = {**constant(mapping), "screen": False}
    mapping["limits"] = {"jobs.latency_us.mean": {"below": "60 us"}}
    known = every_point(mapping)
    price, *_ = min((price, point) for point, (price, latency) in known.items() if latency <= 60)
    found = vs.plan(mapping, workers=1)
    row = found.recommended
    assert (row.objectives[0].estimate, found.status) == (price, Status.RECOMMENDED)
    assert known[tuple(row.choice.values())][1] <= 60
    assert found.counts["runs"] == len(known) - found.counts["screened"]  # one run is enough for each
    assert found.closed == "Proven: no other candidate could be cheaper."


def test_the_answer_of_random_runs_holds_and_no_cheaper_point_does(planned):
    found, _ = planned
    price = found.recommended.objectives[0].estimate
    assert (found.status, found.recommended.verdict) == (Status.RECOMMENDED, Verdict.HOLDS)
    assert found.confirmation.fresh.n == 40
    for runner in found.runners:
        is_cheaper = runner.objectives[0].estimate < price
        assert not is_cheaper or runner.verdict is not Verdict.HOLDS or "not confirmed" in runner.why
    assert found.counts["points"] == 48
    assert found.counts["screened"] + found.counts["run"] == 48
    assert found.screened_why[OVERLOADED] > 2


def test_the_folder_is_a_sweep_and_a_second_plan_uses_its_runs(mapping, planned, tmp_path):
    first = planned[0]
    shutil.copytree(planned[1], tmp_path / "out")
    assert first.counts["runs_done_now"] > 0
    rows = vs.read_sweep(tmp_path / "out").table
    assert rows.n_rows == first.counts["runs"] + first.counts["runs_beyond_budget"]
    assert len(set(rows["run_id"].tolist())) == rows.n_rows
    again = vs.plan(mapping, tmp_path / "out", workers=1)
    assert again.counts["runs_done_now"] == 0
    assert again.counts["runs"] == first.counts["runs"]
    assert again.recommended == first.recommended
    other = vs.plan({**mapping, "limits": {"jobs.latency_us.mean": {"below": 600}}}, tmp_path / "out", workers=1)
    assert other.counts["runs_done_now"] < other.counts["runs"]
    table = vs.summarize_points(vs.read_sweep(tmp_path / "out").table, [CPUS, GPUS, "policy"], ["jobs.latency_us.mean"])
    assert table.n_rows == other.counts["run"]


def test_a_folder_of_another_space_is_refused(mapping, planned):
    mapping["scenario"]["arrivals"] = {"poisson": {"mean": 301}}
    with pytest.raises(vs.InputError, match="runs there that are not in this study"):
        vs.plan(mapping, planned[1], workers=1)


def test_the_recommendation_runs_and_gives_the_numbers_of_the_plan(planned):
    found, out = planned
    scenario = vs.read_scenario(out / "recommendation.yaml")
    own = vs.simulate(scenario, engine="reference").summary
    assert own["cost"]["purchase"] == found.recommended.objectives[0].estimate
    rows = vs.read_sweep(out).table
    here = (rows["point"] == found.recommended.point) & (rows["replication"] == 0)
    assert own["jobs"]["latency_us"]["mean"] == rows["jobs.latency_us.mean"][here][0]
    units = scenario.datacenter.count_by_type()
    assert found.recommended.choice[CPUS] == units.get("CPU_INTEL", 0)
    document = json.loads((out / "plan.json").read_text())
    assert document["recommended"]["choice"][CPUS] == units.get("CPU_INTEL", 0)
    assert document["status"] == "recommended"


def test_if_all_runs_are_broken_the_points_with_the_least_load_are_nearest(mapping):
    mapping["choose"] = {CPUS: {"from": 1, "to": 5}}
    mapping["scenario"]["horizon"] = "200 us"
    found = vs.plan(mapping, workers=1)
    assert "reached the horizon" in found.nearest[0].why
    assert [row.choice[CPUS] for row in found.nearest] == [5, 4, 3]


def test_nothing_keeps_an_impossible_limit_and_the_nearest_point_is_named(mapping, tmp_path):
    mapping["limits"] = {"jobs.latency_us.mean": {"below": "100 us"}}
    found = vs.plan(mapping, tmp_path / "out", workers=1)
    assert (found.status, found.recommended) == (Status.NONE, None)
    means = [row.judgements[0].estimate for row in found.nearest]
    assert means == sorted(means)
    assert means[0] > 100
    assert "misses jobs.latency_us.mean" in found.nearest[0].why
    assert not (tmp_path / "out" / "recommendation.yaml").exists()


def test_a_maximised_utility(mapping):
    mapping = {**constant(mapping), "limits": {}, "screen": False}
    del mapping["minimize"]
    mapping["maximize"] = {"utility": "-(cost.purchase / 1000 + jobs.latency_us.mean / 10)"}
    found = vs.plan(mapping, workers=1)
    best = max(-(price / 1000 + latency / 10) for price, latency in every_point(mapping).values())
    assert found.recommended.objectives[0].estimate == pytest.approx(best)


def test_two_objectives_give_a_front(mapping):
    mapping["minimize"], mapping["limits"] = ["cost.purchase", "jobs.latency_us.mean"], {}
    found = vs.plan(mapping, workers=1)
    goals = [tuple(value.estimate for value in row.objectives) for row in found.front]
    assert len(goals) > 2
    prices, latencies = zip(*goals, strict=True)
    assert list(prices) == sorted(prices)
    assert list(latencies) == sorted(latencies, reverse=True)


def test_points_that_are_the_same_stand_on_the_front_once(mapping):
    mapping = constant(mapping)
    mapping["choose"] |= {GPUS: [0], "policy": ["high", "earliest_finish", "flat"]}  # with one type, all do the same
    mapping |= {"screen": False, "scenario": {**mapping["scenario"], "arrivals": {"iat": 10}}}
    mapping["minimize"], mapping["limits"] = ["cost.purchase", "jobs.latency_us.mean"], {}
    found = vs.plan(mapping, workers=1)
    goals = [tuple(value.estimate for value in row.objectives) for row in found.front]
    assert len(goals) == len(set(goals)) > 1
    assert {row.why for row in found.front} == {"the same: policy earliest_finish; policy flat"}
    assert {row.choice["policy"] for row in found.front} == {"high"}


def test_limits_on_what_is_known_need_no_run(mapping):
    mapping["limits"] = {
        "jobs.latency_us.mean": {"below": "600 us"},
        "units.by_type.GPU": {"below": 0},
        "racks.power_w.0": {"below": 130 * 6},
    }
    found = vs.plan(mapping, workers=1)
    assert found.recommended.choice[GPUS] == 0
    assert found.recommended.choice[CPUS] <= 6
    assert found.screened_why["misses units.by_type.GPU below 0"] > 0


def test_the_budget_of_runs_is_kept(mapping):
    mapping["budget"] = {"runs": 50}
    found = vs.plan(mapping, workers=1)
    assert 40 < found.counts["runs"] <= 50
    assert found.ended == "the budget of 50 runs is spent"


def test_the_screen_can_be_turned_off(mapping):
    mapping |= {"screen": False, "looks": [2], "budget": {"runs": 4000}}
    found = vs.plan(mapping, workers=1)
    assert found.screened_why == {"it has no units": 2}


def test_a_share_of_runs_asks_for_more_than_the_mean(mapping):
    mapping["choose"] = {CPUS: {"from": 5, "to": 9}}
    mapping["scenario"]["datacenter"] = {"racks": [{"units": {"CPU_INTEL": 2}}]}
    by_mean = vs.plan(mapping, workers=1)
    mapping["limits"] = {"jobs.latency_us.mean": {"below": 450, "share_of_runs": 0.9, "confidence": 0.9}}
    mapping["confirm"] = {"replications": 100, "horizon": 1}
    by_share = vs.plan(mapping, workers=1)
    assert by_share.recommended.n > by_mean.recommended.n
    assert by_share.recommended.judgements[0].low >= 0.9


def test_a_choice_with_a_condition(mapping):
    mapping["choose"] = {
        CPUS: [6],
        "policy": ["high", "delay"],
        "options.wait_us": {"values": [1, 100], "when": {"policy": "delay"}},
    }
    mapping["minimize"], mapping["limits"] = "jobs.latency_us.mean", {}
    found = vs.plan(mapping, workers=1)
    assert found.counts["points"] == 3
    assert ("options.wait_us" in found.recommended.choice) == (found.recommended.choice["policy"] == "delay")


def test_costs_add_up(mapping):
    mapping["choose"] = {CPUS: [7]}
    mapping |= {
        "minimize": "cost.total",
        "cost": {
            "years": 2,
            "electricity": {"price_per_kwh": 0.5, "carbon_g_per_kwh": 400, "pue": 1.5},
            "carbon_per_tonne": 100,
            "rent_per_hour": {"GPU": 2},
        },
        "limits": {},
        "looks": [1],
        "confirm": {"replications": 0, "horizon": 1},
    }
    found = vs.plan(mapping, workers=1)
    document = {**mapping["scenario"], "datacenter": {"racks": [{"units": {"CPU_INTEL": 7, "GPU": 1}}]}}
    from vinesim.studies.expand import scenario_of

    study = vs.study({"scenario": document})
    own = vs.simulate(scenario_of(study, vs.expand(study)[0]), engine="reference").summary
    years_h = 2 * 8766
    kwh = own["energy_j"] / 3.6e6 * 1.5 / (own["makespan_us"] / 3.6e9) * years_h
    total = 7 * 2000 + 2 * years_h + 0.5 * kwh + 400 * kwh / 1e6 * 100
    assert found.recommended.objectives[0].estimate == pytest.approx(total)
    assert found.status is Status.UNCONFIRMED


def test_a_longer_workload_shows_that_the_horizon_was_too_short(mapping):
    mapping["choose"] = {CPUS: [6]}
    mapping["screen"] = False
    mapping["scenario"]["datacenter"] = {"racks": [{"units": {"CPU_INTEL": 6}}]}
    mapping["scenario"]["arrivals"] = {"poisson": {"mean": 130}}  # overloaded, but 20 jobs hardly show it
    mapping["limits"] = {"jobs.latency_us.mean": {"below": "900 us"}}
    mapping["confirm"] = {"replications": 40, "horizon": 8}
    found = vs.plan(mapping, workers=1)
    assert found.status is Status.SHORT
    assert found.confirmation.longer.settings == {"workload.options.n_jobs": 160}
    mapping["confirm"] = {"replications": 40, "horizon": 1}
    assert vs.plan(mapping, workers=1).status is Status.RECOMMENDED


def test_the_answer_is_plain_data(planned):
    document = as_document(planned[0])
    json.dumps(document, allow_nan=False)
    goal = {"of": "cost.purchase", "number": "cost.purchase", "is_maximized": False}
    assert document["plan"]["objectives"] == [goal]
    assert document["counts"]["points"] == 48


def test_relaxing_a_limit_saves_what_the_cheaper_plan_saves(mapping):
    mapping["choose"] = {CPUS: {"from": 5, "to": 9}}
    mapping["scenario"]["datacenter"] = {"racks": [{"units": {"CPU_INTEL": 2}}]}
    means = {}
    for limit in (390, 429):
        mapping["limits"] = {"jobs.latency_us.mean": {"below": limit}}
        means[limit] = vs.plan(mapping, workers=1)
    saved = means[390].recommended.objectives[0].estimate - means[429].recommended.objectives[0].estimate
    relaxed = means[390].relaxed[0]
    assert relaxed.saving > 0
    assert relaxed.saving <= saved or not relaxed.is_certain
    assert relaxed.value == pytest.approx(429)


def test_one_unit_more_and_less_are_simulated(planned):
    found, _ = planned
    here = found.recommended.choice
    steps = {(each.choice, each.label) for each in found.neighbors}
    assert (CPUS, here[CPUS] + 1) in steps or here[CPUS] == 7
    for each in found.neighbors:
        if each.choice == CPUS and np.isfinite(each.change.estimate):
            assert each.change.estimate == 2000 * (each.label - here[CPUS])
