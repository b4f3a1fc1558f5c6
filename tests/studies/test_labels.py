"""What the jobs of a sweep are labelled with as an axis: recorded, compared, shown, drawn, reported."""

import json
from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.cli.conftest import vinesim  # noqa: F401
from vinesim.formats.results.table import Table
from vinesim.model.errors import InputError
from vinesim.model.study import OWN_COLUMNS
from vinesim.plots.sweep_figure import sweep_figure
from vinesim.plots.wanted import Wanted
from vinesim.studies.compare import compare
from vinesim.studies.labels import axes_of_jobs, by_label
from vinesim.studies.sweep import read_sweep

JOBS = """arrival_s,time_s,cores,user
0,100,2,ann
0,50,1,bob
10,100,2,ann
20,30,1,bob
30,60,3,eve
"""
SCENARIO = {
    "extends": "none",
    "processor_types": [{"name": "CPU"}],
    "network": "none",
    "datacenter": {"racks": [{"nodes": [{"count": 1, "units": {"CPU": {"cores": 4}}}]}]},
    "workload": {"file": "jobs.csv"},
}
CASES = {"cases": {"one": {"policy": "fcfs"}, "two": {"policy": "easy_backfill"}}}
pytestmark = pytest.mark.filterwarnings("ignore:.* does not look at the column user")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("labels")
    (home / "jobs.csv").write_text(JOBS)
    axes = {"policy": ["fcfs", "easy_backfill"]}
    study = {"scenario": SCENARIO, "axes": axes, "record": ["by.user", "by.size", "jobs.latency_us"]}
    with pytest.warns(match="does not look at"):
        vs.sweep(vs.study(study, folder=home), home / "out", workers=1)
    return home / "out"


@pytest.fixture(scope="module")
def larger(folder):
    """The same sweep on twice as many cores, where nobody waits, with another axis of the jobs recorded too."""
    nodes = {"racks": [{"nodes": [{"count": 2, "units": {"CPU": {"cores": 4}}}]}]}
    study = {"scenario": SCENARIO | {"datacenter": nodes}, "axes": {"policy": ["fcfs", "easy_backfill"]}}
    with pytest.warns(match="does not look at"):
        vs.sweep(
            vs.study(study | {"record": ["by.user", "by.hour"]}, folder=folder.parent),
            folder.parent / "large",
            workers=1,
        )
    return folder.parent / "large"


@pytest.fixture(scope="module")
def runs(folder):
    """Two runs of these jobs; the second lacks the last one, of eve."""
    home = folder.parent
    (home / "fewer.csv").write_text("".join(JOBS.splitlines(keepends=True)[:-1]))
    (home / "scenario.yaml").write_text(json.dumps(SCENARIO | {"policy": "fcfs"}))
    for name, file in (("all", "jobs.csv"), ("fewer", "fewer.csv")):
        with pytest.warns(match="does not look at"):
            one = vs.read_scenario(home / "scenario.yaml", [f"workload.file={file}"])
        vs.simulate(one, engine="reference").save(home / name)
    return home / "all", home / "fewer"


def test_labels_are_an_axis_with_the_numbers_of_each_label(folder):
    swept = read_sweep(folder)
    found = by_label(swept, "user")
    assert found.study.columns == ("policy", "user")
    assert found.table["user"].tolist() == ["ann", "bob", "eve"] * 2
    assert found.table["wait_us"].tolist() == [20e6, 40e6, 120e6, 20e6, 0.0, 120e6]
    assert by_label(swept, "size").table["size"].tolist() == ["1", "2", "3-4"] * 2
    assert by_label(swept, "policy") is swept
    assert {"jobs.latency_us.mean", "by.user.ann.wait_us"} <= set(swept.table)


def test_a_label_that_a_run_lacks_has_no_numbers(tmp_path):
    (tmp_path / "jobs.csv").write_text(JOBS)
    (tmp_path / "fewer.csv").write_text("".join(JOBS.splitlines(keepends=True)[:3]))
    axes = {"workload.file": ["jobs.csv", "fewer.csv"]}
    swept = vs.sweep(vs.study({"scenario": SCENARIO, "axes": axes, "record": ["by.user"]}, folder=tmp_path), workers=1)
    assert np.isnan(by_label(swept, "user").table["jobs"]).tolist() == [False] * 3 + [False, False, True]


def test_users_are_compared_with_each_other_and_policies_for_one_user(folder):
    swept = read_sweep(folder)
    pairs = compare(swept, "user", "wait_us", baseline="bob").pairs
    found = [(pair.point["policy"], pair.second, pair.difference.estimate) for pair in pairs]
    assert found == [
        ("fcfs", "ann", -20e6),
        ("fcfs", "eve", 80e6),
        ("easy_backfill", "ann", 20e6),
        ("easy_backfill", "eve", 120e6),
    ]
    (pair,) = compare(swept, "policy", "by.user.bob.latency_us").pairs
    assert pair.difference.estimate == -40e6
    assert compare(swept, "policy", "by.user.bob.latency_us").direction == "lower"
    with pytest.raises(InputError, match=r"record: \[by.account\]"):
        compare(swept, "account", "wait_us")


def test_a_sweep_without_a_finished_run_has_no_labels(folder):
    found = read_sweep(folder)
    rows = Table({name: found.table[name][:0] for name in (*OWN_COLUMNS, "policy")})
    with pytest.raises(InputError, match="the sweep: expected finished runs, found none"):
        compare(replace(found, _rows=rows), "user", "wait_us")


def test_a_number_that_no_run_has_is_not_drawn(folder):
    found = read_sweep(folder)
    rows = Table({**found.table, "own": np.full(found.table.n_rows, np.inf)})
    with pytest.raises(InputError, match="--y: expected a number that some run has, found own, which none has"):
        sweep_figure(replace(found, _rows=rows), Wanted(x="policy", y="own"))


def test_a_label_that_no_job_has_is_refused_before_anything_runs(folder):
    study = {"scenario": SCENARIO, "record": ["by.account"]}
    with pytest.raises(InputError, match=r"record: expected one of by.user, by.task_type, .*, found by.account"):
        vs.sweep(vs.study(study, folder=folder.parent), workers=1)


def test_the_command_line_shows_compares_draws_and_reports_them(vinesim, folder, tmp_path):  # noqa: F811
    shown = vinesim("show", folder, "--by", "user", "--json")
    assert [point["point"]["user"] for point in json.loads(shown.out)["by"]["user"]] == ["ann", "bob", "eve"] * 2
    assert "mean wait" in vinesim("show", folder, "--by", "user").out
    assert "record: [by.hour]" in vinesim("show", folder, "--by", "hour").err
    assert "found policy, an axis of the sweep" in vinesim("show", folder, "--by", "policy").err
    assert vinesim("compare", folder, "--by", "user", "--of", "wait_us").code == 0
    figure = tmp_path / "waits.svg"
    drawn = vinesim("plot", folder, "--by", "user", "--x", "policy", "--y", "wait_us", "-o", figure)
    assert drawn.code == 0, drawn.err
    assert figure.read_text().startswith("<?xml")
    (axes,) = sweep_figure(read_sweep(folder), Wanted(x="policy", by="user", y="wait_us")).axes
    assert axes.get_legend_handles_labels()[1] == ["ann", "bob", "eve"]
    assert vinesim("report", folder, "-o", tmp_path / "page.html").code == 0
    assert "By user" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("jobs", "more", "message"),
    [
        (JOBS.replace("20,30,1,bob", "20,30,1,Bob"), {}, "ignoring case, .*, found by.user.Bob and by.user.bob"),
        (JOBS, {"record": ["by.type"]}, "one of by.user, by.task_type, .* found by.type. Did you mean by.task_type"),
        (JOBS, {"axes": {"user": CASES}}, "axes: expected names other than those of by.user and .* found user"),
        (JOBS, {"axes": {"jobs": CASES}}, "axes: expected names other than those of by.user and .* found jobs"),
    ],
)
def test_labels_without_a_column_of_their_own_are_refused(jobs, more, message, tmp_path):
    (tmp_path / "jobs.csv").write_text(jobs)
    study = vs.study({"scenario": SCENARIO, "axes": {"policy": ["fcfs"]}, "record": ["by.user"]} | more, tmp_path)
    with pytest.raises(InputError, match=message):
        vs.sweep(study, tmp_path / "out", workers=1)
    assert not (tmp_path / "out").exists()


def test_an_axis_may_be_called_jobs(vinesim, tmp_path):  # noqa: F811
    (tmp_path / "jobs.csv").write_text(JOBS)
    text = json.dumps({"scenario": SCENARIO, "axes": {"jobs": CASES}, "record": ["jobs.latency_us"]})
    (tmp_path / "study.json").write_text(text)
    done = vinesim("sweep", str(tmp_path / "study.json"), "--out", str(tmp_path / "out"), "--workers", "1")
    assert (done.code, "one" in done.out, "latency, mean" in done.out) == (0, True, True)


def test_a_file_whose_name_begins_like_an_axis_is_a_file():
    assert axes_of_jobs(("by.user", "by.hour.py:mean", "energy_j")) == ["user"]


def test_two_sweeps_are_compared_at_each_label(vinesim, folder, larger):  # noqa: F811
    done = vinesim("compare", folder, larger, "--by", "user", "--of", "wait_us", "--json")
    (found,) = json.loads(done.out)["comparisons"]
    first = {"ann": 20e6, "bob": 40e6, "eve": 120e6}, {"ann": 20e6, "bob": 0.0, "eve": 120e6}
    wanted = [(label, us) for of_policy in first for label, us in of_policy.items()]
    assert [(pair["point"]["user"], pair["first_mean"]) for pair in found["pairs"]] == wanted
    second = by_label(read_sweep(larger), "user").table["wait_us"].tolist()
    assert [pair["second_mean"] for pair in found["pairs"]] == second != [us for _, us in wanted]
    assert (found["by"], found["of"]) == ("sweep", "wait_us")
    words = vinesim("compare", folder, larger, "--by", "user").out
    assert all(title in words for title in ("wait_us by sweep", "wait_p99_us by sweep", "slowdown by sweep"))
    policies = json.loads(vinesim("compare", folder, larger, "--by", "policy", "--json").out)["comparisons"]
    assert "jobs.latency_us.mean" in [one["of"] for one in policies]
    assert json.loads(vinesim("compare", folder, larger, "--json").out)["comparisons"] == policies


def test_what_does_not_go_with_two_sweeps_is_refused(vinesim, folder, larger, runs):  # noqa: F811
    words = ("compare", folder, larger, "--by")
    assert "record: [by.hour]" in vinesim(*words, "hour").err
    assert "a number that both have, such as waits_us" in vinesim(*words, "user", "--of", "waits_us").err
    done = vinesim(*words, "user", "--baseline", "ann")
    assert (done.code, done.out) == (2, "")
    assert "--baseline: expected the folder of one sweep" in done.err
    assert "two runs or two sweeps" in vinesim("compare", folder, runs[0], "--by", "user").err
    assert "--of: expected the number to compare" in vinesim("compare", folder, "--by", "user").err


def test_the_page_of_two_sweeps_has_the_labels_that_both_recorded(vinesim, folder, larger, tmp_path):  # noqa: F811
    assert vinesim("report", folder, larger, "-o", tmp_path / "two.html").code == 0
    page = (tmp_path / "two.html").read_text()
    assert "policy = fcfs, user = bob" in page
    assert not any(f", {axis} = " in page for axis in ("hour", "size"))


def test_two_runs_are_compared_at_each_label(vinesim, runs):  # noqa: F811
    found = json.loads(vinesim("compare", *runs, "--by", "user", "--of", "latency_us", "--json").out)["numbers"]
    rows = {row["label"]: row for row in found["latency_us"]}
    assert list(found) == ["latency_us"]
    assert set(rows) == {"ann", "bob", "eve"}
    assert (rows["ann"]["first"], rows["ann"]["difference"], rows["ann"]["ratio"]) == (120e6, 0.0, 1.0)
    assert rows["eve"]["second"] is None
    shown = vinesim("compare", *runs, "--by", "user").out
    assert all(
        words in shown for words in ("mean wait of jobs by user", "slowdown of jobs by user", "utilisation by user")
    )
    assert "latency" not in shown


def test_what_does_not_go_with_two_runs_is_refused(vinesim, runs):  # noqa: F811
    done = vinesim("compare", *runs, "--by", "user", "--baseline", "ann", "--confidence", 0.95, "--better", "lower")
    assert (done.code, done.out) == (2, "")
    assert all(f"--{name}: expected" in done.err for name in ("baseline", "confidence", "better"))
    assert "--correction" not in done.err
    assert (
        "expected one of user, task_type, size, hour, found account" in vinesim("compare", *runs, "--by", "account").err
    )
    assert "Did you mean wait_us?" in vinesim("compare", *runs, "--by", "user", "--of", "wait_uss").err
