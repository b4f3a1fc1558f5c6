"""Applications in scenario files, and series of counts."""

import numpy as np
import pytest

import vinesim as vs
from vinesim.formats.importers.counts import read_counts
from vinesim.formats.study.file import study

HEAD = """
datacenter:
  racks: [{nodes: [{units: {E5620x2: 1, C2050: 2}, count: 3}]}]
workload:
  generator: requests
  options: {duration_us: 30 s, spikes: 0, rates: {SQL: 5, OPTION: 1}}
policy: fcfs
"""
LISTED = """
applications:
  - {name: SQL, relative_deadline: 150 ms, average_load: 5, max_consolidated: 8, nodes: [{rack: 0, shelf: 1}]}
  - {name: OPTION, relative_deadline: 2 s, per_size: true}
"""


def scenario(tmp_path, text):
    file = tmp_path / "s.yaml"
    file.write_text(text)
    return vs.read_scenario(file)


def test_the_generator_brings_what_the_file_leaves_out(tmp_path):
    made = scenario(tmp_path, HEAD)
    assert [a.name for a in made.applications] == ["SEARCH", "VIDEO", "SQL", "OPTION"]
    assert made.overhead_us.max() == 200_000
    due = made.workload.deadline_us - made.workload.arrival_us
    assert set(np.round(due).tolist()) == {150_000.0, 800_000.0}


def test_listed_applications_give_the_deadlines(tmp_path):
    made = scenario(tmp_path, HEAD + LISTED)
    assert made.applications[0].nodes == ((0, 1),)
    assert made.applications[1].per_size
    due = made.workload.deadline_us - made.workload.arrival_us
    assert set(np.round(due).tolist()) == {150_000.0, 2_000_000.0}


def test_deadlines_of_the_workload_win():
    made = vs.generator("requests").generate({"duration_us": 1e6, "rates": {"SQL": 50.0}})
    own = vs.Workload(**{**vars(made), "deadline_us": made.arrival_us + 7.0})
    from vinesim.model.application import with_deadlines
    from vinesim.workloads.symphony_applications import APPLICATIONS

    assert with_deadlines(own, APPLICATIONS) is own
    assert with_deadlines(made, ()) is made


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("relative_deadline: 150 ms", "relative_deadline: 0", "applications[0].relative_deadline"),
        ("max_consolidated: 8", "max_consolidated: 0", "applications[0].max_consolidated"),
        ("shelf: 1}", "shelf: 9}", "a node of the datacenter"),
        ("name: OPTION", "name: SQL", "each application once"),
        ("name: OPTION", "name: OTHER", "'OPTION', which the workload has"),
        ("per_size: true", "per_sise: true", "per_sise"),
        ("per_size: true", "gang_size: 4", "requests of 4 tasks"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, old, new, words):
    with pytest.raises(vs.InputError) as error:
        scenario(tmp_path, HEAD + LISTED.replace(old, new))
    assert words in str(error.value)


def test_the_generator_makes_its_own_arrivals(tmp_path):
    with pytest.raises(vs.InputError, match="arrivals"):
        scenario(tmp_path, HEAD + "arrivals: {iat: 5 us}\n")


def test_a_series_in_a_scenario_file(tmp_path):
    (tmp_path / "counts.csv").write_text("timestamp,value\n2014-02-14 14:30:00,100\n2014-02-14 14:35:00,300\n")
    text = HEAD.replace("rates: {SQL: 5, OPTION: 1}", "process: poisson, series: {SQL: counts.csv}")
    made = scenario(tmp_path, text)
    first = (made.workload.arrival_us < 3e8).sum()
    assert abs(first - 100) < 60
    assert abs(made.workload.n_jobs - first - 300) < 100


def test_wrong_counts_are_refused_all_at_once(tmp_path):
    file = tmp_path / "counts.csv"
    file.write_text("time,count\n0,5\nx,5\n60,-1\n30,2\n-5,1\n")
    with pytest.raises(vs.InputError) as error:
        read_counts(file)
    assert [p.where.rsplit(":", 2)[1:] for p in error.value.problems] == [["3", "1"], ["4", "2"], ["6", "1"]]


@pytest.mark.parametrize(
    ("text", "where", "new"),
    [
        (HEAD + LISTED.replace("max_consolidated", "batch_limit"), "applications[0].batch_limit", "max_consolidated"),
        (HEAD + LISTED.replace("per_size: true", "nodes_per_request: 1"), "applications[1].nodes_per", "gang_size"),
        (HEAD + LISTED.replace("relative_deadline: 2", "response_time: 2"), "[1].response_time", "relative_deadline"),
        (HEAD.replace("spikes: 0", "nodes_per_request: {SQL: 2}"), "workload.options.nodes_per_request", "gang_size"),
        (HEAD.replace("fcfs", "deadline_batch"), "policy", "deadline_consolidation"),
        (HEAD.replace("fcfs", "symphony\noptions: {estimate: batch}"), "policy.options.estimate", "consolidated"),
    ],
)
def test_what_an_older_version_understood_is_refused_with_its_new_name(tmp_path, text, where, new):
    with pytest.raises(vs.InputError) as error:
        vs.simulate(scenario(tmp_path, text), engine="reference")
    (problem,) = [one for one in error.value.problems if where in one.where]
    assert problem.remedy == f"Did you mean {new}?"


def test_an_override_of_an_older_version_is_refused_with_its_new_name(tmp_path):
    (tmp_path / "s.yaml").write_text(HEAD + LISTED)
    with pytest.raises(vs.InputError, match=r"applications\[0\]\.batch_limit.*Did you mean max_consolidated\?"):
        vs.read_scenario(tmp_path / "s.yaml", ["applications[0].batch_limit=1"])


def test_an_axis_of_an_older_version_is_refused_with_its_new_name(tmp_path):
    (tmp_path / "s.yaml").write_text(HEAD + LISTED)
    with pytest.raises(vs.InputError, match=r"Did you mean applications\[0\]\.max_consolidated\?"):
        study({"scenario": "s.yaml", "axes": {"applications[0].batch_limit": [1, 2]}}, tmp_path)
