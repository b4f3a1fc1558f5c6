"""Power caps in scenario files."""

import numpy as np
import pytest

import vinesim as vs
from vinesim.formats.study.axes import quantities

FILE = """
processor_types: [{name: GPU, idle_power: 50, dynamic_power: 100}]
extends: none
task_types: [T]
affinity: {absolute: {GPU: 1}}
datacenter:
  power_cap: 1.5 kW
  racks:
    - {nodes: [{units: {GPU: 2}, count: 2}], count: 2, power_cap: 300 W}
    - {nodes: [{units: {GPU: 2}}]}
workload: {file: jobs.csv}
policy: fcfs
"""
JOBS = "arrival_us,task_type,operations\n0,T,10\n0,T,10\n0,T,10\n0,T,10\n0,T,10\n"


@pytest.fixture
def path(tmp_path):
    (tmp_path / "jobs.csv").write_text(JOBS)
    (tmp_path / "case.yaml").write_text(FILE)
    return tmp_path / "case.yaml"


def test_a_cap_is_that_of_each_rack_of_its_entry(path):
    center = vs.read_scenario(path).datacenter
    assert center.power_cap_w == 1500.0
    assert center.rack_power_cap_w.tolist() == [300.0, 300.0, np.inf]


def test_a_cap_is_changed_by_its_key(path):
    center = vs.read_scenario(path, ["datacenter.power_cap=2 MW", "datacenter.racks[0].power_cap=null"]).datacenter
    assert center.power_cap_w == 2e6
    assert center.rack_power_cap_w is None
    assert quantities(["400 kW", "0.5 MW"]) == [4e5, 5e5]


def test_what_is_wrong_is_said_at_its_place(path):
    with pytest.raises(vs.InputError, match="a power, 0 or more"):
        vs.read_scenario(path, ["datacenter.power_cap=3 furlongs"])
    with pytest.raises(vs.InputError, match="at least 200 W, which the units of rack 1 draw while idle"):
        vs.read_scenario(path, ["datacenter.racks[0].power_cap=150 W"])
