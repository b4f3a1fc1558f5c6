"""Arrivals, distributions and kinds of jobs as a scenario file gives them."""

import re

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

import vinesim as vs
from vinesim.cli.main import app
from vinesim.formats.scenario.workload_table import read_workload
from vinesim.model.errors import InputError
from vinesim.policies.documents import read_scenario
from vinesim.policies.identity import content_id
from vinesim.policies.registry import resolve
from vinesim.studies.scenarios import scenario_of

SCENARIO = """
datacenter:
  racks:
    - units: {CPU_INTEL: 2, GPU: 1}
workload:
  generator: jobs
  options: {n_jobs: 2000, sizes: {lognormal: {mean: 5 ms, cv: 3}}}
arrivals: {iat: 10 ms}
"""
MIX = """
datacenter:
  racks:
    - units: {CPU_INTEL: 2, GPU: 1}
workload:
  generator: job_mix
  options:
    n_jobs: 100
    kinds:
      - {name: web, arrivals: {poisson: {mean: 1 ms}}, sizes: 5 ms}
      - {name: batch, arrivals: {iat: 10 ms}, sizes: {empirical: {values: [1, 2 ms]}}, tasks_per_job: 3}
"""


@pytest.fixture
def read(tmp_path):
    (tmp_path / "counts.csv").write_text("time,count\n0,10\n1,30\n")
    (tmp_path / "sizes.csv").write_text("size\n3\n4\n")

    def scenario(text, *overrides):
        (tmp_path / "s.yaml").write_text(text)
        return read_scenario(tmp_path / "s.yaml", overrides, check_policy=resolve)

    return scenario


def gaps(scenario):
    return np.diff(scenario.workload.arrival_us)


@pytest.mark.parametrize(
    ("arrivals", "cv"),
    [
        ("{poisson: {mean: 10 ms}}", 1),
        ("{gamma: {mean: 10 ms, cv: 2}}", 2),
        ("{weibull: {mean: 10 ms, cv: 0.5}}", 0.5),
        ("{lognormal: {mean: 10 ms, cv: 2}}", 2),
        ("{hyperexponential: {mean: 10 ms, cv: 2}}", 2),
    ],
)
def test_arrivals_by_mean_and_cv(read, arrivals, cv):
    found = gaps(read(SCENARIO, f"arrivals={arrivals}"))
    assert found.mean() == pytest.approx(1e4, rel=0.15)
    assert found.std() / found.mean() == pytest.approx(cv, rel=0.2)


def test_bursts_cycles_and_series(read):
    on_off = gaps(read(SCENARIO, "arrivals={on_off: {mean: 10 ms, on: 100 ms, off: 300 ms}}"))
    assert np.median(on_off) == pytest.approx(1e4 / 4 * np.log(2), rel=0.15)
    mmpp = gaps(read(SCENARIO, "arrivals={mmpp: {mean: 10 ms, rates: [1, 20], stay: [1 s, 100 ms]}}"))
    assert mmpp.std() / mmpp.mean() > 1.3
    hours = "workload.options.sizes=1 h"  # the clock counts no ns after 80 days
    even = read(SCENARIO, "arrivals={iat: 1 h, daily: [1, 3], start: 12 h}", hours).workload.arrival_us
    assert even[18] == pytest.approx(12 * 3.6e9)  # 18 in the busy half of the day
    weekly = read(SCENARIO, "arrivals={iat: 1 h, weekly: [7, 0, 0, 0, 0, 0, 0]}", hours).workload.arrival_us
    assert weekly[167] < 24 * 3.6e9 < weekly[169]
    series = read(SCENARIO, "arrivals={series: {file: counts.csv}}").workload.arrival_us
    assert np.histogram(series % 2e6, [0, 1e6, 2e6])[0] / 2000 == pytest.approx([0.25, 0.75], abs=0.03)
    assert series[-1] == pytest.approx(2000 / 40 * 2e6, rel=0.1)
    faster = read(SCENARIO, "arrivals={series: {file: counts.csv, scale: 10, cv: 3}}").workload.arrival_us
    assert faster[-1] == pytest.approx(2000 / 400 * 2e6, rel=0.3)
    assert np.diff(faster).std() / np.diff(faster).mean() > 2


@pytest.mark.parametrize(
    ("sizes", "mean"),
    [
        ("7", 7),
        ("{constant: 7 us}", 7),
        ("{uniform: {low: 1 ms, high: 3 ms}}", 2000),
        ("{exponential: {mean: 5 ms}}", 5000),
        ("{gamma: {mean: 5 ms, cv: 0.5}}", 5000),
        ("{weibull: {mean: 5 ms, cv: 0.5}}", 5000),
        ("{lognormal: {mean: 5 ms, cv: 0.5}}", 5000),
        ("{hyperexponential: {mean: 5 ms, cv: 1.5}}", 5000),
        ("{pareto: {low: 1, high: 100, alpha: 3}}", 1.5),
        ("{empirical: {values: [1, 3]}}", 2),
        ("{empirical: {file: sizes.csv}}", 3.5),
    ],
)
def test_sizes(read, sizes, mean):
    assert read(SCENARIO, f"workload.options.sizes={sizes}").workload.operations.mean() == pytest.approx(mean, rel=0.12)


def test_a_mix(read):
    work = read(MIX).workload
    assert work.application_names == ("web", "batch")
    assert set(work.operations[np.repeat(work.application == 0, np.diff(work.job_first))]) == {5000.0}
    assert set(work.operations[np.repeat(work.application == 1, np.diff(work.job_first))]) == {1.0, 2000.0}


def test_content_ids_follow_the_seed_and_the_options(read):
    ids = [
        content_id(read(SCENARIO, *more))
        for more in ((), ("seed=1",), ("workload.options.sizes.lognormal.cv=2",), ("arrivals.iat=11 ms",), ())
    ]
    assert len(set(ids)) == 4
    assert ids[0] == ids[-1]


WRONG = [
    ("arrivals={gama: {mean: 1, cv: 2}}", "Did you mean gamma?"),
    ("arrivals={gamma: {mean: 1}}", "arrivals.gamma.cv: expected their coefficient of variation"),
    ("arrivals={gamma: {mean: 0, cv: 1}}", "arrivals.gamma.mean: expected a value above 0"),
    ("arrivals={hyperexponential: {mean: 1, cv: 0.5}}", "arrivals.hyperexponential.cv: expected a number from 1 to"),
    ("arrivals={mmpp: {mean: 1, rates: [1], stay: [1]}}", "two states or more"),
    ("arrivals={mmpp: {mean: 1, rates: [0, 0], stay: [1, 1]}}", "arrivals.mmpp.rates: expected numbers of 0 or more"),
    ("arrivals={iat: 1, poisson: {mean: 1}}", "exactly one of"),
    ("arrivals={iat: 1, daily: [0, 0]}", "arrivals.daily: expected rates of 0 or more, not all 0"),
    ("arrivals={iat: 1, weekly: [1, 2]}", "arrivals.weekly"),
    ("arrivals={iat: 1, start: 3 h}", "daily or weekly with start"),
    ("arrivals={times: [1], daily: [1, 2]}", "no daily or weekly with times"),
    ("arrivals={series: {file: none.csv}}", "arrivals.series.file"),
    ("workload.options.sizes={lognormal: {mean: 1, cv: 0}}", "workload.options.sizes.lognormal.cv"),
    (
        "workload.options.sizes={lognormal: {mean: 1, cv: 1e9}}",
        "workload.options.sizes.lognormal.cv: expected a number",
    ),
    ("workload.options.sizes={lognormall: {mean: 1, cv: 1}}", "Did you mean lognormal?"),
    ("workload.options.sizes={pareto: {low: 3, high: 2, alpha: 1}}", "low below high"),
    ("workload.options.sizes={empirical: {file: none.csv}}", "none.csv"),
    ("workload.options.sizes=big", "workload.options.sizes: expected a time"),
    ("workload.options.size=3", "Did you mean sizes?"),
]


@pytest.mark.parametrize(("override", "says"), WRONG)
def test_what_is_wrong_is_reported_with_its_place(read, override, says):
    with pytest.raises(InputError, match=re.escape(says)):
        read(SCENARIO, override)


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("workload.options.kinds[0]={name: web, sizes: 3}", "kinds[0].arrivals: expected when the jobs of the kind"),
        ("workload.options.kinds[0]={arrivals: {iat: 3}, sizes: 3}", "kinds[0].name: expected the name of the kind"),
        ("workload.options.kinds[0].sise=3", "Did you mean sizes?"),
        ("workload.options.kinds[0].n_jobs=3", "an option of jobs"),
        ("workload.options.kinds[0].arrivals={gamma: {mean: 0, cv: 2}}", "kinds[0].arrivals.gamma.mean"),
        ("workload.options.kinds[1].name=web", "web twice"),
        ("workload.options.kinds=3", "a list of kinds of jobs"),
        ("workload.options.kinds[0]=3", "a list of kinds of jobs"),
        ("arrivals={iat: 3}", "none, as job_mix makes its own"),
    ],
)
def test_what_is_wrong_in_a_mix_is_reported_with_its_place(read, override, says):
    with pytest.raises(InputError, match=re.escape(says)):
        read(MIX, override)


def test_lines_of_a_sample_that_are_no_numbers_are_reported(read, tmp_path):
    (tmp_path / "bad.csv").write_text("1\nx\n-3\n1,2\n")
    with pytest.raises(InputError) as error:
        read(SCENARIO, "workload.options.sizes={empirical: {file: bad.csv}}")
    assert [re.search(r"bad.csv:(\d)", str(p))[1] for p in error.value.problems] == ["2", "3", "4"]


def test_both_engines_simulate_a_mix_alike(read):
    text = MIX.replace("{empirical: {values: [1, 2 ms]}}, tasks_per_job: 3}", "30e6, tasks_per_job: 3, n_users: 2}")
    scenario = read(
        text, "workload.options.kinds[0].arrivals={mmpp: {mean: 5 ms, rates: [1, 9], stay: [90 ms, 10 ms]}}"
    )
    one, two = (vs.simulate(scenario, engine=engine) for engine in ("compiled", "reference"))
    assert list(one.tasks) == list(two.tasks)
    for name in one.tasks:
        np.testing.assert_array_equal(one.tasks[name], two.tasks[name])
    names = scenario.workload.application_names
    assert names == ("web", "batch.U1", "batch.U2")
    assert set(scenario.workload.application) == {0, 1, 2}


def test_the_command_line_takes_what_a_scenario_takes(read, tmp_path):
    kinds = "[{name: a, arrivals: {gamma: {mean: 1 ms, cv: 2}}, sizes: {exponential: {mean: 5 ms}}, data_bytes: 1 KiB}]"
    words = ["generate", "job_mix", "--option", "n_jobs=50", "--option", f"kinds={kinds}", "-o"]
    done = CliRunner().invoke(app, [*words, str(tmp_path / "w.parquet")])
    assert "50 jobs" in done.output
    work = read_workload(tmp_path / "w.parquet")
    (tmp_path / "s.yaml").write_text(MIX)
    options = f"workload.options={{n_jobs: 50, kinds: {kinds}}}"
    scenario = read_scenario(tmp_path / "s.yaml", [options, "datacenter={racks: [{units: {GPU: 1}}]}"]).workload
    assert np.array_equal(work.arrival_us, scenario.arrival_us)
    assert np.array_equal(work.operations, scenario.operations)
    assert set(work.data_bytes) == {1024.0}
    assert work.application_names == ("a",)


def test_values_of_the_workload_are_axes(read, tmp_path):
    axes = {"workload.options.sizes.lognormal.cv": [1, 3], "arrivals": [{"iat": 5}, {"gamma": {"mean": 5, "cv": 3}}]}
    scenario = {**yaml.safe_load(SCENARIO), "policy": "high"}
    scenario["workload"]["options"]["n_jobs"] = 40
    scenario["workload"]["options"]["sizes"]["lognormal"]["mean"] = 3e7
    study = vs.study({"scenario": scenario, "axes": axes, "replications": 3})
    found = vs.sweep(study, workers=1)
    assert not found.failures
    assert len(set(found.table["jobs.latency_us.mean"])) == 12
    for run, latency in zip(vs.expand(study), found.table["jobs.latency_us.mean"], strict=True):
        alone = vs.simulate(scenario_of(study, run), engine="reference").summary["jobs"]["latency_us"]["mean"]
        assert latency == alone
