"""Columns of a workload's file under other names: mapped, left out, suggested by meaning."""

import numpy as np
import pytest

import vinesim as vs
from vinesim.formats.scenario.workload_table import read_workload

LOG = "submit,duration,notes,weight\n0,5,a,1\n2,3,b,2\n"
COLUMNS = {"submit": "arrival_s", "duration": "time_min", "notes": "ignore", "weight": "priority"}
SCENARIO = """
extends: none
processor_types: [{name: NODE}]
task_types: [TASK]
network: none
datacenter: {racks: [{units: {NODE: 2}}]}
policy: high
"""


@pytest.fixture
def log(tmp_path):
    (tmp_path / "log.csv").write_text(LOG)
    return tmp_path / "log.csv"


def read(tmp_path, workload):
    (tmp_path / "s.yaml").write_text(f"{SCENARIO}workload: {workload}\n")
    return vs.read_scenario(tmp_path / "s.yaml")


def fails(tmp_path, workload, *wanted):
    with pytest.raises(vs.InputError) as found:
        read(tmp_path, workload)
    for words in wanted:
        assert words in str(found.value), str(found.value)


def test_names_and_units_are_mapped(log):
    work = read_workload(log, [vs.ProcessorType("NODE")], columns=COLUMNS)
    assert work.arrival_us.tolist() == [0.0, 2e6]
    assert np.ravel(work.times_us).tolist() == [300e6, 180e6]
    assert work.priority.tolist() == [1.0, 2.0]


def test_a_scenario_takes_a_log_as_it_is(log, tmp_path):
    scenario = read(
        tmp_path, "{file: log.csv, columns: {submit: arrival_s, duration: time_s, notes: ignore, weight: ignore}}"
    )
    result = vs.simulate(scenario, engine="reference")
    assert result.jobs["latency_us"].tolist() == [5e6, 3e6]
    assert scenario.workload.priority is None


def test_a_column_can_be_the_period(tmp_path):
    (tmp_path / "log.csv").write_text("batch,duration\n0,5\n2,5\n")
    text = "{file: log.csv, columns: {batch: period, duration: time_s}}\narrivals: {iat: 10 s}"
    assert read(tmp_path, text).workload.arrival_us.tolist() == [0.0, 20e6]


def test_unknown_columns_are_suggested_by_meaning(log, tmp_path):
    fails(
        tmp_path,
        "{file: log.csv}",
        "Does it mean arrival_s? Say so in the scenario: columns: {submit: arrival_s}",
        "Does it mean time_s?",
        "leave it out: columns: {notes: ignore}",
    )


def test_a_dependency_is_suggested_by_meaning(tmp_path):
    for name in ("depends_on", "Dependencies", "parent_ids"):
        (tmp_path / "log.csv").write_text(f"arrival_s,time_s,{name}\n0,5,\n")
        fails(tmp_path, "{file: log.csv}", f"Does it mean after? Say so in the scenario: columns: {{{name}: after}}.")


def test_wrong_mappings_are_said_all_at_once(log, tmp_path):
    mapping = "submit: arrival_s, duration: tme_us, note: ignore, notes: arrival_us, weight: ignore"
    fails(
        tmp_path,
        f"{{file: log.csv, columns: {{{mapping}}}}}",
        "columns: duration: expected the name of a column of a workload, or ignore",
        "Did you mean time_us?",
        "columns: note: expected a column of the file",
        "log.csv: notes: expected arrival_us once",
    )
    fails(tmp_path, "{generator: 500jobs, columns: {a: ignore}}", "columns only with a .csv or .parquet file")
