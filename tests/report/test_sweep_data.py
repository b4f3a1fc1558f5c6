"""The numbers of a sweep's page, against the statistics of the studies."""

import json
import math

import duckdb
import pytest

from tests.report.conftest import STUDY
from vinesim.formats.study.file import read_study
from vinesim.model.errors import InputError
from vinesim.pages.sweep import read_points, sweep_page
from vinesim.report.rounding import rounded
from vinesim.studies.chunks import chunk_of
from vinesim.studies.expand import expand
from vinesim.studies.journal import Journal
from vinesim.studies.layout import Layout
from vinesim.studies.parts import write_chunk
from vinesim.studies.statistics import mean_interval


def points_of(folder):
    study = read_study(folder / "study.yaml")
    return study, read_points(folder, sorted((folder / "runs").glob("*.parquet")), study, 0.95)


def test_means_and_intervals_are_those_of_the_statistics(whole_sweep):
    study, points = points_of(whole_sweep)
    assert points.n_runs.tolist() == [3] * 16
    assert {"jobs.latency_us.mean", "utilization.by_type.GPU", "makespan_us"} <= set(points.means)
    for name in ("jobs.latency_us.mean", "utilization.overall", "energy_j"):
        for point in range(study.n_points):
            query = f"SELECT \"{name}\" FROM '{whole_sweep}/runs/*.parquet' WHERE point = {point}"
            if name == "energy_j":
                assert name not in points.means or math.isnan(points.means[name][point])  # there is no power table
                continue
            interval = mean_interval([value for (value,) in duckdb.sql(query).fetchall()])
            assert points.means[name][point] == pytest.approx(interval.estimate, rel=1e-12)
            assert points.halves[name][point] == pytest.approx(interval.half_width, rel=1e-9, abs=1e-9)


def test_the_page_tells_axes_in_their_order(whole_sweep):
    data = sweep_page(whole_sweep).data["sweep"]
    assert [axis["columns"] for axis in data["axes"]] == [["policy"], ["arrivals.poisson.mean"], ["deployment"]]
    assert data["axes"][0]["labels"] == [["high", "flat"]]
    assert rounded(data["axes"][1]["labels"][0], 4) == [10, 46.42, 215.4, 1000]
    assert data["numbers"][0]["name"] == "jobs.latency_us.mean"
    names = [number["name"] for number in data["numbers"]]
    assert {"utilization.overall", "utilization.active.overall"} <= set(names)
    assert not any(name.startswith("utilization.allocated") for name in names), "it is what utilization.overall is"


def test_a_sweep_that_is_running_shows_what_there_is(sweep):
    for file in sorted((sweep / "runs").iterdir())[2:]:
        file.unlink()
    _, points = points_of(sweep)
    assert points.n_runs.sum() == 24
    page = sweep_page(sweep)
    assert "24 of 48 runs are done" in page.sections[0].html
    assert None in page.data["sweep"]["numbers"][0]["mean"]
    json.dumps(page.data, allow_nan=False)


def test_a_run_that_is_in_two_files_counts_once(sweep):
    file = sorted((sweep / "runs").iterdir())[0]
    (sweep / "runs" / "twice.parquet").write_bytes(file.read_bytes())
    _, points = points_of(sweep)
    assert points.n_runs.sum() == 48


def test_a_sweep_without_rows_has_a_page(sweep):
    for file in (sweep / "runs").iterdir():
        file.unlink()
    page = sweep_page(sweep)
    assert [section.anchor for section in page.sections] == ["study", "provenance"]
    assert "0 of 48 runs are done" in page.sections[0].html


def test_failures_are_listed_unless_a_later_try_was_done(sweep):
    with Journal(sweep, "x", ()) as journal:
        journal.add({}, {"aa": "policy=<flat>: too slow", "bb": "once"})
        journal.add({"bb": {"a": 1.0}}, {})
    with open(sweep / "journal" / "x.jsonl", "a") as torn:
        torn.write('{"run_id":"cc","fai')
    (failures,) = (section.html for section in sweep_page(sweep).sections if section.anchor == "failures")
    assert "policy=&lt;flat&gt;: too slow" in failures
    assert "once" not in failures
    assert "cc" not in failures


@pytest.mark.parametrize("data", [b"torn", b"", b"\x1f\x8b"])
def test_damaged_rows_are_reported(sweep, data):
    damaged = sorted((sweep / "runs").iterdir())[0]
    damaged.write_bytes(data)
    with pytest.raises(InputError, match=f"{damaged.name}: expected an intact file of a sweep"):
        sweep_page(sweep)


def test_rows_of_another_study_are_reported(sweep, tmp_path):
    (tmp_path / "other.yaml").write_text(STUDY.replace("many:", "lots:"))
    other = read_study(tmp_path / "other.yaml")
    run = expand(other)[0]
    write_chunk(sweep, chunk_of([run]), {run.run_id: {"a": 1.0}}, Layout.of(other), is_done=True)
    with pytest.raises(InputError, match=r"expected rows of the study in study.yaml, found rows of another study"):
        sweep_page(sweep)


def test_numbers_beyond_the_room_are_named(whole_sweep, monkeypatch):
    monkeypatch.setattr("vinesim.pages.sweep.MAX_VALUES", 64)
    page = sweep_page(whole_sweep)
    assert [number["name"] for number in page.data["sweep"]["numbers"]] == [
        "jobs.latency_us.mean",
        "jobs.latency_us.p99",
    ]
    assert "utilization.overall" in page.sections[0].html
