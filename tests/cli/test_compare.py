"""``vinesim compare`` from end to end."""

import json

import numpy as np
import pytest

from vinesim.cli.compare import print_comparison
from vinesim.formats.study_file import study
from vinesim.model.result import Table
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
    assert (row[2], row[4]) == ("flat", "4")
    assert "corrected for 1 comparison " in done.out


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
    assert "expected an axis: policy, found 'polizy'" in done.err
    assert "Near it: jobs.latency_us" in vinesim("compare", folder, "--by", "policy", "--of", "jobs.latency.mean").err
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
    assert "One replication has no interval" in capsys.readouterr().out
