"""What a million tokens cost: of electricity in a run, under other prices, and of everything in a plan."""

import json

import pytest

FILE = """\
extends: none
processor_types:
  - name: GPU
    price: 2500
    power_curve: [50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150]
    batching: {max_sequences: 4, max_batched_tokens: 64, memory_tokens: 1600, step: {base: 10 ms, prefill_token: 1 ms}}
task_types: [MODEL]
affinity: {absolute: {GPU: 1}}
datacenter: {racks: [{units: {GPU: 1}}]}
network: none
workload: {file: jobs.csv}
energy: {price_per_kwh: 0.25, pue: 1.2}
policy: least_requests
"""
NAME = "serving.electricity_per_million_tokens"


@pytest.fixture
def scenario(tmp_path):
    (tmp_path / "jobs.csv").write_text("arrival_ms,input_tokens,output_tokens\n0,50,30\n0,10,10\n")
    (tmp_path / "s.yaml").write_text(FILE)
    return tmp_path / "s.yaml"


def summary_of(vinesim, scenario, *words):
    done = vinesim("run", scenario, "--engine", "reference", "--json", *words)
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_a_run_says_what_the_electricity_costs(vinesim, scenario):
    summary = summary_of(vinesim, scenario)
    bill = summary["energy_j"] / 3.6e6 * 1.2 * 0.25
    assert summary["serving"]["electricity_per_million_tokens"] == pytest.approx(bill / 40 * 1e6)
    shown = vinesim("run", scenario, "--engine", "reference").out
    assert f" electricity per million output tokens {bill / 40 * 1e6:,.4g} " in " ".join(shown.split())
    assert f" energy per output token {summary['energy_j'] / 40:,.4g} J " in " ".join(shown.split())


def test_a_stored_sweep_says_it_under_another_price(vinesim, scenario, tmp_path):
    (tmp_path / "study.yaml").write_text("scenario: s.yaml\naxes: {policy: [least_requests, least_tokens]}\n")
    assert vinesim("sweep", tmp_path / "study.yaml", "--out", tmp_path / "sweep").code == 0
    wanted = summary_of(vinesim, scenario, "--set", "energy.price_per_kwh=0.75")["serving"]
    found = vinesim("show", tmp_path / "sweep", "--set", "energy.price_per_kwh=0.75", "--json")
    assert found.code == 0, found.err
    points = json.loads(found.out)["points"]
    assert [point["numbers"][NAME]["mean"] for point in points] == pytest.approx([wanted[NAME.partition(".")[2]]] * 2)


def test_a_plan_adds_what_is_bought(vinesim, scenario, tmp_path):
    plan = """\
scenario: s.yaml
choose: {"datacenter.racks[0].units.GPU": [1, 2]}
minimize: cost.per_million_tokens
cost: {years: 2, electricity: {price_per_kwh: 0.25, pue: 1.2}}
looks: [1]
confirm: {replications: 0, horizon: 1}
"""
    (tmp_path / "plan.yaml").write_text(plan)
    done = vinesim("plan", tmp_path / "plan.yaml", "--out", tmp_path / "plan", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)["recommended"]
    assert found["choice"] == {"datacenter.racks[0].units.GPU": 1}
    serving = summary_of(vinesim, scenario)["serving"]
    tokens = serving["output_tokens_per_s"] * 2 * 8766 * 3600
    wanted = 2500 / tokens * 1e6 + serving["electricity_per_million_tokens"]
    assert found["objectives"][0]["estimate"] == pytest.approx(wanted)


def test_tokens_without_engines_are_refused(vinesim, tmp_path):
    plan = "scenario: {workload: {generator: jobs, options: {n_jobs: 5, sizes: 5}}, arrivals: {iat: 5 us},"
    plan += " prices: {CPU_INTEL: 1}, datacenter: {racks: [{units: {CPU_INTEL: 1}}]}}\nchoose: {policy: [high, flat]}\n"
    (tmp_path / "plan.yaml").write_text(plan + "minimize: cost.per_million_tokens\n")
    done = vinesim("plan", tmp_path / "plan.yaml", "--out", tmp_path / "plan")
    assert done.code == 2
    wanted = "cost.per_million_tokens: expected a number of this scenario, found no value. Give the datacenter types"
    assert wanted in " ".join(done.err.split())
