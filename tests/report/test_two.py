"""The page of two runs or two sweeps: what it says and draws is what the tables hold."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import vinesim as vs
from vinesim.formats.results.folder import write_result
from vinesim.formats.results.parquet import read_table
from vinesim.metrics.times import times_with
from vinesim.pages.sweep import sweep_page
from vinesim.pages.two_runs import N_BATCHES, N_INTERVALS, _units, paired_interval, two_runs_page
from vinesim.pages.two_sweeps import compared_sweeps, two_sweeps_page
from vinesim.pages.write import write_report
from vinesim.report.distributions import N_BINS, PROBABILITIES
from vinesim.studies.sweep import read_sweep

CHANGES = ["arrivals.iat=6", "policy=flat", "datacenter.racks[0].units.GPU=22"]


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "flat"
    write_result(folder, vs.simulate(vs.read_scenario("examples/quickstart.yaml", CHANGES), engine="reference"))
    return folder


def cells(html):
    """The rows of the tables in HTML, by their first cell."""
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)]
    return {row[0]: row[1:] for row in rows}


def times_of(folder):
    tasks, jobs = read_table(folder / "tasks.parquet"), read_table(folder / "jobs.parquet")
    return {
        "jobs.latency_us": jobs["latency_us"],
        "tasks.latency_us": tasks["finish_us"] - tasks["arrival_us"],
        "tasks.response_us": tasks["finish_us"] - tasks["init_us"],
        "tasks.wait_us": tasks["init_us"] - tasks["arrival_us"],
    }


def test_what_differs_in_two_runs_is_said(example, other):
    page = two_runs_page(example, other)
    found = cells(page.sections[0].html)
    assert found["policy"] == ["high", "flat"]
    assert found["units of GPU"] == ["20", "22"]
    assert "jobs" not in found
    assert set(found) == {"setting", "policy", "options of the policy", "nodes", "units of GPU"}
    assert "same settings" in two_runs_page(example, example).sections[0].html
    same = two_runs_page(example, example).sections[1].html
    assert "Both runs have the same jobs, and each took as long in both." in same


def test_options_of_one_policy_are_compared_one_by_one(example, tmp_path):
    folders = [Path(shutil.copytree(example, tmp_path / name)) for name in ("one", "other")]
    for folder, most in zip(folders, (64.0, 96), strict=True):
        file = folder / "summary.json"
        found = json.loads(file.read_text())
        found["provenance"]["options"] = {"bf_interval": 30.0, "accounts": {"bio": {"grp_tres": {"cpu": most}}}}
        file.write_text(json.dumps(found))
        (folder / "SHA256SUMS").unlink()
    with pytest.warns(vs.InputWarning):
        found = cells(two_runs_page(*folders).sections[0].html)
    assert {**found, "setting": None} == {"setting": None, "option accounts.bio.grp_tres.cpu": ["64", "96"]}


def test_what_a_result_does_not_keep_is_named_by_the_ids_alone(example, copied):
    other = copied(example)
    file = other / "summary.json"
    found = json.loads(file.read_text())
    found["provenance"]["content_id"] = "0123456789abcdef"
    file.write_text(json.dumps(found))
    (other / "SHA256SUMS").unlink()
    with pytest.warns(vs.InputWarning):
        html = two_runs_page(example, other).sections[0].html
    assert "0123456789abcdef" in html
    assert "same settings" not in html


def test_amounts_of_memory_have_a_unit():
    assert _units("memory", 40, 16187637760000.0) == "40, 14.72 TiB in all"
    assert _units("CPU", 40, 64.0) == "40, 64 in all"


def test_the_text_and_the_table_give_one_difference():
    """All jobs count, also those beyond the last full batch."""
    first = np.arange(1011.0)
    second = first + np.where(np.arange(1011) >= 1000, 5000.0, -10.0)
    found = paired_interval(first, second)
    assert found.estimate == pytest.approx((second - first).mean())
    assert found.low < found.estimate < found.high


def test_the_numbers_of_two_runs_are_those_of_their_tables(example, other):
    found = cells(two_runs_page(example, other).sections[1].html)
    latency = [times_of(folder)["jobs.latency_us"] for folder in (example, other)]
    shown = [float(text.split()[0]) for text in found["mean latency of jobs"]]
    means = [values.mean() for values in latency]
    assert shown == pytest.approx([*means, means[1] - means[0], means[1] / means[0]], rel=6e-3)
    p99 = [np.quantile(values, 0.99, method="inverted_cdf") for values in latency]
    assert [float(text.split()[0]) for text in found["p99 latency of jobs"][:2]] == pytest.approx(p99, rel=6e-3)


def test_the_tails_of_two_runs_are_those_of_their_tables(example, other):
    found = two_runs_page(example, other).data["latency"]
    assert found["of_runs"]
    for name, measure in zip(times_with(has_tokens=False), found["measures"], strict=True):
        assert [group["name"] for group in measure["groups"]] == ["quickstart", "flat"]
        for folder, group in zip((example, other), measure["groups"], strict=True):
            values = times_of(folder)[name]
            expected = np.quantile(values, np.clip(PROBABILITIES, 0, 1), method="inverted_cdf")
            near = np.quantile(values, np.clip(np.array(PROBABILITIES) - 1e-9, 0, 1), method="inverted_cdf")
            quantiles = np.array(group["quantiles"], float)
            assert (np.isclose(quantiles, expected, rtol=1e-5) | np.isclose(quantiles, near, rtol=1e-5)).all()
            counts, _ = np.histogram(values, N_BINS, tuple(measure["linear"]))
            assert np.abs(np.cumsum(counts) - np.cumsum(group["linear"])).max() <= 2
            assert sum(group["linear"]) == len(values)


def test_the_queues_of_two_runs_are_those_of_their_tables(example, other):
    found = two_runs_page(example, other).data["waiting"]
    edges = np.array(found["edges_us"], float)
    assert len(edges) == N_INTERVALS + 1
    ends = [read_table(folder / "tasks.parquet")["finish_us"].max() for folder in (example, other)]
    assert edges[-1] == pytest.approx(max(ends))
    for folder, one in zip((example, other), found["queue"], strict=True):
        tasks = read_table(folder / "tasks.parquet")
        overlap = np.minimum.outer(tasks["init_us"], edges[1:]) - np.maximum.outer(tasks["arrival_us"], edges[:-1])
        waiting = np.maximum(overlap, 0.0).sum(axis=0) / np.diff(edges)
        assert one["values"] == pytest.approx(waiting, rel=1e-3, abs=1e-6)


def test_runs_of_the_same_jobs_are_paired_by_batches(example, other, two_racks):
    first, second = (times_of(folder)["jobs.latency_us"] for folder in (example, other))
    found = paired_interval(first, second)
    batches = (second - first)[:500].reshape(N_BATCHES, 25).mean(axis=1)
    half = 2.093024 * batches.std(ddof=1) / np.sqrt(N_BATCHES)  # Student's t, 19 degrees of freedom
    assert (found.estimate, found.half_width) == pytest.approx((batches.mean(), half), rel=1e-6)
    assert np.isnan(paired_interval(first[:50], second[:50]).low)
    assert "20 batches" in two_runs_page(example, other).sections[1].html
    assert "different jobs" in two_runs_page(example, two_racks).sections[1].html


def study(**changes):
    scenario = {
        "datacenter": {"racks": [{"units": {"CPU_INTEL": 4, "GPU": 4}}]},
        "workload": {"generator": "500jobs", "options": {"n_jobs": 20}},
        "arrivals": {"poisson": {"mean": "20 us"}},
        "policy": "high",
    }
    return {"scenario": scenario | changes, "axes": {"arrivals.poisson.mean": [10.0, 20.0]}, "replications": 3}


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Two sweeps over the load, with few and with many GPUs; the second has a point more, and other seeds too."""
    folder = tmp_path_factory.mktemp("sweeps")
    many = study(datacenter={"racks": [{"units": {"CPU_INTEL": 4, "GPU": 9}}]})
    many |= {"axes": {"arrivals.poisson.mean": [10.0, 20.0, 40.0]}, "replications": 4}
    for name, one in (("few", study()), ("many", many)):
        vs.sweep(one, folder / name, workers=1)
    return folder / "few", folder / "many"


def test_two_sweeps_are_compared_by_seed_at_the_points_that_both_have(two):
    tables = [read_sweep(folder).table for folder in two]
    found = next(
        one for one in compared_sweeps(["few", "many"], [read_sweep(f) for f in two]) if one.of == "jobs.latency_us.p99"
    )
    assert [pair.point["arrivals.poisson.mean"] for pair in found.pairs] == [10.0, 20.0]
    assert found.n_comparisons == 2
    for pair in found.pairs:
        values = []
        for table in tables:
            mine = (table["arrivals.poisson.mean"] == pair.point["arrivals.poisson.mean"]) & (table["seed"] < 3)
            values.append(table["jobs.latency_us.p99"][mine][np.argsort(table["seed"][mine])])
        difference = values[1] - values[0]
        assert (pair.first_mean, pair.second_mean) == pytest.approx([v.mean() for v in values])
        half = 6.205347 * difference.std(ddof=1) / np.sqrt(3)  # Student's t at 97.5 %, 2 degrees of freedom
        assert pair.difference.half_width == pytest.approx(half, rel=1e-5)
        assert pair.difference.n == 3


def test_numbers_that_two_studies_name_are_compared_without_asking(tmp_path):
    folders = [tmp_path / "few", tmp_path / "many"]
    for folder, n_gpus in zip(folders, (4, 9), strict=True):
        racks = {"racks": [{"units": {"CPU_INTEL": 4, "GPU": n_gpus}}]}
        vs.sweep(study(datacenter=racks) | {"record": ["jobs.wait_us.mean"]}, folder, workers=1)
    assert two_sweeps_page(*folders).lead == "1 number at 2 points that both sweeps have"
    assert [one.of for one in compared_sweeps(["few", "many"], list(map(read_sweep, folders)))] == ["jobs.wait_us.mean"]
    assert {one["of"] for one in sweep_page(folders[0]).data["sweep"]["verdicts"]} == {"jobs.wait_us.mean"}


def test_the_page_of_two_sweeps_shows_settings_and_verdicts(two):
    page = two_sweeps_page(*two)
    settings = cells(page.sections[0].html)
    assert settings["scenario.datacenter.racks[0].units.GPU"] == ["4", "9"]
    assert settings["replications"] == ["3", "4"]
    assert "scenario.policy" not in settings
    assert page.sections[1].html.count("arrivals.poisson.mean = 10") >= 5
    same = two_sweeps_page(two[0], two[0])
    assert "same settings" in same.sections[0].html
    assert ">equal<" in same.sections[1].html
    assert ">unclear<" not in same.sections[1].html


def test_kinds_and_axes_must_go_together(example, sweep, two, tmp_path):
    for first, second, expected in ((example, sweep, "two runs or two sweeps"), (sweep, two[0], "the same axes")):
        with pytest.raises(vs.InputError, match=expected):
            write_report(first, tmp_path / "x.html", second)
    assert not (tmp_path / "x.html").exists()
    assert write_report(two[0], tmp_path / "x.html", two[1]) > 1000
