"""``vinesim plan`` as a shell calls it, and killed while it runs."""

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import vinesim as vs

ROOT = Path(__file__).parents[2]
PLAN = """
description: A little plan
scenario:
  datacenter: {racks: [{units: {CPU_INTEL: 2, GPU: 1}}]}
  workload: {generator: mix, options: {n_jobs: 20, tasks_per_job: 3, operations: 5e6, shares: {INT: 1, MEM: 2}}}
  arrivals: {poisson: {mean: 300}}
  prices: {CPU_INTEL: 2000, GPU: 3000}
choose:
  datacenter.racks[0].units.CPU_INTEL: {from: 3, to: 8}
  datacenter.racks[0].units.GPU: {from: 0, to: 1}
minimize: cost.purchase
limits:
  jobs.latency_us.mean: {below: 450 us}
budget: {runs: 500}
confirm: {replications: 20, horizon: 2}
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "plan.yaml").write_text(PLAN)
    return tmp_path / "plan.yaml"


def test_the_answer_fits_a_terminal_and_says_what_to_do(vinesim, file, tmp_path):
    out = tmp_path / "out"
    done = vinesim("plan", file, "--out", out, "--workers", 1)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] in ("Recommended", "Horizon too short")
    assert lines[1].startswith("  CPU_INTEL ")
    assert "cost.purchase (least): " in done.out
    assert "on fresh seeds: holds" in done.out
    assert "2 times as long: " in done.out
    assert "Relaxing a limit by 10 %" in done.out
    assert "One step more or less" in done.out
    assert "12 candidates: " in done.out
    assert "Proven: " in done.out
    assert max(len(line) for line in lines if str(tmp_path) not in line) <= 80
    document = json.loads((out / "plan.json").read_text())
    assert document["recommended"]["verdict"] == "holds"
    assert document["plan"]["description"] == "A little plan"
    assert vinesim("run", out / "recommendation.yaml").code == 0
    page = (out / "plan.html").read_bytes()
    (out / "plan.html").unlink()
    reported = vinesim("report", out).out
    assert f"wrote {out / 'report.html'}" in reported
    assert f"wrote {out / 'plan.html'}: the answer of the plan" in reported
    assert (out / "plan.html").read_bytes() == page
    (out / "plan.html").unlink()
    vinesim("report", out, "-o", tmp_path / "other.html")
    assert not (out / "plan.html").exists()
    by = "datacenter.racks[0].units.CPU_INTEL"
    assert vinesim("compare", out, "--by", by, "--of", "jobs.latency_us.mean").code == 0


def test_a_utility_has_no_unit(vinesim, file, tmp_path):
    """What its parts are measured in says nothing about the whole."""
    utility = "cost.purchase / 1000 + jobs.latency_us.mean"
    file.write_text(PLAN.replace("minimize: cost.purchase", f"minimize: {{utility: {utility}}}"))
    done = vinesim("plan", file, "--out", tmp_path / "out", "--workers", 1)
    value = json.loads((tmp_path / "out" / "plan.json").read_text())["recommended"]["objectives"][0]["estimate"]
    assert f"  {utility} (least): {value:.4g} [" in done.out
    steps = done.out.partition("One step more or less")[2].replace("\n", " ")
    assert re.search(rf"{re.escape(utility)} [+-][\d.]+; ", steps)
    html = (tmp_path / "out" / "plan.html").read_text()
    tables = html.partition('id="tables"')[2]
    assert not re.search(r"<td[^>]*>[\d.,]+ (us|ms)</td>", tables.partition("relaxing")[0])


def test_json_is_all_that_is_printed(vinesim, file, tmp_path):
    done = vinesim("plan", file, "--out", tmp_path / "out", "--workers", 1, "--json")
    assert json.loads(done.out)["counts"]["points"] == 12
    assert done.err == ""


def test_no_plan_has_its_own_exit_code(vinesim, file, tmp_path):
    file.write_text(PLAN.replace("450 us", "10 us"))
    done = vinesim("plan", file, "--out", tmp_path / "out", "--workers", 1)
    assert done.code == 4
    assert done.out.startswith("No candidate keeps all limits: ")
    assert "Nearest to the limits" in done.out


def test_where_all_are_overloaded_it_says_how_to_run_them_all_the_same(vinesim, file, tmp_path):
    file.write_text(PLAN.replace("mean: 300", "mean: 3").replace("450 us", "20 ms"))
    done = vinesim("plan", file, "--out", tmp_path / "out", "--workers", 1)
    assert (done.code, "12 without a run: overloaded" in done.out) == (4, True)
    assert "screen: false" in done.out
    assert max(map(len, done.out.splitlines())) <= 80 + len(str(tmp_path))
    file.write_text(file.read_text() + "screen: false\n")
    again = vinesim("plan", file, "--out", tmp_path / "again", "--workers", 1)
    assert (again.code, "screen: false" in again.out) == (0, False)


def test_wrong_input_is_reported_at_its_place_and_writes_nothing(vinesim, file, tmp_path):
    file.write_text(PLAN.replace("cost.purchase", "cost.purchse"))
    done = vinesim("plan", file, "--out", tmp_path / "out")
    assert done.code == 2
    assert "plan.yaml:11:11: minimize: expected a number of a run" in done.err
    assert "Did you mean cost.purchase?" in done.err
    assert not (tmp_path / "out").exists()


def test_the_schema_of_plans(vinesim):
    assert json.loads(vinesim("schema", "--plan").out)["title"] == "VineSim plan"
    assert "kernels" in json.loads(vinesim("schema", "--cluster").out)["properties"]
    assert vinesim("schema", "--plan", "--study").code == 2


def start(file, out):
    words = [sys.executable, "-m", "vinesim", "plan", str(file), "--out", str(out), "--workers", "1", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)


def journaled(folder: Path) -> int:
    lines = 0
    for file in folder.glob("journal/*.jsonl"):
        with contextlib.suppress(FileNotFoundError):  # its runs have just become a file of the folder runs
            lines += file.read_bytes().count(b"\n")
    return lines + len(list(folder.glob("runs/*.parquet")))


def test_a_killed_plan_loses_no_finished_run_and_recommends_the_same(file, tmp_path):
    expected = vs.plan(vs.read_plan(file), tmp_path / "whole", workers=1)
    draw, out, killed = random.Random(5), tmp_path / "killed", 0
    for _ in range(2):
        process, before = start(file, out), journaled(out)
        more = draw.randrange(1, 30)
        while process.poll() is None and journaled(out) < before + more:
            time.sleep(0.01)
        killed += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert killed
    found = vs.plan(vs.read_plan(file), out, workers=1)
    assert found.recommended == expected.recommended
    assert found.counts["runs"] == expected.counts["runs"]
    assert found.counts["runs_done_now"] < expected.counts["runs_done_now"]
    rows, whole = vs.read_sweep(out).table, vs.read_sweep(tmp_path / "whole").table
    assert sorted(rows["run_id"].tolist()) == sorted(whole["run_id"].tolist())


def test_an_interrupt_gives_the_answer_so_far(file, tmp_path):
    process = start(file, tmp_path / "out")
    while process.poll() is None and journaled(tmp_path / "out") < 20:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    if process.returncode == 130:  # it may have ended before
        assert json.loads(out)["ended"] == "interrupted", err
