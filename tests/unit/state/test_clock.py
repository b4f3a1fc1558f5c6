"""What no clock can count is refused before the run, in the words of the run, and only where each run would fail."""

from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.unit.engine.test_out_of_time import FAR, scenario
from vinesim.policies.documents import PolicyCheck, read_scenario
from vinesim.state.clock import surely_out_of_time

AT = [0.0, 0.25, 0.5, 0.75, 1.0, 8.0, 1.7e308]


@pytest.mark.parametrize("operations", [[x] for x in AT] + [[8.0, 0.25], [8.0, 1.0]])
@pytest.mark.parametrize("arrival_us", [0.0, FAR, 1e308])
@pytest.mark.parametrize("more", [{}, {"overhead_us": np.ones((1, 1))}, {"capacity": 2.0, "parallelism": 1.0}])
def test_it_refuses_what_the_run_refuses(operations, arrival_us, more):
    asked = scenario(operations, arrival_us, **more)
    found = surely_out_of_time(asked)
    try:
        vs.simulate(asked, engine="reference")
    except vs.InputError as error:
        first = str(error.problems[0])
        assert [str(problem) for problem in found] == [first]
    else:
        assert not found


def test_one_type_that_can_count_a_task_is_enough():
    asked = scenario([8.0], FAR)
    types = (vs.ProcessorType("CPU"), vs.ProcessorType("SLOW"))
    both = {"datacenter": vs.Datacenter([0, 1], [0, 0], [0, 1], types), "affinity": np.array([[100.0], [1.0]])}
    work = replace(asked.workload, preferred_type=asked.workload.preferred_type)
    assert not surely_out_of_time(replace(asked, workload=work, **both))
    assert surely_out_of_time(replace(asked, **{**both, "affinity": np.array([[100.0], [50.0]])}))
    assert surely_out_of_time(replace(asked, **{**both, "affinity": np.array([[100.0], [0.0]])}))


def test_what_may_take_longer_by_its_data_or_is_withdrawn_is_left_to_the_run():
    asked = scenario([0.25], FAR)
    with_data = replace(asked.workload, data_bytes=np.ones(1))
    assert surely_out_of_time(replace(asked, workload=with_data))  # the network is free
    assert not surely_out_of_time(replace(asked, workload=with_data, network=vs.Network()))
    assert not surely_out_of_time(replace(asked, workload=replace(asked.workload, withdraw_us=np.array([FAR + 9.0]))))
    endless = replace(asked.workload, operations=np.array([np.inf]))
    assert not surely_out_of_time(replace(asked, workload=endless))


FILE = """
datacenter: {racks: [{units: {GPU: 1}}]}
workload: {generator: identical, options: {n_jobs: 3, operations: %s}}
arrivals: {times: [0, 1e18, 2e18]}
network: none
policy: %s
period: 10 us
"""


@pytest.mark.parametrize(
    ("operations", "policy", "words"),
    [
        ("1", "high", "workload.task[1]: expected a time that advances the clock: at 1e+18 us"),
        ("1e15", "ff", "expected a period that advances the clock at 2e+18 us, found 10 us"),
        ("1e15", "high", ""),
    ],
)
def test_a_scenario_is_checked_as_a_run_would(tmp_path, operations, policy, words):
    (tmp_path / "s.yaml").write_text(FILE % (operations, policy))
    if not words:
        assert vs.simulate(read_scenario(tmp_path / "s.yaml", check_policy=PolicyCheck())).exit_reason == "ALL_DONE"
        return
    with pytest.raises(vs.InputError) as before:
        read_scenario(tmp_path / "s.yaml", check_policy=PolicyCheck())
    with pytest.raises(vs.InputError) as during:
        vs.simulate(read_scenario(tmp_path / "s.yaml"), engine="reference")
    assert words in str(before.value)
    assert words in str(during.value)
