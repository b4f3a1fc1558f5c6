"""``vinesim fit``: from a log to a scenario that generates such jobs."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from vinesim.formats.scenario.workload_writer import write_workload
from vinesim.model.catalog import PROCESSOR_TYPES
from vinesim.policies.documents import read_scenario
from vinesim.workloads.arrivals import Arrivals
from vinesim.workloads.distributions import Empirical, Lognormal
from vinesim.workloads.fit_log import fit_log
from vinesim.workloads.modulation import cycle_of
from vinesim.workloads.registry import generator

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture
def log(tmp_path):
    daily = cycle_of([1.0] * 12 + [3.0] * 12)
    options = {
        "n_jobs": 20_000,
        "sizes": Lognormal(5e3, 2),
        "tasks_per_job": Empirical([1, 4], [3, 1]),
        "demand": 2,
        "n_users": 100,
        "user_correlation": 0.3,
        "arrivals": Arrivals("gamma", 6e7, cv=2.0, cycle=daily),
    }
    path = tmp_path / "log.parquet"
    write_workload(path, generator("jobs").generate(options, seed=9), PROCESSOR_TYPES)
    return path


@pytest.mark.parametrize("command", [("fit",), ("fit", "serving")])
def test_the_old_name_of_the_file_to_write_is_refused_with_the_new_one(vinesim, tmp_path, command):
    done = vinesim(*command, "log.csv", "--out", tmp_path / "part.yaml")
    assert done.code == 2
    assert "No such option: --out" in done.err
    assert "--output" in done.err


def test_a_fitted_scenario_generates_jobs_like_those_of_the_log(vinesim, tmp_path, log):
    part = tmp_path / "part.yaml"
    done = vinesim("fit", log, "--output", part)
    assert done.code == 0, done.err
    assert "gamma" in done.out.split("Sizes")[0].splitlines()[5]
    assert "lognormal" in done.out.split("Sizes")[1].splitlines()[4]
    assert "100 users" in done.out
    scenario = yaml.safe_load(part.read_text()) | {"datacenter": {"racks": [{"units": {"GPU": 2}}]}}
    options = scenario["workload"]["options"]
    assert options["sizes"]["lognormal"]["cv"] == pytest.approx(2, rel=0.15)
    assert options["tasks_per_job"]["empirical"] == {"values": [1, 4], "weights": pytest.approx([0.75, 0.25], abs=0.02)}
    assert options["demand"] == 2
    assert options["user_correlation"] == pytest.approx(0.3, abs=0.06)
    scenario["workload"]["options"]["demand"] = 1
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(scenario))
    again = read_scenario(tmp_path / "s.yaml").workload
    first = again.job_first[:-1]
    fit = fit_log(again.arrival_us, again.operations[first], again.application)
    assert (fit.gaps[0].name, fit.sizes[0].name) == ("gamma", "lognormal")
    assert fit.gaps[0].distribution.cv == pytest.approx(2, rel=0.05)
    assert np.mean(fit.daily[12:]) / np.mean(fit.daily[:12]) == pytest.approx(3, rel=0.1)


def test_json_has_what_the_table_has(vinesim, log):
    found = json.loads(vinesim("fit", log, "--json").out)
    assert found["n_jobs"] == 20_000
    assert found["gaps"][0]["parameters"]["cv"] == pytest.approx(2, rel=0.05)
    assert found["gaps"][0]["tails"].keys() == {"p50", "p90", "p99", "p99.9"}
    assert found["gap_correlations"].keys() == {"1", "2", "5", "10", "100"}
    assert len(found["daily"]) == 24
    assert found["scenario"]["arrivals"]["gamma"]["mean"].endswith(("s", "min"))


def test_every_line_fits_80_columns(vinesim, log, monkeypatch, capsys):
    from vinesim.cli.fit import print_fit
    from vinesim.formats.importers.any_log import read_log

    monkeypatch.setenv("COLUMNS", "80")
    found = read_log(log)
    print_fit(fit_log(found.arrival_us, found.sizes, found.user), found)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)


def test_logs_of_other_forms(vinesim, tmp_path):
    random = np.random.default_rng(1)
    submit, run = np.cumsum(random.exponential(600, 500)).astype(int), random.exponential(900, 500).astype(int) + 1
    jobs = list(zip(submit, run, strict=True))
    swf = "".join(f"{i} {s} 0 {r} 2 -1 -1 2 -1 -1 1 1 1 1 1 1 -1 -1\n" for i, (s, r) in enumerate(jobs, 1))
    with gzip.open(tmp_path / "a.swf.gz", "wt") as stream:
        stream.write(swf)
    of_swf = json.loads(vinesim("fit", tmp_path / "a.swf.gz", "--json").out)
    assert of_swf["gaps"][0]["parameters"]["mean"] == pytest.approx(600e6, rel=0.15)
    assert of_swf["scenario"]["workload"]["options"]["tasks_per_job"] == 2
    rows = "".join(f"{s},{r}\n" for s, r in jobs)
    (tmp_path / "b.csv").write_text("arrival_s,time_s.GPU\n" + rows)
    of_table = json.loads(vinesim("fit", tmp_path / "b.csv", "--json").out)
    assert of_table["sizes"] == of_swf["sizes"]
    (tmp_path / "c.csv").write_text("when,other\n" + rows)
    of_times = json.loads(vinesim("fit", tmp_path / "c.csv", "--time", "when", "--json").out)
    assert of_times["gaps"] == of_swf["gaps"]
    assert of_times["sizes"] == []
    assert "workload" not in of_times["scenario"]
    (tmp_path / "even.csv").write_text("t\n" + "".join(f"{i}\n" for i in range(30)))
    even = json.loads(vinesim("fit", tmp_path / "even.csv", "--time", "t", "--json").out)
    assert even["scenario"]["arrivals"] == {"iat": "1 s"}


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.log", "1\n", "a name that ends in .swf"),
        ("none.swf", None, "no such file"),
        ("a.csv", "arrival_s\n1\n2\n", "at least 20 jobs"),
        ("a.csv", "when\n1\n2\n", "arrival"),
    ],
)
def test_what_cannot_be_fitted_is_reported(vinesim, tmp_path, name, text, says):
    if text is not None:
        (tmp_path / name).write_text(text)
    done = vinesim("fit", tmp_path / name, "--output", tmp_path / "part.yaml")
    assert done.code == 2
    assert says in done.err
    assert not (tmp_path / "part.yaml").exists()


@pytest.mark.skipif(not (DATA / "wagap2013").exists(), reason="wagap2013 is not next to the repository")
def test_a_real_log_that_no_distribution_fits_is_called_so(vinesim, tmp_path):
    done = vinesim("fit", DATA / "wagap2013" / "wagap-2013.swf.gz", "--output", tmp_path / "part.yaml")
    assert done.code == 0, done.err
    for words in ("No distribution fits the times between arrivals well", "depend on each other", "at the same time"):
        assert words in done.out.replace("\n", " ")
        assert words in (tmp_path / "part.yaml").read_text()


@pytest.mark.parametrize("far", ["1714550400000", "1e18", "1e300"])
def test_one_time_in_another_unit_is_named_by_its_line(vinesim, tmp_path, far):
    rows = [f"{7.5 * i},{1 + i},1" for i in range(60)]
    (tmp_path / "log.csv").write_text(
        "\n".join(["arrival_s,time_s,cores", *rows[:30], f"{far},1,1", *rows[30:]]) + "\n"
    )
    done = vinesim("fit", tmp_path / "log.csv")
    assert done.code == 2
    assert f"{tmp_path / 'log.csv'}:32: expected an arrival within 150 years of the first" in done.err
    (tmp_path / "times.csv").write_text("\n".join(["t", *(f"{i}" for i in range(60)), far]) + "\n")
    done = vinesim("fit", tmp_path / "times.csv", "--time", "t")
    assert done.code == 2
    assert "times.csv:62: expected t: a time in seconds, or a date" in done.err
