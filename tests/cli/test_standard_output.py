"""What policies and generators print never gets into what a command writes to standard output."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import vinesim.cli

CODE = """
print("loaded")
from vinesim.policies.online.high import High

class Prints(High):
    compiled = False

    def unit_order(self, n, random):
        print("called")
"""
SCENARIO = {
    "datacenter": {"racks": [{"units": {"GPU": 1}}]},
    "workload": {"generator": "identical", "options": {"n_jobs": 2}},
    "arrivals": {"iat": 1},
    "policy": "p.py:Prints",
}
STUDY = {"scenario": SCENARIO, "axes": {"datacenter.racks[0].units.GPU": [1, 2]}, "replications": 2}
PLAN = {
    "scenario": {**SCENARIO, "prices": {"GPU": 1}},
    "choose": {"datacenter.racks[0].units.GPU": {"from": 1, "to": 2}},
    "minimize": "cost.purchase",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.py").write_text(CODE)
    for name, document in (("s", SCENARIO), ("study", STUDY), ("plan", PLAN)):
        (tmp_path / f"{name}.yaml").write_text(json.dumps(document))
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("run", "s.yaml"),
        ("sweep", "study.yaml", "--out", "o", "--workers", "1"),
        ("plan", "plan.yaml", "--out", "o", "--workers", "1"),
    ],
    ids=lambda words: words[0],
)
def test_json_is_nothing_else_whatever_a_policy_prints(vinesim, folder, words):
    done = vinesim(*words, "--json")
    assert json.loads(done.out)
    assert {"loaded", "called"} <= set(done.err.split())


def test_workers_keep_to_it_too(folder):
    words = [sys.executable, "-m", "vinesim", "sweep", "study.yaml", "--out", "o", "--workers", "2", "--json"]
    assert json.loads(subprocess.run(words, capture_output=True, check=True).stdout)


def test_results_that_are_read_later_are_clean(vinesim, folder):
    assert vinesim("run", "s.yaml", "--explain", "--out", "r").code == 0
    assert json.loads(vinesim("explain", "r", "--job", 1, "--json").out)
    assert vinesim("sweep", "study.yaml", "--out", "o", "--workers", "1").code == 0
    compared = vinesim(
        "compare", "o", "--by", "datacenter.racks[0].units.GPU", "--of", "jobs.latency_us.mean", "--json"
    )
    assert json.loads(compared.out)


@pytest.mark.parametrize(
    "words", [("policies", "p.py:Prints"), ("validate", "s.yaml", "--run-policy-file"), ("run", "s.yaml")]
)
def test_pages_for_people_hold_the_commands_words_only(vinesim, folder, words):
    done = vinesim(*words)
    assert done.code == 0
    assert "loaded" in done.err
    assert not {"loaded", "called"} & set(done.out.split())


@pytest.mark.parametrize("path", sorted(Path(vinesim.cli.__file__).parent.rglob("*.py")), ids=lambda path: path.stem)
def test_results_go_to_the_output_of_the_command(path):
    """``sys.stdout`` is where policies print; only the modules that set up the streams write to it."""
    if path.stem not in ("errors", "start", "terminal"):
        assert "sys.stdout" not in path.read_text()
