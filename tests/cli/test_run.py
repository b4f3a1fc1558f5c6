"""``vinesim run`` from end to end."""

import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pytest
from rich.console import Console

from vinesim.cli.progress import watching
from vinesim.cli.tables import LATENCIES, latency_table
from vinesim.engine.simulate import Progress
from vinesim.formats.source.quantities import format_time_us
from vinesim.model.columns import JOBS, TASKS, UNITS, UTILIZATION

ROOT = Path(__file__).parents[2]


def test_prints_the_numbers_of_a_run(vinesim, paper):
    done = vinesim(*paper.words)
    assert done.code == 0
    for text in ("jobs", "tasks", "p99.9", "25.0 us", "utilisation, GPU", "makespan", "tasks/s"):
        assert text in done.out


def _summary(time_us: float) -> dict[str, Any]:
    times = dict.fromkeys(LATENCIES, time_us)
    group = {"finished": 1_234_567, "latency_us": times, "response_us": times}
    return {"jobs": group, "tasks": group}


@pytest.mark.parametrize(
    ("time_us", "width", "left_out"),
    [(25.0, 84, []), (4.46 * 60e6, 100, []), (4.46 * 60e6, 80, ["p90"]), (4.46 * 60e6, 60, ["p90", "p50", "p99.9"])],
)
def test_latencies_fit_the_terminal_in_whole_cells(time_us, width, left_out):
    console = Console(width=width, file=io.StringIO())
    console.print(latency_table(_summary(time_us), console, {}))
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    header, _, *rows = (line for line in lines[1:] if line.strip())
    assert header.split() == ["count", *(name for name in LATENCIES.values() if name not in left_out)]
    assert [row.split()[:2] for row in rows] == [[name, "1,234,567"] for name in ("jobs", "tasks", "response")]
    assert all(row.count(format_time_us(time_us)) == len(LATENCIES) - len(left_out) for row in rows)


def test_waiting_times_are_counted_with_those_that_started_and_did_not_finish(vinesim, tmp_path):
    """On one node, the first job is killed, the second finishes, and the third is withdrawn before it starts."""
    rows = ["arrival_s,time_s,cores,limit_s,withdraw_s", "0,100,8,50,", "10,20,8,90,", "20,20,8,90,30"]
    (tmp_path / "jobs.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "a.yaml").write_text(
        "extends: none\nprocessor_types: [{name: CPU}]\nnetwork: none\npolicy: fcfs\nworkload: {file: jobs.csv}\n"
        "datacenter: {racks: [{nodes: [{units: {CPU: {cores: 8}}, memory: 1 GiB}]}]}\n"
    )
    out = vinesim("run", tmp_path / "a.yaml").out
    for name, count in {"jobs": 1, "tasks": 1, "response": 1, "waiting, jobs": 2, "waiting, tasks": 2}.items():
        assert re.search(rf"^ *{name} +{count} ", out, re.M), (name, out)


def test_json_is_the_summary_and_nothing_else(vinesim, paper, tmp_path):
    done = vinesim(*paper.words, "--json", "--out", tmp_path / "out")
    summary = json.loads(done.out)
    assert summary == json.loads((tmp_path / "out/summary.json").read_text())
    assert summary["jobs"]["latency_us"]["mean"] == 25.0
    assert summary["exit_reason"] == "ALL_DONE"
    assert set(summary) >= {"jobs", "tasks", "utilization", "makespan_us", "cost", "energy_j", "provenance"}


def test_the_result_folder_holds_the_declared_columns(vinesim, paper, tmp_path):
    vinesim(*paper.words, "--sampling", "100", "--out", tmp_path / "out")
    for table in (TASKS, JOBS, UNITS, UTILIZATION):
        path, expected = tmp_path / f"out/{table.name}.parquet", [c for c in table.columns if not c.is_optional]
        frame = pandas.read_parquet(path)
        assert list(frame.columns) == [c.name for c in expected]
        assert list(polars.read_parquet(path).columns) == [c.name for c in expected]
        assert duckdb.sql(f"SELECT count(*) FROM '{path}'").fetchall() == [(len(frame),)]
        for column in expected:
            if column.dtype != "str":
                assert frame[column.name].dtype == np.dtype(column.dtype), column


def test_an_old_result_is_replaced_and_other_folders_are_not(vinesim, paper, tmp_path):
    assert vinesim(*paper.words, "--out", tmp_path / "out").code == 0
    assert vinesim(*paper.words, "--policy", "pref", "--out", tmp_path / "out").code == 0
    assert json.loads((tmp_path / "out/summary.json").read_text())["provenance"]["policy"] == "pref"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("precious")
    refused = vinesim(*paper.words, "--out", tmp_path / "mine")
    assert refused.code == 2
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


def test_every_problem_of_every_file_comes_at_once(vinesim, paper, tmp_path):
    paper.trace.write_text("2 0 0 0 x 2 0\n2 0 0 0 1 2\n9 0 0 0 1 2 1\n")
    paper.deployment.write_text("0 0 0\n77 0 0\n0 -1 0\n")
    done = vinesim(*paper.words, "--out", tmp_path / "out")
    assert done.code == 2
    assert "Traceback" not in done.err
    for place in ("trace.txt:1:9", "trace.txt:2", "deployment.txt:3:3"):
        assert place in done.err, done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run"], "SCENARIO.yaml"),
        (["run", "nowhere.yaml"], "nowhere.yaml"),
        (["run", "--deployment", "nowhere.txt", "--trace", "nowhere.txt", "--iat", "1"], "nowhere.txt"),
        (["run", ".", "--iat", "1"], "one of them"),
        (["policies", "hihg"], "high"),
    ],
)
def test_wrong_command_lines(vinesim, words, expected):
    done = vinesim(*words)
    assert done.code == 2
    assert expected in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--policy", "hihg"], "one of flat, high"),
        (["--policy", "hihg"], "found 'hihg'. Did you mean high?"),
        (["--policy", "high", "--option", "in_ordr=yes"], "found 'in_ordr'. Did you mean in_order?"),
        (["--option", "speed=1"], "policy.options.speed"),
        (["--option", "in_order=perhaps"], "expected yes or no"),
        (["--option", "in_order"], "key=value"),
        (["--seed", "-1"], "seed"),
        (["--sampling", "0"], "sampling_us"),
        (["--sampling", "nan"], "--sampling"),
        (["--network", "fast"], "paper"),
        (["--engine", "quantum"], "compiled or reference"),
        (["--percentiles", "guess"], "nearest_rank"),
        (["--policy", "nowhere.py:Mine"], "nowhere.py"),
    ],
)
def test_wrong_parameters(vinesim, paper, tmp_path, words, expected):
    done = vinesim(*paper.words, *words, "--out", tmp_path / "out")
    assert done.code == 2
    assert expected in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "out").exists()


def test_an_unordered_network_is_a_warning(vinesim, paper, tmp_path):
    network = tmp_path / "network.yaml"
    network.write_text("local: 1\nintra_rack: 2\ninter_rack: 3\n")
    done = vinesim(*paper.words, "--network", network)
    assert done.code == 0
    assert "warning" in done.err
    assert "local > intra_rack > inter_rack" in done.err


def test_a_run_that_nothing_can_end_is_stalled_and_says_why(vinesim, paper, tmp_path):
    paper.trace.write_text("2 0 0 0 30000000 3 0\n")  # prefers an FPGA, of which there is none
    done = vinesim(*paper.words, "--policy", "pref", "--out", tmp_path / "out")
    assert done.code == 3
    assert done.out.startswith("STALLED: 0 of 1 tasks are done; ")
    assert "prefers FPGA: the datacenter has none" in " ".join(done.out.split())
    assert json.loads((tmp_path / "out/summary.json").read_text())["exit_reason"] == "STALLED"
    as_json = vinesim(*paper.words, "--policy", "pref", "--json")
    assert (as_json.code, json.loads(as_json.out)["exit_reason"]) == (3, "STALLED")
    assert as_json.err.startswith("vinesim: STALLED: 0 of 1 tasks are done; ")


def test_a_run_that_ends_at_its_horizon_is_done_and_says_so_first(vinesim, tmp_path):
    file = Path(__file__).parents[2] / "examples" / "quickstart.yaml"
    done = vinesim("run", file, "--set", "horizon=1 ms", "--engine", "reference")
    assert done.code == 0
    assert re.match(r"HORIZON: [\d,]+ of 2,500 tasks are done\n", done.out)
    whole = vinesim("run", file, "--engine", "reference")
    assert whole.code == 0
    assert "ALL_DONE" not in whole.out


def test_a_task_that_no_unit_can_run_is_refused(vinesim, paper):
    paper.trace.write_text("6 0 0 0 1 2 0\n")  # UNSPEC_TASK has no affinity
    done = vinesim(*paper.words)
    assert done.code == 2
    assert "trace.txt:1:1" in done.err


def test_a_full_disk_leaves_nothing(vinesim, paper, tmp_path, monkeypatch):
    def full(path, columns):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("vinesim.formats.results.folder.write_table", full)
    done = vinesim(*paper.words, "--out", tmp_path / "out")
    assert done.code == 2
    assert "No space left on device" in done.err
    assert not [p for p in tmp_path.iterdir() if "out" in p.name]


def test_interrupts_end_the_run_and_keep_what_is_done(capsys):
    with watching(10, quiet=True) as (on_progress, _):
        assert not on_progress(Progress(1, 0.0, 0, 10))
        signal.raise_signal(signal.SIGINT)
        assert on_progress(Progress(2, 0.0, 0, 10))
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert "stopping" in capsys.readouterr().err


def test_a_terminal_shows_how_far_a_run_is():
    code = "import vinesim.cli.progress as p; p.SHOW_AFTER_S = 0.0\nfrom vinesim.cli.start import main; main()"
    words = ["run", str(ROOT / "examples" / "quickstart.yaml"), "--engine", "reference"]
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", code, *words], stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # the other side was closed
            while piece := os.read(ours, 4096):
                shown += piece
    os.close(ours)
    assert process.returncode == 0
    for part in (b"simulating", b"% of the tasks", b"events, at"):
        assert part in shown


def test_help_and_version(vinesim):
    assert vinesim("--help").code == 0
    assert "vinesim" in vinesim("--version").out
    assert "closer_to_data" in vinesim("policies").out
    assert "only | first" in vinesim("policies", "pref").out


def test_a_folder_with_more_than_a_result_is_not_touched(vinesim, paper, tmp_path):
    vinesim(*paper.words, "--out", tmp_path / "out")
    (tmp_path / "out/notes.txt").write_text("precious")
    refused = vinesim(*paper.words, "--out", tmp_path / "out")
    assert refused.code == 2
    assert "notes.txt" in refused.err
    assert (tmp_path / "out/notes.txt").read_text() == "precious"


@pytest.mark.parametrize("words", [["schema"], ["policies"], ["--help"]])
def test_an_output_that_cannot_be_written_is_one_line(words):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "vinesim", *words]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert "cannot write the output" in done.stderr
    assert "Traceback" not in done.stderr


ENERGY = Path(__file__).parents[2] / "examples" / "energy.yaml"


def test_naming_the_files_own_policy_again_changes_nothing(vinesim):
    """Its options and its period stay; what --set and --option give counts for the policy that --policy names."""
    small = ("workload.options.tasks_per_batch=4", "datacenter.racks[0].units={A: 2, D: 2}", "period=5 s")
    small += ("options={cost: marginal}",)
    command = ["run", ENERGY, "--json", "--engine", "reference", *(w for c in small for w in ("--set", c))]

    def run(*words):
        done = vinesim(*command, *words)
        assert done.code == 0, done.err
        found = json.loads(done.out)
        return found["energy_j"], found["periods"]["count"], found["provenance"]["options"]

    assert run("--policy", "bf") == run()
    assert run("--policy", "bfd", "--set", "options.penalty=7")[2]["penalty"] == 7.0
    assert run("--policy", "bfd", "--option", "penalty=7")[2] == {**run()[2], "penalty": 7.0}
    refused = vinesim(*command, "--policy", "rr", "--set", "options.penalti=7")
    assert refused.code == 2
    assert "--set options.penalti=7" in refused.err


def test_left_out_options_are_named_once_on_standard_error(vinesim, tmp_path):
    file = tmp_path / "s.yaml"
    file.write_text(ENERGY.read_text() + "options: {cost: marginal, realloc: new}\n")
    done = vinesim("run", file, "--policy", "rr", "--json", "--set", "workload.options.tasks_per_batch=4")
    assert json.loads(done.out)["provenance"]["options"]["realloc"] == "new"
    assert done.err.count("ignored") == 1
    assert "warning: ignored an option of policy bf that rr does not have: cost" in done.err


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ((), 20),
        (("--period", "20 s"), 10),
        (("--set", "period=20 s"), 10),
        (("--option", "period_us=20e6"), 10),
        (("--set", "options.period_us=20 s"), 10),
    ],
)
def test_the_period_may_be_given_in_many_places_and_is_one(vinesim, words, count):
    small = ("workload.options.tasks_per_batch=4", "datacenter.racks[0].units={A: 2, D: 2}", "arrivals.iat=20 s")
    small = [w for c in (*small, "workload.options.n_batches=10") for w in ("--set", c)]
    done = vinesim("run", ENERGY, "--json", "--engine", "reference", *small, *words)
    found = json.loads(done.out)
    assert found["periods"]["count"] == count
    assert found["provenance"]["period_us"] == 200e6 / count
    assert ("options.period_us is now a key of the scenario" in done.err) == ("period_us" in "".join(words))


def test_text_files_have_a_period_too(vinesim, paper, tmp_path):
    (tmp_path / "mine.py").write_text(
        "import numpy as np\nfrom vinesim.policies import BatchPolicy\n"
        "class Mine(BatchPolicy):\n    def place(self, tasks, servers):\n"
        "        return np.zeros(len(tasks.task), np.int64)\n    may_overcommit = True\n"
    )
    words = (*paper.words, "--policy", tmp_path / "mine.py:Mine", "--json", "--engine", "reference")
    counts = [
        json.loads(vinesim(*words, *more).out)["periods"]["count"]
        for more in (("--period", "500 us"), ("--option", "period_us=500"), ("--period", "1 ms"))
    ]
    assert counts[0] == counts[1] > counts[2]


@pytest.mark.parametrize(
    "words",
    [
        ("--policy", "rr", "--set", "policy=bf"),
        ("--option", "cost=marginal", "--set", "options.cost=fitted"),
        ("--period", "1 s", "--set", "period=2 s"),
        ("--seed", "1", "--set", "seed=2"),
    ],
)
def test_one_value_cannot_be_given_twice(vinesim, words):
    done = vinesim("run", ENERGY, *words)
    assert done.code == 2
    assert words[0] in done.err
    assert "found both" in done.err


def test_the_period_is_reported_where_there_is_one(vinesim, tmp_path):
    small = ("workload.options.tasks_per_batch=4", "datacenter.racks[0].units={A: 2, D: 2}")
    small = [w for c in small for w in ("--set", c)]
    done = vinesim("run", ENERGY, "--engine", "reference", *small, "--out", tmp_path / "out")
    assert re.search(r"period +10\.0 s", done.out)
    assert vinesim("report", tmp_path / "out").code == 0
    assert "<dt>Period</dt><dd>10.0 s</dd>" in (tmp_path / "out/report.html").read_text()
    assert not re.search(r"period +10", vinesim("run", ENERGY, "--engine", "reference", *small, "--policy", "high").out)


def test_a_policy_on_the_command_line_is_seen_from_here_wherever_the_scenario_lies(vinesim, tmp_path, monkeypatch):
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real" / "deep")
    (tmp_path / "link" / "s.yaml").write_text((ENERGY.parent / "quickstart.yaml").read_text())
    (tmp_path / "mine.py").write_text((ENERGY.parent / "my_policy.py").read_text())
    monkeypatch.chdir(tmp_path)
    done = vinesim("run", "link/s.yaml", "--policy", "mine.py:Patient", "--json", "--engine", "reference")
    assert done.code == 0, done.err
    assert done.err == f"vinesim: running the code in {tmp_path / 'mine.py'}\n"
    assert vinesim("run", "link/s.yaml", "--policy", "nowhere.py:Patient").code == 2


def test_a_policy_that_changes_the_working_folder_does_not_move_the_result(vinesim, tmp_path, monkeypatch):
    (tmp_path / "goes.py").write_text(
        "import os\n"
        "from vinesim.policies.online.high import High\n"
        "os.chdir('/')\n"
        "class Goes(High):\n"
        "    compiled = False\n"
        "    def unit_order(self, n, random):\n"
        "        os.chdir('/')\n"
    )
    monkeypatch.chdir(tmp_path)
    assert vinesim("run", ROOT / "examples" / "quickstart.yaml", "--policy", "goes.py:Goes", "--out", "o").code == 0
    assert Path.cwd() == tmp_path
    assert (tmp_path / "o" / "summary.json").is_file()
