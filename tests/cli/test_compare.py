"""``vinesim compare`` from end to end."""

import json

import numpy as np
import pytest

from vinesim.cli.compare import print_comparison
from vinesim.cli.shown import short_labels
from vinesim.formats.results.table import Table
from vinesim.formats.study.file import study
from vinesim.studies.compare import compare

OF = "jobs.latency_us.mean"
SCENARIO = {
    "datacenter": {"racks": [{"units": {"CPU_INTEL": 8, "GPU": 4}}]},
    "workload": {"generator": "500jobs"},
    "arrivals": {"poisson": {"mean": "40 us"}},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from vinesim.studies.sweep import sweep

    asked = study({"scenario": SCENARIO, "axes": {"policy": ["high", "flat"]}, "replications": 4})
    out = tmp_path_factory.mktemp("sweep") / "out"
    sweep(asked, out, workers=1)
    return out


def test_prints_a_row_a_pair(vinesim, folder):
    done = vinesim("compare", folder, "--by", "policy", "--of", OF)
    assert done.code == 0, done.err
    assert "jobs.latency_us.mean by policy, lower is better" in done.out
    assert "second - first, 95 %" in done.out
    (row,) = (line.split() for line in done.out.splitlines() if line.split()[:1] == ["high"])
    assert (row[2], row[3], row[5], row[6]) == ("us", "flat", "us", "4")
    assert "Pairs share their seeds; no correction is needed." in done.out


def test_json_holds_the_same(vinesim, folder):
    from vinesim.studies.sweep import read_sweep

    done = vinesim("compare", folder, "--by", "policy", "--of", OF, "--confidence", "0.9", "--json")
    found = json.loads(done.out)
    assert (found["by"], found["of"], found["direction"], found["confidence"]) == ("policy", OF, "lower", 0.9)
    assert found["pairs"] == json.loads(json.dumps(compare(read_sweep(folder), "policy", OF, confidence=0.9).rows()))
    assert found["pairs"][0]["difference"]["n"] == 4


def test_bad_questions_are_one_message(vinesim, folder):
    done = vinesim("compare", folder, "--by", "polizy", "--of", OF)
    assert (done.code, done.out) == (2, "")
    assert "expected an axis: policy, found 'polizy'. Did you mean policy?" in done.err
    near = vinesim("compare", folder, "--by", "policy", "--of", OF, "--baseline", "hgih").err
    assert "found 'hgih'. Did you mean high?" in near
    assert (
        "Similar names: jobs.latency_us"
        in vinesim("compare", folder, "--by", "policy", "--of", "jobs.latency.mean").err
    )
    assert (
        "baseline: expected a label of policy"
        in vinesim("compare", folder, "--by", "policy", "--of", OF, "--baseline", "x").err
    )


def test_no_sweep_there(vinesim, tmp_path):
    done = vinesim("compare", tmp_path / "none", "--by", "policy", "--of", OF)
    assert done.code == 2
    assert "none" in done.err


def test_what_was_left_out_stands_below(capsys):
    values = np.array([1.0, 2.0, np.nan, 1.0, 2.5, 3.0, *range(10)])
    table = Table(
        {
            "policy": np.array(["a"] * 3 + ["b"] * 13),
            "seed": np.array([0, 1, 2, *range(13)]),
            OF: values,
        }
    )
    print_comparison(compare(table, "policy", OF))
    printed = " ".join(capsys.readouterr().out.split())
    assert "Left out: seed 2: no value of a; seed 3: no run of a" in printed
    assert "and 6 more" in printed


def test_one_replication_has_no_interval(capsys):
    table = Table({"policy": np.array(["a", "b"]), "seed": np.array([0, 0]), OF: np.array([1.0, 2.0])})
    print_comparison(compare(table, "policy", OF))
    assert "A single replication has no interval" in capsys.readouterr().out


@pytest.mark.parametrize("columns", [80, 100])
def test_a_terminal_too_narrow_folds_long_names_and_nothing_else(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    long = "the_policy_of_a_very_busy_monday_of_deadlines"
    values = [123456.0, 123457.5, 123455.5, 98764.0, 98765.0, 98767.0]
    table = Table(
        {"policy": np.array(["high"] * 3 + [long] * 3), "seed": np.array([0, 1, 2] * 2), OF: np.array(values)}
    )
    print_comparison(compare(table, "policy", OF))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= columns
    (header,) = (line for line in lines if line.split()[:1] == ["second"])
    assert header.split() == ["second", "mean", "n", "95", "%", "p", "better"]
    end = next(i for i, line in enumerate(lines) if line.startswith("Pairs share"))
    rows = lines[lines.index(header) + 2 : end]
    assert "".join(row[: header.index("mean")].split("  ")[0].strip() for row in rows) == f"high{long}"
    assert rows[0].endswith("second ")
    words = " ".join(lines).split()
    assert {"123", "98.8", "-24.7", "ms"} <= set(words)


def test_usual_names_are_not_broken_on_80_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    policies = ["earliest_finish", "conservative_backfill", "own.py:PowerOfTwo"]
    labels = {"arrivals.on_off.mean": np.full(9, 18.3377056298), "policy": np.repeat(policies, 3)}
    values = np.array([100, 101, 103, 200, 202, 205, 3, 4, 6]) * 1000.0
    print_comparison(
        compare(Table({**labels, "seed": np.array([0, 1, 2] * 3), OF: values}), "policy", OF, axes=list(labels))
    )
    out = capsys.readouterr().out
    assert {"earliest_finish", "conservative_backfill", "PowerOfTwo"} <= set(out.split())
    assert "At arrivals.on_off.mean = 18.3377 us:" in out
    assert max(map(len, out.splitlines())) <= 80


def test_what_is_the_same_in_all_replications_is_equal(capsys):
    table = Table({"policy": np.repeat(["a", "b"], 3), "seed": np.tile([0, 1, 2], 2), OF: np.tile([1.0, 2, 4], 2)})
    print_comparison(compare(table, "policy", OF))
    assert "equal" in capsys.readouterr().out.split()


def test_the_axes_have_units_and_names_that_say_of_what(capsys, monkeypatch):
    count, quota, gap = "datacenter.racks[0].nodes[0].count", "partitions[0].user_quota.A100", "arrivals.on_off.mean"
    labels = {
        count: np.full(6, 2),
        quota: np.full(6, 16),
        gap: np.full(6, 12.0),
        "policy": np.repeat(["fcfs", "drf"], 3),
    }
    table = Table({**labels, "seed": np.array([0, 1, 2] * 2), OF: np.array([1.0, 2, 3, 5, 6, 8])})
    found = compare(table, "policy", OF, axes=list(labels))
    for columns, wanted in (
        (80, f"At {count} = 2, {quota} = 16, {gap} = 12 us:"),
        (300, f"{count}  {quota}  {gap}, us"),
    ):
        monkeypatch.setenv("COLUMNS", str(columns))
        print_comparison(found)
        assert wanted in capsys.readouterr().out


def test_a_terminal_too_narrow_names_policies_of_files_by_their_classes(capsys, monkeypatch):
    policies = ["flat", "examples/my_policy.py:Patient", "own.py:Eager"]
    labels = {"load": np.full(9, 250), "policy": np.repeat(policies, 3)}
    values = np.array([1.0, 2, 3, 15, 16, 18, 25, 26, 28]) * 1000
    found = compare(Table({**labels, "seed": np.array([0, 1, 2] * 3), OF: values}), "policy", OF, axes=list(labels))
    for columns, words in ((300, set(policies)), (80, {"flat", "Patient", "Eager"})):
        monkeypatch.setenv("COLUMNS", str(columns))
        print_comparison(found)
        assert words <= set(capsys.readouterr().out.split())


@pytest.mark.parametrize("labels", [["a.py:Mine", "b.py:Mine"], ["Mine", "a.py:Mine"]])
def test_policies_whose_classes_have_one_name_keep_their_files(labels):
    assert short_labels(labels) == dict(zip(labels, labels, strict=True))


def test_a_wide_terminal_has_ratios_and_intervals_in_the_row(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    table = Table(
        {"policy": np.repeat(["a", "b"], 3), "seed": np.array([0, 1, 2] * 2), OF: np.array([1.0, 2, 3, 5, 6, 8])}
    )
    print_comparison(compare(table, "policy", OF))
    (row,) = (line.split() for line in capsys.readouterr().out.splitlines() if line.split()[:1] == ["a"])
    assert row[7:14] == ["4.33", "us", "[2.90", "us,", "5.77", "us]", "3.167"]


def test_one_rule_corrects_both_and_is_reported(vinesim, capsys):
    random = np.random.default_rng(1)
    values = np.concatenate([random.normal(i, 1, 4) for i in range(3)])
    table = Table({"policy": np.repeat(["a", "b", "c"], 4), "seed": np.tile(range(4), 3), OF: values})
    print_comparison(compare(table, "policy", OF))
    assert "intervals and p are corrected for 3 comparisons (Bonferroni): all hold together at 95 %" in " ".join(
        capsys.readouterr().out.split()
    )
    print_comparison(compare(table, "policy", OF, correction="none"))
    assert "not corrected for the number of comparisons: each holds on its own" in " ".join(
        capsys.readouterr().out.split()
    )


def test_the_correction_is_an_option(vinesim, folder):
    words = ("compare", folder, "--by", "policy", "--of", OF, "--json")
    for correction in ("bonferroni", "none"):
        found = json.loads(vinesim(*words, "--correction", correction).out)
        assert (found["correction"], found["n_comparisons"]) == (correction, 1)
    refused = vinesim(*words, "--correction", "holm")
    assert refused.code == 2
    assert "expected bonferroni or none" in refused.err


def test_two_runs_without_an_axis_are_compared_in_their_numbers(vinesim, tmp_path, folder):
    for policy in ("high", "flat"):
        words = ("run", "examples/quickstart.yaml", "--policy", policy, "--out", tmp_path / policy)
        assert vinesim(*words, "--set", "workload.options.n_jobs=40").code == 0
    words = ("compare", tmp_path / "high", tmp_path / "flat")
    of = {"high": json.loads((tmp_path / "high/summary.json").read_text())}
    of["flat"] = json.loads((tmp_path / "flat/summary.json").read_text())
    (row,) = json.loads(vinesim(*words, "--of", "jobs.latency_us.mean", "--json").out)["numbers"]
    first, second = (of[name]["jobs"]["latency_us"]["mean"] for name in ("high", "flat"))
    assert row == {
        "number": "jobs.latency_us.mean",
        "first": first,
        "second": second,
        "difference": second - first,
        "ratio": second / first,
    }
    assert "mean latency of jobs" in vinesim(*words).out
    assert "Did you mean jobs.wait_us" in vinesim(*words, "--of", "jobs.wait_us.men").err
    wrong = vinesim("compare", folder).err
    assert "--by: expected an axis" in wrong
    assert "--of: expected the number" in wrong
    assert vinesim("compare", folder, folder).code == 0
