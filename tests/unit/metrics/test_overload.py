"""A system that gets more work than it can do says so, once, in every command that shows its waits."""

import json
import math

import numpy as np
import pytest

import vinesim as vs
from vinesim.metrics.overload import GROWS, is_overloaded, overload_of_points, overload_of_run

N_JOBS = 100
SCENARIO = {
    "extends": "none",
    "processor_types": [{"name": "CPU"}, {"name": "GPU"}],
    "network": "none",
    "datacenter": {"racks": [{"units": {"CPU": 1, "GPU": 2}}]},
    "workload": {"file": "w.csv"},
    "policy": "fcfs",
}


@pytest.fixture
def folder(tmp_path):
    """Jobs of 10 s on a GPU, one a second: five times what 2 GPUs can do, while the CPU idles."""
    rows = [f"{i},T,{1e6 * i},,10000000" for i in range(N_JOBS)]
    (tmp_path / "w.csv").write_text("\n".join(["job,task_type,arrival_us,time_us.CPU,time_us.GPU", *rows]))
    (tmp_path / "s.yaml").write_text(json.dumps(SCENARIO))
    return tmp_path


def test_the_load_of_each_type_is_its_work_over_what_it_can_do(folder):
    summary = vs.simulate(vs.read_scenario(folder / "s.yaml")).summary
    span_s = N_JOBS - 1
    assert math.isclose(summary["load"]["by_type"]["GPU"], N_JOBS * 10 / (2 * span_s))
    assert summary["load"]["by_type"]["CPU"] == 0  # it runs none of the tasks, so it is not in the whole either
    assert math.isclose(summary["load"]["overall"], N_JOBS * 10 / (2 * span_s))
    assert "505% of the work that the units of GPU can do" in overload_of_run(summary)


@pytest.mark.parametrize(
    ("changes", "is_known"),
    [([], True), (["horizon=20 s"], False), (["arrivals={times: [" + ", ".join(["0"] * N_JOBS) + "]}"], False)],
)
def test_it_is_not_known_where_work_is_left_or_all_jobs_arrive_at_once(folder, changes, is_known):
    summary = vs.simulate(vs.read_scenario(folder / "s.yaml", changes)).summary
    assert (summary["load"]["overall"] is not None) == is_known
    assert bool(overload_of_run(summary)) == is_known


def test_jobs_that_just_fit_are_not_too_much():
    """Two jobs of 9 s, 10 s apart, on one unit: 180 % by the span of their arrivals."""
    assert not is_overloaded(1.8, 2)
    assert not is_overloaded(4 / 3, 4)
    assert is_overloaded(4 / 3 + 1e-9, 4)


def test_long_jobs_that_arrive_close_together_and_do_not_wait_are_not_too_much(folder):
    """Three jobs of 10 s within 2 s, on three GPUs."""
    (folder / "w.csv").write_text("".join((folder / "w.csv").read_text().splitlines(keepends=True)[:4]))
    summary = vs.simulate(vs.read_scenario(folder / "s.yaml", ["datacenter.racks[0].units.GPU=3"])).summary
    assert summary["load"]["by_type"]["GPU"] == 5
    assert overload_of_run(summary) == ""
    assert overload_of_run({**summary, "tasks": {"wait_us": {"max": 1.0}}}) != ""
    means = {"load.by_type.GPU": np.array([5.0, 5.0]), "tasks.wait_us.mean": np.array([0.0, 1.0])}
    assert overload_of_points(means).startswith("1 of 2 points is")


def test_points_are_counted_by_their_busiest_type():
    nan = np.nan
    means = {"load.by_type.A": np.array([0.5, 1.2, nan, nan]), "load.by_type.B": np.array([0.1, nan, 4.43, nan])}
    assert "2 of 4 points are overloaded" in overload_of_points(means)
    assert "up to 443%" in overload_of_points(means)
    assert overload_of_points({name: column[:1] for name, column in means.items()}) == ""
    assert overload_of_points({**means, "jobs.count": np.full(4, 2.0)}).startswith("1 of 4 points is")
    assert overload_of_points({"jobs.count": np.ones(4)}) == ""


def test_every_command_says_it_once(folder, monkeypatch, capsys):
    from vinesim.cli.errors import report_errors
    from vinesim.cli.main import app

    (folder / "study.yaml").write_text(
        json.dumps(
            {"scenario": SCENARIO, "axes": {"policy": ["fcfs", "high"], "datacenter.racks[0].units.GPU": [2, 20]}}
        )
    )
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")

    def called(*words: str) -> tuple[str, str]:
        monkeypatch.setattr("sys.argv", ["vinesim", *words])
        assert not report_errors(app)
        return capsys.readouterr()

    run = called("run", "s.yaml", "--out", "r")
    assert (run.out.count(GROWS), run.err.count(GROWS)) == (1, 0)
    machine = called("run", "s.yaml", "--json")
    assert (machine.out.count(GROWS), machine.err.count(GROWS)) == (0, 1)
    assert GROWS not in called("run", "s.yaml", "--set", "datacenter.racks[0].units.GPU=20").out
    said = "2 of 4 points are overloaded"
    assert called("sweep", "study.yaml", "--out", "o", "--workers", "1").out.count(said) == 1
    assert called("compare", "o", "--by", "policy", "--of", "jobs.wait_us.mean").out.count(said) == 1
    for page in ("r", "o"):
        called("report", page)
    assert (folder / "r" / "report.html").read_text().count(GROWS) == 1
    assert (folder / "o" / "report.html").read_text().count(said) == 1
