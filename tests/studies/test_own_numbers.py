"""Numbers of the user's own in a sweep: functions of a result."""

import json

import numpy as np
import pytest

import vinesim as vs
from vinesim.cli.main import app
from vinesim.model.errors import InputError
from vinesim.studies.compare import compare
from vinesim.studies.expand import expand, scenario_of
from vinesim.studies.sweep import read_sweep, sweep

SCENARIO = {
    "datacenter": {"racks": [{"units": {"CPU_INTEL": 2, "GPU": 1}}]},
    "workload": {"generator": "mix", "options": {"n_jobs": 30, "shares": {"INT": 1, "MEM": 2}}},
    "arrivals": {"poisson": {"mean": 7}},
}
CODE = """\
import numpy as np
from helpers import FACTOR


def longest(result):
    return FACTOR * result.jobs["latency_us"].max()


def parts(result):
    return {"first": {"us": result.jobs["latency_us"][0]}, "n": len(result.jobs["latency_us"]), "none": None}


def by_type(result):
    types, n = np.unique(result.jobs["task_type"], return_counts=True)
    return {"task_type": types, "n": n}


def frame(result):
    return result.jobs.to_pandas().groupby("task_type", as_index=False)["latency_us"].max()


def fails(result):
    return 1 / 0


def words(result):
    return "many"


def policy(result):
    return 1.0


def makespan_us(result):
    return 1.0


def many_jobs(result):
    return float(len(result.jobs["job"]))


def filename(result):
    return float(len(result.jobs["job"]))


def cases(result):
    return {"a": 1.0, "A": 2.0}
"""


@pytest.fixture
def make(tmp_path):
    (tmp_path / "my.py").write_text(CODE)
    (tmp_path / "helpers.py").write_text("FACTOR = 2\n")

    def make(*names, **more):
        record = [f"my.py:{name}" for name in names]
        axes = {"policy": ["high", "flat"]}
        return vs.study({"scenario": SCENARIO, "axes": axes, "replications": 3, "record": record} | more, tmp_path)

    return make


def test_they_are_columns_like_any_other(make, tmp_path):
    study = make("longest", "parts", "by_type", "frame")
    rows = sweep(study, tmp_path / "out", workers=1).table
    results = [vs.simulate(scenario_of(study, run), engine="reference") for run in expand(study)]
    latest = [result.jobs["latency_us"] for result in results]
    assert rows["longest"].tolist() == [2 * us.max() for us in latest]
    assert rows["parts.first.us"].tolist() == [us[0] for us in latest]
    assert (rows["parts.n"] == 30).all()
    assert "parts.none" not in rows  # without a value in any run
    types = np.unique(np.concatenate([result.jobs["task_type"] for result in results]))
    for kind in types:
        assert np.nansum(rows[f"by_type.{kind}.n"]) == sum((r.jobs["task_type"] == kind).sum() for r in results)
        assert f"frame.{kind}.latency_us" in rows
    assert "jobs.latency_us.mean" in rows  # no other number is named, so all are kept
    assert len(compare(read_sweep(tmp_path / "out"), "policy", "longest").rows()) > 0


def test_a_number_may_have_the_name_of_a_column_of_the_database(make, tmp_path):
    for n_found in (0, 6):
        done = sweep(make("filename"), tmp_path / "out", workers=1)
        assert (done.n_found, done.table["filename"].tolist()) == (n_found, [30.0] * 6)


def test_an_axis_with_the_name_of_a_number_is_refused(make, tmp_path):
    axes = {"Makespan_us": {"cases": {"one": {"policy": "high"}, "two": {"policy": "flat"}}}}
    failures = sweep(make(record=["makespan_us"], axes=axes), tmp_path / "out", workers=1).failures
    assert len(failures) == 6
    assert "ignoring case, from each other and from axes, found Makespan_us and makespan_us" in failures[0].message


def test_only_the_named_numbers_are_kept_next_to_them(make):
    rows = sweep(make("longest", record=["my.py:longest", "makespan_us"]), workers=1).table
    assert list(rows)[-3:] == ["exit_reason", "longest", "makespan_us"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fails", r"my\.py:23: expected fails\(result\) to return a value, found ZeroDivisionError"),
        ("words", "record: words: expected a number, a mapping of numbers, or a table"),
        ("nothing", "record: expected file.py:function, found nothing in my.py"),
        ("policy", "record: expected a name that no other number or axis has, found policy"),
        ("makespan_us", "record: expected a name that no other number or axis has, found makespan_us"),
        ("cases", "record: expected numbers whose names differ, ignoring case, .*, found cases.a and cases.A"),
    ],
)
def test_what_is_wrong_is_reported_before_anything_runs(make, tmp_path, name, message):
    with pytest.raises(InputError, match=message):
        sweep(make(name), tmp_path / "out", workers=1)
    assert not (tmp_path / "out").exists()


def test_edited_code_makes_other_runs(make, tmp_path):
    before = [run.run_id for run in expand(make("longest"))]
    assert before == [run.run_id for run in expand(make("longest"))]
    (tmp_path / "helpers.py").write_text("FACTOR = 3\n")
    assert not {*before} & {run.run_id for run in expand(make("longest"))}


def test_they_travel_with_the_folder(make, tmp_path):
    sweep(make("longest"), tmp_path / "out", workers=1)
    for name in ("my.py", "helpers.py"):
        (tmp_path / name).unlink()
    again = sweep(read_sweep(tmp_path / "out").study, workers=1)
    assert again.table["longest"].tolist() == read_sweep(tmp_path / "out").table["longest"].tolist()


def test_the_command_line_shows_and_reports_them(make, tmp_path):
    from typer.testing import CliRunner

    (tmp_path / "scenario.yaml").write_text(json.dumps(SCENARIO))
    (tmp_path / "studies").mkdir()
    text = {"scenario": "../scenario.yaml", "axes": {"policy": ["high", "flat"]}, "record": ["../my.py:longest"]}
    (tmp_path / "studies/study.yaml").write_text(json.dumps(text))
    out = tmp_path / "out"
    done = CliRunner().invoke(
        app, ["sweep", str(tmp_path / "studies/study.yaml"), "--out", str(out), "--workers", "1", "--json"]
    )
    assert '"longest"' in done.output
    page = CliRunner().invoke(app, ["report", str(out)])
    assert (page.exit_code, "longest" in (out / "report.html").read_text()) == (0, True)
