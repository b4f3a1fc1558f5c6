"""A task whose time the clock cannot count is refused: it does not move the clock on, or ends beyond all numbers."""

from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.policies.kinds.overcommit import PileInBatches
from tests.requests_scenarios import request_scenario

ENGINES = pytest.mark.parametrize("engine", ["compiled", "reference"])
FAR = 2.0**52  # us: from there on the clock goes by 1 us


def scenario(operations, arrival_us=0.0, capacity=1.0, parallelism=None, policy="high", **more):
    """Tasks of these times in us on one unit, that arrive together."""
    n = len(operations)
    work = vs.Workload(
        np.zeros(n),
        np.arange(n + 1),
        np.full(n, arrival_us),
        np.array(operations, float),
        *np.zeros((3, n)),
        np.full(n, -1),
        demand=np.ones(n),
        task_types=(vs.TaskType("INT"),),
    )
    types = (vs.ProcessorType("CPU", capacity=capacity, parallelism=parallelism),)
    center = vs.Datacenter([0], [0], [0], types)
    return vs.Scenario(
        center, work, policy, affinity=np.ones((1, 1)), network=vs.Network(None, None, None, 0.0), **more
    )


@ENGINES
@pytest.mark.parametrize("policy", ["high", "flat"])
def test_a_time_that_does_not_move_the_clock_is_refused(engine, policy):
    with pytest.raises(vs.InputError) as error:
        vs.simulate(scenario([0.0, 8.0, 0.25], FAR, policy=policy), engine=engine)
    text = "workload.task[2]: expected a time that advances the clock: at 4.5036e+15 us its step is 1 us"
    assert text in str(error.value)
    assert "found 0.25 us on CPU" in str(error.value)


@ENGINES
@pytest.mark.parametrize(("operations", "found"), [([1.7e308, 1.7e308], "1.7e+308 us"), ([8.0, 1.7e308], None)])
def test_a_time_that_ends_beyond_all_numbers_is_refused(engine, operations, found):
    """One after the other, they end at 1.7e308 and 3.4e308 us; or at a time at which the clock still counts."""
    if found is None:
        assert vs.simulate(scenario(operations, FAR), engine=engine).exit_reason == "ALL_DONE"
        return
    with pytest.raises(vs.InputError, match=r"task\[1\]: expected an end before 1.8e\+308 us") as error:
        vs.simulate(scenario(operations, FAR), engine=engine)
    assert f"found {found}" in str(error.value)


@ENGINES
def test_what_takes_longer_than_any_number_is_refused(engine):
    slow = replace(scenario([1.7e308]), affinity=np.full((1, 1), 0.5))
    with pytest.raises(vs.InputError, match="found inf us on CPU"):
        vs.simulate(slow, engine=engine)


@ENGINES
@pytest.mark.parametrize("operations", [[1.7e308] * 2, [5.0, 1.7e308, 1.7e308]])
def test_tasks_that_share_their_speed_end_at_a_number_or_are_refused(engine, operations):
    """Alone each ends in time, together at half the speed not: at the second's start, or when another one ends."""
    shared = scenario(operations, capacity=3.0, parallelism=1.0)
    with pytest.raises(vs.InputError, match="expected an end before"):
        vs.simulate(shared, engine=engine)


@ENGINES
def test_two_tasks_of_two_slots_return_at_once(engine):
    """Slots, at far times, of a policy that draws the unit."""
    with pytest.raises(vs.InputError, match=r"task\[2\]"):
        vs.simulate(scenario([1.7e308] * 5, FAR, capacity=2.0, policy="flat"), engine=engine)
    ends = vs.simulate(scenario([1.7e308] * 2, FAR, capacity=2.0, policy="flat"), engine=engine).tasks["finish_us"]
    assert ends.tolist() == [1.7e308] * 2


@ENGINES
def test_tasks_without_work_take_no_time_at_any_time(engine):
    result = vs.simulate(scenario([0.0] * 4, 2.0**80), engine=engine)
    assert result.tasks["finish_us"].tolist() == [2.0**80] * 4


@ENGINES
def test_transfers_overheads_and_factors_count(engine):
    far = scenario([0.0], FAR)
    with pytest.raises(vs.InputError, match=r"found 0.25 us"):
        vs.simulate(replace(far, overhead_us=np.full((1, 1), 0.25)), engine=engine)
    data = replace(far.workload, data_bytes=np.ones(1))
    with pytest.raises(vs.InputError, match=r"found 0.25 us"):
        vs.simulate(replace(far, workload=data, network=vs.Network(4.0, 3.0, 2.0, 0.0)), engine=engine)
    short = replace(scenario([2.0], FAR).workload, time_factor=np.full(1, 0.125))
    with pytest.raises(vs.InputError, match=r"found 0.25 us"):
        vs.simulate(replace(far, workload=short), engine=engine)


@ENGINES
def test_batches_are_refused_as_their_first_request_is(engine):
    base = request_scenario(3, "fcfs", {"consolidate": "yes"}, gangs=False)
    huge = replace(base.workload, operations=np.full(base.workload.n_tasks, 1e308), deadline_us=None)
    listed = tuple(replace(a, max_consolidated=4, per_size=False) for a in base.applications)
    with pytest.raises(vs.InputError, match="expected an end before"):
        vs.simulate(replace(base, workload=huge, applications=listed), engine=engine)


@ENGINES
def test_a_batch_policy_is_reported_too(engine):
    far = scenario([0.25], FAR, policy=PileInBatches, period_us=2.0**20)
    with pytest.raises(vs.InputError, match=r"task\[0\]"):
        vs.simulate(far, engine=engine)


def test_many_runs_name_the_task_too():
    case = scenario([5.0, 0.25], policy="pref")  # nothing is preferred; other tests compile it for many runs, too
    with pytest.raises(vs.InputError, match=r"task\[1\]"):
        vs.simulate_many(case, arrival_us=np.array([[0.0, 0.0], [0.0, FAR], [1.0, 2.0]]), engine="compiled")
    assert len(vs.simulate_many(case, arrival_us=np.zeros((3, 2)), engine="compiled")["makespan_us"]) == 3


def test_an_interrupted_company_is_no_error():
    """Outages end sharing without a finish of those that are lost."""
    shared = scenario([100.0, 50.0], capacity=2.0, parallelism=1.0)
    down = replace(shared, outages=(vs.Outage(0, 0, 5.0, 10.0, "requeue"),))
    assert vs.simulate(down, engine="reference").exit_reason == "ALL_DONE"
