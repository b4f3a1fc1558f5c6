"""``vinesim sweep`` as a shell calls it."""

import json
import os
import signal
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import psutil
import pytest

from tests.studies.conftest import POLICIES, files

ROOT = Path(__file__).parents[2]


@pytest.fixture
def file(tmp_path):
    """A study of 2 x 3 points with 2 replications; its second policy breaks its contract until it is mended."""
    (tmp_path / "policies.py").write_text(POLICIES)
    (tmp_path / "study.yaml").write_text(
        """
description: A little study
scenario:
  datacenter: {racks: [{units: {CPU_INTEL: 2, GPU: 1}}]}
  workload: {generator: identical, options: {n_jobs: 20}}
  arrivals: {poisson: {mean: 7}}
axes:
  policy: ["policies.py:Plain", "policies.py:Breaks"]
  arrivals.poisson.mean: [5, 10, 20]
replications: 2
"""
    )
    return tmp_path / "study.yaml"


def test_numbers_of_ones_own_do_not_end_a_sweep_whose_first_policy_fails(vinesim, file, tmp_path):
    (tmp_path / "own.py").write_text("def number(result):\n    return 1.0\n")
    policies = '["policies.py:Plain", "policies.py:Breaks"]'
    text = file.read_text().replace(policies, '["policies.py:Breaks", "policies.py:Plain"]')
    file.write_text(text + "record: [by.size, own.py:number]\n")
    done = vinesim("sweep", file, "--out", tmp_path / "out", "--workers", 1)
    assert (done.code, "12 runs: 6 done now." in done.out, "6 runs FAILED" in done.out) == (1, True, True)


def test_a_sweep_with_failures_and_its_second_try(vinesim, file, tmp_path):
    first = vinesim("sweep", file, "--out", tmp_path / "out", "--workers", 1)
    assert first.code == 1
    assert "A little study" in first.out
    assert "12 runs: 6 done now." in first.out
    assert "6 runs FAILED; repeat the command to try them again:" in first.out
    assert "policy=policies.py:Breaks, arrivals.poisson.mean=5, seed=0: policy high: unit_order must" in first.out
    assert "±" in first.out
    assert max(map(len, first.out.splitlines()[:9])) <= 100
    missing = "Of 12 runs 6 FAILED; repeating vinesim sweep does them."
    assert missing in vinesim("show", tmp_path / "out").out
    known = json.loads(vinesim("show", tmp_path / "out", "--json").out)
    assert (known["runs"], known["found"], known["missing"], len(known["failures"])) == (12, 6, missing, 6)
    load = ("--by", "arrivals.poisson.mean", "--of", "makespan_us")
    assert missing in vinesim("compare", tmp_path / "out", *load).out
    (tmp_path / "mended").touch()
    second = vinesim("sweep", file, "--out", tmp_path / "out", "--workers", 1)
    assert (second.code, second.err) == (0, f"vinesim: running the code in {tmp_path / 'policies.py'}\n")
    assert "12 runs: 6 done now, 6 found in the folder." in second.out
    assert "FAILED" not in vinesim("show", tmp_path / "out").out
    assert f"read_parquet('{tmp_path}/out/runs/*.parquet', union_by_name = true)" in second.out


@pytest.mark.parametrize("rule", ["none", "{jobs: 5}"])
def test_one_run_of_a_study_says_that_it_leaves_out_no_warm_up(vinesim, file, rule):
    file.write_text(file.read_text() + f"warm_up: {rule}\n")
    done = vinesim("run", file, "--point", 0, "--json")
    assert json.loads(done.out)["jobs"].get("warm_up") is None
    assert ("warm_up: the numbers of one run cover all of its jobs" in done.err) == (rule != "none")


def test_json_is_all_that_is_printed(vinesim, file, tmp_path):
    (tmp_path / "mended").touch()
    done = vinesim("sweep", file, "--out", tmp_path / "out", "--workers", 1, "--json")
    found = json.loads(done.out)
    assert (done.code, done.err) == (0, f"vinesim: running the code in {tmp_path / 'policies.py'}\n")
    assert (found["runs"], found["found"], found["failures"], len(found["points"])) == (12, 0, [], 6)
    assert found["points"][1]["point"] == {"policy": "policies.py:Plain", "arrivals.poisson.mean": 10.0}
    latency = found["points"][1]["numbers"]["jobs.latency_us.mean"]
    assert (latency["n"], latency["low"] < latency["mean"] < latency["high"]) == (2, True)


@pytest.fixture
def stalling(tmp_path):
    """A study in which the points that ask for an FPGA, of which there is none, stall; those of flat do not ask."""
    (tmp_path / "stalling.yaml").write_text(
        """
scenario:
  datacenter: {racks: [{units: {CPU_INTEL: 2, GPU: 1}}]}
  workload: {generator: 500jobs}
  arrivals: {iat: 7}
axes:
  policy: [flat, pref]
  workload.options.preferred: [GPU, FPGA]
replications: 2
record: [jobs.latency_us.mean]
"""
    )
    return tmp_path / "stalling.yaml"


def test_points_that_stalled_are_named_at_the_end_and_by_the_exit_code(vinesim, stalling, tmp_path):
    done = vinesim("sweep", stalling, "--out", tmp_path / "out", "--workers", 1)
    assert done.code == 3
    end = done.out[done.out.index("2 runs STALLED: some tasks can never start") :]
    assert "\n  policy=pref, workload.options.preferred=FPGA: 2 of 2 runs\n" in end
    assert end.count("of 2 runs") == 1
    rows = [line.split() for line in done.out.split("\n") if line.strip().startswith(("flat", "pref"))]
    assert [row[:5] for row in rows if "of" in row] == [["pref", "FPGA", "2", "of", "2"]]
    again = vinesim("sweep", stalling, "--out", tmp_path / "out", "--workers", 1, "--json")
    assert again.code == 3
    point = {"policy": "pref", "workload.options.preferred": "FPGA"}
    stalled = [{"point": point, "stalled": 2, "runs": 2}]
    assert json.loads(again.out)["stalled"] == stalled
    words = ("compare", tmp_path / "out", "--by", "policy", "--of", "jobs.latency_us.mean")
    note = "the numbers cover only the others: policy=pref, workload.options.preferred=FPGA: 2 of 2 runs."
    assert note in " ".join(vinesim(*words).out.split())
    assert json.loads(vinesim(*words, "--json").out)["stalled"] == stalled
    assert vinesim("report", tmp_path / "out", "-o", tmp_path / "page.html").code == 0
    page = (tmp_path / "page.html").read_text()
    assert note in page
    assert '"stalled":[[3,2]]' in page  # runs by point, which the page sets apart
    assert "Sweep out: what do policy and workload.options.preferred change?" in page
    many = tmp_path / "many"
    stalling.write_text(stalling.read_text().replace("GPU: 1}", "GPU: 2}"))
    assert vinesim("sweep", stalling, "--out", many, "--workers", 1).code == 3
    done = vinesim("compare", tmp_path / "out", many, "--by", "policy", "--of", "jobs.latency_us.mean")
    assert done.code == 0, done.err
    both = " ".join(done.out.split())
    assert both.count(note) == 1
    assert f"out: {note}" not in both  # of both of them
    assert vinesim("report", tmp_path / "out", many, "-o", tmp_path / "page.html").code == 0
    assert (tmp_path / "page.html").read_text().count(note) == 1


def test_a_horizon_that_the_study_sets_is_no_failure(vinesim, stalling, tmp_path):
    stalling.write_text(stalling.read_text().replace("[GPU, FPGA]", "[GPU]"))
    done = vinesim("sweep", stalling, "--out", tmp_path / "out", "--workers", 1, "--set", "horizon=1 ms")
    assert done.code == 0
    assert "4 runs ended with HORIZON" in done.out
    assert "STALLED" not in done.out


def test_set_changes_the_scenario(vinesim, file, tmp_path):
    (tmp_path / "mended").touch()
    words = ("sweep", file, "--workers", 1, "--json", "--set", "workload.options.n_jobs=5", "--out", tmp_path / "out")
    points = json.loads(vinesim(*words).out)["points"]
    assert {point["numbers"]["jobs.count"]["mean"] for point in points} == {5.0}
    assert "Set seed: in the study" in vinesim(*words, "--set", "seed=3").err


def test_set_may_not_be_what_an_axis_sets(vinesim, file, tmp_path):
    done = vinesim("sweep", file, "--out", tmp_path / "out", "--set", "policy=high", "--set", "arrivals.poisson.mean=3")
    assert (done.code, "2 problems in the input" in done.err) == (2, True)
    assert not (tmp_path / "out").exists()


def test_set_may_not_be_part_of_what_an_axis_sets(vinesim, file, tmp_path):
    racks = "  datacenter.racks: [[{units: {GPU: 1}}], [{units: {GPU: 2}}]]\nreplications: 2"
    file.write_text(file.read_text().replace("replications: 2", racks))
    done = vinesim("sweep", file, "--out", tmp_path / "out", "--set", "datacenter.racks[0].units.GPU=3")
    assert (done.code, "found datacenter.racks[0].units.GPU" in done.err) == (2, True)


def test_a_scenario_is_no_study_and_a_study_no_scenario(vinesim, file, tmp_path):
    scenario = tmp_path / "alone.yaml"
    scenario.write_text("datacenter: {racks: []}\nworkload: {generator: identical}\n")
    done = vinesim("sweep", scenario, "--out", tmp_path / "out")
    assert (done.code, "expected a study, found a scenario" in done.err) == (2, True)
    done = vinesim("run", file)
    assert (done.code, "expected a scenario, found a study" in done.err) == (2, True)


def test_wrong_words_are_reported(vinesim, file, tmp_path):
    assert "--shard: expected K/N" in vinesim("sweep", file, "--out", tmp_path / "out", "--shard", "2").err
    done = vinesim("sweep", file, "--out", tmp_path / "out", "--backend", "pbs", "--workers", 0)
    assert (done.code, "2 problems in the input" in done.err) == (2, True)
    assert not (tmp_path / "out").exists()
    assert "a new or empty folder" in vinesim("sweep", file, "--out", tmp_path).err


def test_one_wide_study_fits_the_terminal(vinesim, file, tmp_path):
    (tmp_path / "mended").touch()
    text = file.read_text().replace("replications: 2", "  datacenter.racks[0].units.GPU: [1, 2]\n  sampling: [10, 20]")
    file.write_text(text)
    lines = vinesim("sweep", file, "--out", tmp_path / "out", "--workers", 1).out.splitlines()
    assert max(map(len, lines[:30])) <= 100
    assert lines[2].split()[:6] == ["policy", "poisson.mean,", "us", "units.GPU", "sampling,", "us"]


TELLS_OF_CHUNKS = """
import sys
import vinesim.studies.chunks as chunks
import vinesim.studies.sweep as sweep
from vinesim.cli.start import main
chunks.MAX_RUNS = 20
progress = sweep.SweepProgress
def reported(n_done, *others):
    if n_done:
        print("a chunk is done", file=sys.stderr, flush=True)
    return progress(n_done, *others)
sweep.SweepProgress = reported
main()
"""


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_stops_it_cleanly_and_it_goes_on(vinesim, file, tmp_path, kind):
    (tmp_path / "mended").touch()
    file.write_text(file.read_text().replace("replications: 2", "replications: 2000"))
    command = [sys.executable, "-c", TELLS_OF_CHUNKS, "sweep", str(file), "--out", "out", "--workers", "2"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        until_a_chunk_is_done = list(takewhile(lambda line: line != "a chunk is done\n", process.stderr))
        workers = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, kind)  # as a terminal does: to all its processes
        _, err = process.communicate(timeout=60)
    reported = [*until_a_chunk_is_done, *err.splitlines(keepends=True)]
    assert [line.rstrip("\n") for line in reported if line.startswith("vinesim: ")] == [  # libraries may warn too
        f"vinesim: running the code in {tmp_path / 'policies.py'}",
        "vinesim: stopped; finished runs are in out, repeat the command to continue",
    ]
    assert process.returncode == 130
    assert len(workers) >= 2
    _, alive = psutil.wait_procs(workers, 20)
    assert not alive
    assert list((tmp_path / "out").glob("runs/*.parquet"))
    assert files(tmp_path / "out")


@pytest.mark.parametrize(
    "code",
    [
        "from vinesim.cli.main import app; app(['sweep', '--help'], standalone_mode=False)",
        "import vinesim; vinesim.read_sweep",
    ],
)
def test_help_and_reading_start_quickly(code):
    heavy = {"numba", "joblib", "duckdb", "distributed", "ray", "scipy"}
    script = f"import sys\n{code}\nprint(*({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""
