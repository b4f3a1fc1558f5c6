"""Reservations in scenario files."""

import pytest

import vinesim as vs

FILE = """
processor_types: [{name: GPU}]
extends: none
task_types: [T]
affinity: {absolute: {GPU: 1}}
datacenter: {racks: [{nodes: [{units: {GPU: 2}, count: 2, group: old}]}, {nodes: [{units: {GPU: 2}}]}]}
workload: {file: jobs.csv}
reservations:
  - {name: upgrade, groups: [old], start: 10 us, end: 20 us, running: finish}
  - {name: course, racks: [1], start: 5 us, users: [ann]}
policy: fcfs
"""
JOBS = "arrival_us,task_type,operations,user\n0,T,10,ann\n0,T,10,bob\n"


@pytest.fixture
def path(tmp_path):
    (tmp_path / "jobs.csv").write_text(JOBS)
    (tmp_path / "case.yaml").write_text(FILE)
    return tmp_path / "case.yaml"


def test_they_name_nodes_as_partitions_do(path):
    upgrade, course = vs.read_scenario(path).reservations
    assert (upgrade.nodes.tolist(), upgrade.start_us, upgrade.end_us) == ([[0, 0], [0, 1]], 10.0, 20.0)
    assert (course.nodes.tolist(), course.end_us, course.users) == ([[1, 0]], float("inf"), ("ann",))
    assert not upgrade.interrupts


def test_one_is_changed_by_its_key(path):
    assert vs.read_scenario(path, ["reservations[0].start=3 us"]).reservations[0].start_us == 3.0


def test_what_is_wrong_is_said_at_its_place(path):
    wrong = ["reservations[0].groups=[new]", "reservations[1].racks=[7]"]
    with pytest.raises(vs.InputError, match="a group of nodes") as error:
        vs.read_scenario(path, wrong)
    assert "a rack with nodes" in str(error.value)
    with pytest.raises(vs.InputError, match="users of the workload's jobs"):
        vs.read_scenario(path, ["reservations[1].users=[eve]"])
