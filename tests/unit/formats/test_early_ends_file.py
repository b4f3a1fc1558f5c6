"""Early ends in files: columns of jobs and tasks, failures, what preemption keeps."""

import math

import numpy as np
import pytest

import vinesim as vs
from vinesim.formats.scenario.workload_table import read_workload
from vinesim.formats.scenario.workload_writer import write_workload
from vinesim.policies.identity import content_id

COLUMNS = """task_type,arrival_s,operations,priority,user,limit_min,withdraw_h,checkpoint_s,restart_ms
FP_GOOD,0,5,-1.5,ada,2,,,250
FP_GOOD,1,never,,bob,,1,30,
"""
SCENARIO = """
datacenter: {{racks: [{{units: {{CPU_INTEL: 2}}}}]}}
workload: {{file: jobs.csv}}
preemption: checkpoint
policy: priority
failures:
{failures}
"""


def written(folder, failures="  - {until: {mean: 1 h, distribution: weibull, shape: 0.7}, repair: {mean: 5 min}}"):
    (folder / "jobs.csv").write_text(COLUMNS)
    (folder / "scenario.yaml").write_text(SCENARIO.format(failures=failures))
    return folder / "scenario.yaml"


def check(work):
    assert work.priority.tolist() == [-1.5, 0.0]
    assert [work.user_names[code] for code in work.user] == ["ada", "bob"]
    assert work.limit_us.tolist() == [120e6, math.inf]
    assert work.withdraw_us.tolist() == [math.inf, 3600e6]
    assert work.checkpoint_us.tolist() == [math.inf, 30e6]
    assert work.restart_us.tolist() == [250e3, 0.0]
    assert work.operations.tolist() == [5.0, math.inf]


def test_a_table_has_them_and_keeps_them(tmp_path):
    (tmp_path / "jobs.csv").write_text(COLUMNS)
    work = read_workload(tmp_path / "jobs.csv")
    check(work)
    write_workload(tmp_path / "jobs.parquet", work)
    check(read_workload(tmp_path / "jobs.parquet"))


def test_empty_columns_are_none(tmp_path):
    (tmp_path / "jobs.csv").write_text("arrival_s,priority,user,limit_s\n0,,,\n1,,,\n")
    work = read_workload(tmp_path / "jobs.csv")
    assert (work.priority, work.user, work.limit_us) == (None, None, None)


@pytest.mark.parametrize(
    ("column", "cell", "expected"),
    [
        ("limit_s", "0", "a number above 0"),
        ("checkpoint_s", "-1", "a number above 0"),
        ("restart_s", "-1", "a number, 0 or more"),
        ("priority", "high", "a number"),
        ("operations", "always", "a number, 0 or more, or never"),
    ],
)
def test_a_wrong_cell_is_reported_with_its_line(tmp_path, column, cell, expected):
    (tmp_path / "jobs.csv").write_text(f"arrival_s,{column}\n0,{cell}\n")
    with pytest.raises(vs.InputError, match=expected) as error:
        read_workload(tmp_path / "jobs.csv")
    assert f"jobs.csv:2: expected {column}: " in str(error.value)


@pytest.mark.filterwarnings("ignore:the policy .* does not look at")
def test_a_scenario_file_has_failures(tmp_path):
    scenario = vs.read_scenario(written(tmp_path))
    check(scenario.workload)
    assert scenario.preemption == "checkpoint"
    until = vs.Times(3600e6, "weibull", 0.7)
    assert scenario.failures == (vs.Failures(until, vs.Times(300e6)),)
    one = "  - {type: CPU_INTEL, until: {mean: 1 s}, repair: {mean: 0 s, distribution: constant}, running: finish}"
    found = vs.read_scenario(written(tmp_path, one)).failures[0]
    assert (found.processor_type, found.running, found.repair) == ("CPU_INTEL", "finish", vs.Times(0.0, "constant"))


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        ("  - {rack: 0, until: {mean: 1 s}, repair: {mean: 1 s}}", "rack and shelf together"),
        ("  - {rack: 7, shelf: 0, until: {mean: 1 s}, repair: {mean: 1 s}}", "a node, or a processor type"),
        ("  - {type: GPU, until: {mean: 1 s}, repair: {mean: 1 s}}", "a node, or a processor type"),
        ("  - {until: {mean: 0 s}, repair: {mean: 1 s}}", "a finite time, above 0"),
        ("  - {until: {mean: 1 s, shape: 2}, repair: {mean: 1 s}}", "only weibull has a shape"),
    ],
)
def test_wrong_failures_are_reported(tmp_path, failures, expected):
    with pytest.raises(vs.InputError, match=expected) as error:
        vs.read_scenario(written(tmp_path, failures))
    assert "scenario.yaml:7" in str(error.value)


@pytest.mark.filterwarnings("ignore:the policy .* does not look at")
def test_its_ids_depend_on_them(tmp_path):
    scenario = vs.read_scenario(written(tmp_path))
    other = vs.read_scenario(written(tmp_path, "  - {until: {mean: 2 h}, repair: {mean: 5 min}}"))
    assert content_id(scenario) != content_id(other)
    assert np.isfinite(scenario.failures[0].until.draw(np.random.default_rng(0), 3)).all()
