"""``vinesim validate`` runs no code of a file that somebody sent, and what does run it says so."""

import json

import pytest

MINE = """
import pathlib
from vinesim.policies import OnlinePolicy, first_free, nothing, oldest_pending, start

pathlib.Path(__file__).with_name("proof").write_text("it ran")

class Mine(OnlinePolicy):
    @staticmethod
    def decide(model, state, view):
        task = oldest_pending(model, state)
        unit = first_free(model, state, task)
        return start(task, unit) if unit >= 0 else nothing()
"""
SCENARIO = {
    "datacenter": {"racks": [{"units": {"CPU_INTEL": 2}}]},
    "workload": {"generator": "identical", "options": {"n_jobs": 3}},
    "arrivals": {"iat": 7},
    "policy": "mine.py:Mine",
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "s.yaml").write_text(json.dumps(SCENARIO))
    axes = {"policy": ["high", "mine.py:Mine"], "options.in_order": ["no"]}
    plain = {name: value for name, value in SCENARIO.items() if name != "policy"}
    (tmp_path / "study.yaml").write_text(json.dumps({"scenario": {**plain, "options": {}}, "axes": axes}))
    (tmp_path / "old.yaml").write_text(json.dumps({"scenario": SCENARIO, "axes": {"arrivals.iat": [7, 8]}}))
    return tmp_path


@pytest.mark.parametrize("file", ["s.yaml", "old.yaml"])
def test_a_policy_in_a_file_is_left_unchecked_and_that_is_said(vinesim, folder, file):
    done = vinesim("validate", folder / file)
    assert done.code == 0, done.err
    assert not (folder / "proof").exists()
    assert f"Not checked: the policy {folder / 'mine.py'}:Mine, because it is code." in done.out
    assert "running the code" not in done.err
    checked = vinesim("validate", folder / file, "--run-policy-file")
    assert checked.code == 0
    assert (folder / "proof").exists()
    assert "Not checked" not in checked.out
    assert checked.err == f"vinesim: running the code in {folder / 'mine.py'}\n"


def test_what_a_policy_in_a_file_would_be_told_is_told_only_by_running_it(vinesim, folder):
    (folder / "s.yaml").write_text(json.dumps({**SCENARIO, "options": {"speed": 3}}))
    assert vinesim("validate", folder / "s.yaml").code == 0
    refused = vinesim("validate", folder / "s.yaml", "--run-policy-file")
    assert refused.code == 2
    assert "speed" in refused.err


def test_an_axis_of_policies_is_not_run_either_and_the_others_are_checked(vinesim, folder):
    assert vinesim("validate", folder / "study.yaml").code == 0
    assert not (folder / "proof").exists()
    study = json.loads((folder / "study.yaml").read_text())
    study["axes"]["options.in_order"] = ["perhaps"]
    (folder / "study.yaml").write_text(json.dumps(study))
    done = vinesim("validate", folder / "study.yaml")
    assert done.code == 2
    assert "policy=high, options.in_order=perhaps" in done.err
    assert not (folder / "proof").exists()


def test_built_in_policies_are_checked_as_before(vinesim, folder):
    (folder / "s.yaml").write_text(json.dumps({**SCENARIO, "policy": "hihg"}))
    done = vinesim("validate", folder / "s.yaml")
    assert done.code == 2
    assert "Did you mean high?" in done.err


def test_reading_what_was_run_before_runs_nothing(vinesim, folder):
    (folder / "study.yaml").write_text(json.dumps({"scenario": SCENARIO, "replications": 2}))
    assert vinesim("sweep", folder / "study.yaml", "--out", folder / "out", "--workers", 1).code == 0
    (folder / "proof").unlink()
    for words in (("report", folder / "out"), ("compare", folder / "out", "--by", "policy", "--of", "makespan_us")):
        vinesim(*words)
        assert not (folder / "proof").exists()


@pytest.mark.parametrize("json_too", [(), ("--json",)])
def test_run_and_sweep_say_once_whose_code_they_run(vinesim, folder, json_too):
    line = f"vinesim: running the code in {folder / 'mine.py'}\n"
    done = vinesim("run", folder / "s.yaml", "--engine", "reference", *json_too)
    assert (done.code, done.err) == (0, line)
    done = vinesim("run", folder / "s.yaml", "--engine", "reference", "--policy", "high", *json_too)
    assert (done.code, done.err) == (0, "")
    done = vinesim("sweep", folder / "old.yaml", "--out", folder / "out", "--workers", 1, *json_too)
    assert done.code == 0
    assert done.err.count("running the code") == 1
