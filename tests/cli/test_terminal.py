"""What the terminal shows of runs and sweeps: complete, with units, within 80 columns."""

import json
import os
import re
import subprocess
import sys
import time
from contextlib import nullcontext

import numpy as np
import pytest

import vinesim as vs
from vinesim.cli import progress
from vinesim.cli.sweep_table import print_sweep
from vinesim.cli.tables import print_summary
from vinesim.cli.terminal import LEAST_COLUMNS
from vinesim.formats.results.folder import write_result
from vinesim.formats.results.table import Table
from vinesim.formats.study.file import study
from vinesim.policies.documents import read_scenario
from vinesim.studies.sweep import Sweep

SCENARIO = {"datacenter": {"racks": [{"units": {"GPU": 4}}]}, "workload": {"generator": "500jobs"}}


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def swept(record, **numbers):
    """A sweep of two policies with these numbers, one run each."""
    asked = study({"scenario": SCENARIO, "axes": {"policy": ["high", "flat"]}, "record": record})
    columns = {
        "run_id": np.array(["a", "b"]),
        "point": np.arange(2),
        "replication": np.zeros(2, int),
        "seed": np.zeros(2, int),
        "policy": np.array(["high", "flat"], object),
    }
    return Sweep(asked, (), 2, 0, None, Table(columns | {name: np.array(v) for name, v in numbers.items()}))


def printed(capsys, sweep):
    print_sweep(sweep, "out")
    lines = capsys.readouterr().out.splitlines()
    tables = lines[: next(i for i, line in enumerate(lines) if line.endswith("done now."))]
    assert max(map(len, tables)) <= 80
    return "\n".join(tables)


def test_a_run_has_waits_slowdown_and_load(capsys):
    scenario = read_scenario("examples/quickstart.yaml", ["arrivals.iat=6"])
    result = vs.simulate(scenario, engine="reference")
    print_summary(result, None)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    rows = {line.split("  ")[0].strip(): line for line in out.splitlines()}
    jobs = result.summary["jobs"]
    assert f"{jobs['wait_us']['mean']:.2f} us" in rows["waiting, jobs"]
    assert f"mean {jobs['bounded_slowdown']['mean']:.4g}" in rows["bounded slowdown of jobs"]
    busy = (result.tasks["finish_us"] - result.tasks["init_us"]).sum()
    load = busy / (40 * np.ptp(result.jobs["arrival_us"]))
    assert f"{load:.1%}" in rows["load (work / capacity while jobs arrive)"]


def test_options_that_would_take_a_screen_are_counted(capsys):
    result = vs.simulate(read_scenario("examples/quickstart.yaml"), engine="reference")
    for n, shown in ((1, "option_0=no"), (40, "(40 options, listed by --json)")):
        result.summary["provenance"]["options"] = {f"option_{i}": False for i in range(n)}
        print_summary(result, None)
        assert shown in capsys.readouterr().out


def test_a_run_has_a_line_for_each_application(capsys):
    short = read_scenario("examples/symphony.yaml", ["workload.options.duration_us=4 s"])
    result = vs.simulate(short, engine="reference")
    print_summary(result, None)
    out = capsys.readouterr().out
    for name, of in result.summary["applications"].items():
        if "requests" in of:
            (line,) = [line for line in out.splitlines() if f"missed, {name} " in line]
            assert f"{of['missed_pct']:.3f} % of {of['requests']:,}" in line


def test_cost_and_energy_are_in_the_table_of_a_sweep_at_80_columns(capsys):
    numbers = {
        "jobs.latency_us.mean": [1e3, 2e3], "jobs.latency_us.p99": [3e3, 4e3], "utilization.overall": [0.5, 0.6],
        "makespan_us": [1e6, 2e6], "energy_j": [10.0, 20.0], "energy.cost": [0.25, 0.5], "cost.purchase": [7e5, 7e5],
    }  # fmt: skip
    out = printed(capsys, swept([], **numbers))
    for word in ("1.00 ms", "4.00 ms", "60.0%", "2.00 s", "20 J", "0.25"):
        assert word in out
    assert "At every point: purchase 700,000." in out
    assert out.count("policy") > 1


def test_numbers_that_are_equal_at_all_points_are_shown_and_said_to_be(capsys):
    numbers = {"jobs.latency_us.mean": [1e3, 1e3], "utilization.overall": [0.5, 0.5]}
    out = printed(capsys, swept([], **numbers))
    assert (out.count("1.00 ms"), out.count("50.0%")) == (2, 2)
    assert "None of these numbers differs between the points." in out
    assert "At every point" not in out
    assert "None of these" not in printed(capsys, swept([], **(numbers | {"energy_j": [1.0, 2.0]})))


def test_a_word_of_record_brings_its_numbers(capsys):
    numbers = {"applications.mean.missed_pct": [1.0, 2.5], "applications.mean.jain": [0.5, 0.75]}
    out = printed(capsys, swept(["applications"], **numbers))
    assert "2.5 %" in out
    assert "0.75" in out


def test_reading_tables_says_nothing_about_leaks(tmp_path):
    write_result(tmp_path / "run", vs.simulate(read_scenario("examples/rbss.yaml"), engine="reference"))
    code = "import sys; from vinesim.cli.start import main; sys.argv[1:] = ['timeline', 'run']; main()"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_run_says_how_many_jobs_were_killed_withdrawn_and_left(capsys, tmp_path):
    (tmp_path / "s.yaml").write_text(
        "{extends: none, processor_types: [{name: CPU}], network: none, horizon: 15 s, policy: flat, "
        "datacenter: {racks: [{units: {CPU: 1}}]}, workload: {file: jobs.csv}}"
    )
    rows = ["0,9,5,", "0,4,,", "1,9,,3", "2,1,,", "3,9,,", "4,9,,", "5,1,,1e9"]
    (tmp_path / "jobs.csv").write_text("\n".join(["arrival_s,time_s,limit_s,withdraw_s", *rows]))
    print_summary(vs.simulate(read_scenario(tmp_path / "s.yaml"), engine="reference"), None)
    lines = [line.rsplit(maxsplit=1) for line in capsys.readouterr().out.splitlines() if line.startswith(" jobs ")]
    assert lines[1:] == [[" jobs killed by their limit", "1"], [" jobs withdrawn", "1"], [" jobs unfinished", "3"]]
    print_summary(vs.simulate(read_scenario("examples/gpu_cluster.yaml"), engine="reference"), None)
    assert not re.search("killed|withdrawn|unfinished", capsys.readouterr().out)


@pytest.mark.parametrize("is_seen", [True, False])
def test_what_takes_long_says_so_after_a_while_where_somebody_looks(capsys, monkeypatch, is_seen):
    monkeypatch.setattr(progress, "SHOW_AFTER_S", 0.05)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_seen)
    with progress.working("drawing"):
        pass  # done at once
    assert capsys.readouterr().err == ""
    with progress.working("drawing"):
        time.sleep(0.5)
    assert ("drawing" in capsys.readouterr().err) == is_seen


def test_the_commands_that_read_and_draw_say_what_they_do(vinesim, tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr(progress, "working", lambda words: said.append(words) or nullcontext())
    out = tmp_path / "out"
    vinesim("run", "examples/quickstart.yaml", "--set", "workload.options.n_jobs=20", "--explain", "--out", out)
    (tmp_path / "log.csv").write_text("submit,duration,cpus\n0,1,2\n5,1,2\n")
    for words in (
        ("report", out),
        ("timeline", out),
        ("explain", out, "--job", 0),
        ("gantt", out, "-o", tmp_path / "a.png"),
        ("import", "csv", tmp_path / "log.csv", "-o", tmp_path / "jobs.csv"),
    ):
        said.clear()
        assert vinesim(*words).code == 0
        assert len(said) == 1


@pytest.mark.parametrize("columns", ["0", "", "00"])
def test_a_terminal_without_columns_counts_as_one_of_80(columns):
    command = [sys.executable, "-m", "vinesim", "run", "examples/quickstart.yaml"]
    done = subprocess.run(command, env={**os.environ, "COLUMNS": columns}, capture_output=True, text=True)
    assert "p99.9" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize("columns", ["1", "20", "59"])
def test_a_narrow_terminal_gets_longer_lines_and_all_numbers(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    print_summary(vs.simulate(read_scenario("examples/quickstart.yaml"), engine="reference"), None)
    out = capsys.readouterr().out
    assert "\N{HORIZONTAL ELLIPSIS}" not in out
    assert "25.0 us" in out
    assert max(map(len, out.splitlines())) <= LEAST_COLUMNS


def test_all_percentiles_fit_on_80_columns(capsys):
    print_summary(vs.simulate(read_scenario("examples/quickstart.yaml"), engine="reference"), None)
    (head,) = (line for line in capsys.readouterr().out.splitlines() if "count" in line)
    assert head.split() == ["count", "mean", "p50", "p90", "p99", "p99.9", "max"]


def test_flags_are_shown_without_a_type(vinesim):
    for words in ((), ("run",), ("import", "swf"), ("live", "submit")):
        shown = vinesim(*words, "--help").out
        assert "--help" in shown
        assert "<bool>" not in shown


def test_times_of_options_have_units_as_in_files(vinesim, paper, tmp_path):
    words = [word for word in paper.words if word not in ("--iat", "7")]
    numbers = [
        json.loads(vinesim(*words, *more, "--out", tmp_path / "out", "--json").out)["jobs"]
        for more in (("--iat", "7", "--sampling", "1000"), ("--iat", "7 us", "--sampling", "1 ms"))
    ]
    assert numbers[0] == numbers[1]
    assert (tmp_path / "out/utilization.parquet").exists()
    vinesim(*words, "--iat", "7 us", "--sampling", "none", "--out", tmp_path / "out")
    assert not (tmp_path / "out/utilization.parquet").exists()
    wrong = vinesim(*words, "--iat", "7 parsecs", "--sampling", "-2")
    assert wrong.code == 2
    assert "--iat: expected a time, 0 or more" in wrong.err
