"""Folders that run again by themselves: ``run DIR``, ``sweep DIR``, ``plan DIR`` and ``vinesim verify``."""

import json
import shutil
import sys
from pathlib import Path

import duckdb
import pytest

from vinesim.studies import origin

SITE = Path("examples/slurm_site").resolve()

JOBS = "arrival_s,time_s,cores\n0,100,8\n10,20,8\n20,20,8\n"
SCENARIO = """\
extends: none
processor_types: [{name: CPU}]
network: none
policy: code/mine.py:Mine
workload: {file: ../jobs.csv}
datacenter: {racks: [{nodes: [{units: {CPU: {cores: 8}}, memory: 1 GiB}]}]}
"""
STUDY = """\
scenario: study/scenario.yaml
axes: {policy: [fcfs, code/mine.py:Mine], workload.file: [../jobs.csv, ../more/jobs.csv]}
folder: study
record: [jobs.latency_us.mean]
"""
PLAN = """\
scenario: study/scenario.yaml
choose: {policy: [fcfs, study/code/mine.py:Mine]}
minimize: jobs.latency_us.mean
screen: false
looks: [3]
confirm: {replications: 3}
"""
MINE = """\
from helpers import first
from vinesim.policies import OnlinePolicy


class Mine(OnlinePolicy):
    compiled = False
    groups = ("preferred_type",)
    decide = staticmethod(first)
"""
HELPERS = """\
from vinesim.policies import first_free, nothing, oldest_pending, preferred_type, start


def first(model, state, view):
    task = oldest_pending(model, state)
    unit = first_free(model, state, task, preferred_type(model, state, task))
    return start(task, unit) if unit >= 0 else nothing()
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with a scenario whose files are in several places."""
    files = {
        "jobs.csv": JOBS,
        "more/jobs.csv": JOBS + "30,5,4\n",
        "study/scenario.yaml": SCENARIO,
        "study/code/mine.py": MINE,
        "study/code/helpers.py": HELPERS,
        "study.yaml": STUDY.replace("study/scenario", "scenario"),
        "plan.yaml": PLAN,
    }
    for name, text in files.items():
        file = tmp_path / "here" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path / "here"


def _moved(here: Path, out: Path) -> Path:
    """Return the folder where somebody else put it; what it was made from is gone."""
    target = out.parent / "elsewhere" / "folder"
    target.parent.mkdir()
    out.rename(target)
    shutil.rmtree(here)
    return target


def test_a_run_is_repeated_elsewhere(vinesim, here, tmp_path):
    first = vinesim("run", here / "study/scenario.yaml", "--out", tmp_path / "out", "--percentiles", "linear")
    assert first.code == 0, first.err
    folder = _moved(here, tmp_path / "out")
    again = vinesim("run", folder, "--json")
    reported = [json.loads(text)["jobs"] for text in (again.out, (folder / "summary.json").read_text())]
    assert reported[0] == reported[1]
    done = vinesim("verify", folder)
    assert (done.code, "tasks (3), jobs (3), units (2): the same bit for bit" in " ".join(done.out.split())) == (
        0,
        True,
    )
    assert vinesim("run", folder, "--out", folder).code == 0  # in its own place
    assert vinesim("verify", folder).code == 0


def test_a_run_of_text_files_is_repeated(vinesim, paper, tmp_path):
    words = (*paper.words, "--policy", "pref", "--network", "none", "--sampling", 50)
    assert vinesim(*words, "--out", tmp_path / "out").code == 0
    for file in (paper.deployment, paper.trace):
        file.unlink()
    assert vinesim("verify", tmp_path / "out").code == 0


def test_a_sweep_is_repeated_elsewhere(vinesim, here, tmp_path):
    assert vinesim("sweep", here / "study.yaml", "--out", tmp_path / "out", "--workers", 1).code == 0
    folder = _moved(here, tmp_path / "out")
    assert "4 found in the folder" in vinesim("sweep", folder, "--workers", 1).out
    assert "4 done now" in vinesim("sweep", folder, "--out", tmp_path / "new", "--workers", 1).out
    (part,), (again,) = ((place / "runs").iterdir() for place in (folder, tmp_path / "new"))
    assert part.read_bytes() == again.read_bytes()
    assert vinesim("verify", folder, "--workers", 1).code == 0
    assert vinesim("run", folder, "--point", 3, "--json").code == 0


def test_a_plan_is_repeated_elsewhere(vinesim, here, tmp_path):
    assert vinesim("plan", here / "plan.yaml", "--out", tmp_path / "out", "--workers", 1).code == 0
    folder = _moved(here, tmp_path / "out")
    assert vinesim("run", folder / "recommendation.yaml").code == 0
    done = vinesim("verify", folder, "--workers", 1, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["differences"] == []


def test_a_plan_with_numbers_of_ones_own_is_repeated_elsewhere(vinesim, here, tmp_path):
    (here / "late.py").write_text(
        "import limit\n\ndef late(result):\n    return (result.jobs['latency_us'] > limit.US).mean()\n"
    )
    (here / "limit.py").write_text("US = 40e6\n")
    text = PLAN.rstrip() + "\nlimits: {late: {below: 2}}\nrecord: [late.py:late]\n"
    (here / "plan.yaml").write_text(text)
    done = vinesim("plan", here / "plan.yaml", "--out", tmp_path / "out", "--workers", 1)
    assert done.code == 0, done.err
    folder = _moved(here, tmp_path / "out")
    assert "late below 2: holds" in " ".join(vinesim("plan", folder, "--set", "limits.late.below=2").out.split())
    done = vinesim("verify", folder, "--workers", 1, "--json")
    assert (done.code, json.loads(done.out)["differences"]) == (0, [])


def test_a_back_test_is_repeated_elsewhere(vinesim, here, tmp_path):
    assert vinesim("import", "slurm", SITE, "-o", here / "site.parquet").code == 0
    words = ("backtest", here / "site.yaml", "--replications", 2, "--set", "options.bf_interval=60")
    assert vinesim(*words, "--out", here).code == 2  # other files are there
    assert vinesim(*words, "--out", tmp_path / "out").code == 0
    assert vinesim(*words, "-o", here / "all.json").code == 0
    stored = (tmp_path / "out/backtest.json").read_text()
    assert stored == (here / "all.json").read_text()
    folder = _moved(here, tmp_path / "out")
    assert vinesim("backtest", folder, "--out", tmp_path / "again").code == 0
    assert (tmp_path / "again/backtest.json").read_text() == stored
    assert "the same bit for bit" in vinesim("verify", folder).out
    (folder / "backtest.json").write_text(stored.replace('"replications": 2', '"replications": 3'))
    done = vinesim("verify", folder)
    assert (done.code, "backtest.replications: 3, and 2 when repeated" in done.out) == (1, True)


def test_numbers_that_differ_are_named(vinesim, here, tmp_path):
    out = tmp_path / "out"
    vinesim("run", here / "study/scenario.yaml", "--out", out)
    duckdb.sql(
        f"COPY (SELECT * REPLACE (finish_us + 1 AS finish_us) FROM '{out}/tasks.parquet') TO '{out}/new.parquet'"
    )
    (out / "new.parquet").rename(out / "tasks.parquet")
    (out / "SHA256SUMS").unlink()
    done = vinesim("verify", out)
    assert done.code == 1, done.err
    assert "tasks.finish_us: 3 of 3 values differ, the first in row 0" in done.out


def test_what_cannot_travel_is_named_before_anything_runs(vinesim, here, tmp_path, monkeypatch):
    monkeypatch.setattr(origin, "MOST_BYTES", 40)  # the log and the code are larger
    (here / "study/code/helpers.py").write_text("import scipy_of_the_author as _\n" + HELPERS)
    monkeypatch.syspath_prepend(tmp_path / "site")
    (tmp_path / "site").mkdir()
    (tmp_path / "site/scipy_of_the_author.py").write_text("")
    first = vinesim("run", here / "study/scenario.yaml", "--out", tmp_path / "out")
    assert "not copied" in first.err
    assert f"{here / 'jobs.csv'} (0 MB)" in first.err
    assert vinesim("verify", tmp_path / "out").code == 0  # the links lead to the files
    folder = _moved(here, tmp_path / "out")
    (tmp_path / "site/scipy_of_the_author.py").unlink()
    monkeypatch.delitem(sys.modules, "scipy_of_the_author")
    reported = vinesim("run", folder)
    assert reported.code == 2
    for name in ("inputs/jobs.csv", "inputs/study/code/mine.py", "package scipy_of_the_author"):
        assert name in reported.err
    assert "put it there" in reported.err


def test_a_study_in_the_same_place_is_not_taken_for_an_old_result(vinesim, here):
    (here / "study/inputs").mkdir()
    (here / "study/inputs/precious.csv").write_text(JOBS)
    refused = vinesim("run", here / "study/scenario.yaml", "--out", here / "study")
    assert (refused.code, "also code, inputs, scenario.yaml" in refused.err) == (2, True)


def test_a_folder_of_another_kind_is_refused(vinesim, here, tmp_path):
    vinesim("run", here / "study/scenario.yaml", "--out", tmp_path / "out")
    for command in ("sweep", "plan"):
        reported = vinesim(command, tmp_path / "out")
        assert (reported.code, "Give it to `vinesim run`" in reported.err) == (2, True)
    (tmp_path / "out/origin.json").write_text("{}")
    assert "origin.json: expected a file whose checksum matches" in vinesim("verify", tmp_path / "out").err
