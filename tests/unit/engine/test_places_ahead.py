"""Units that take tasks ahead, by hand."""

from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs

NAN = float("nan")


def scenario(jobs, ahead=1, units=1, policy="fcfs", **columns):
    """Units of one type, in a rack. A job is a task: arrival, time, time of its transfer."""
    arrival, time, transfer = (np.array(column, float) for column in zip(*jobs, strict=True))
    n = len(jobs)
    work = vs.Workload(
        [0] * n, np.arange(n + 1), arrival, time, transfer, *np.zeros((2, n)), [-1] * n,
        task_types=(vs.TaskType("T"),), **columns,
    )  # fmt: skip
    center = vs.Datacenter.of([("GPU", 0, k) for k in range(units)], [vs.ProcessorType("GPU", ahead=ahead)])
    network = vs.Network(local=1.0, intra_rack=1.0, inter_rack=1.0, hop_latency_us=0.0)
    return vs.Scenario(center, work, policy, affinity=[[1.0]], network=network)


def column(case, name, engine="reference"):
    return vs.simulate(case, engine=engine).tasks[name].tolist()


pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
FOUR = [(0, 10, 4)] * 4


def test_data_comes_while_the_unit_computes():
    case = scenario(FOUR)
    assert column(case, "granted_us") == [0.0, 0.0, 14.0, 24.0]  # whenever a place ahead is free
    assert column(case, "init_us") == [0.0, 14.0, 24.0, 34.0]
    assert column(case, "start_us") == [4.0, 14.0, 24.0, 34.0]  # only the first waits for its data
    assert column(case, "finish_us") == [14.0, 24.0, 34.0, 44.0]


def test_without_places_ahead_each_task_waits_for_its_data():
    case = scenario(FOUR, ahead=0)
    assert column(case, "start_us") == [4.0, 18.0, 32.0, 46.0]
    assert "granted_us" not in vs.simulate(case, engine="reference").tasks


def test_a_unit_waits_for_data_that_is_not_there_yet():
    case = scenario([(0, 10, 0), (8, 10, 7)])
    assert column(case, "init_us") == [0.0, 10.0]
    assert column(case, "start_us") == [0.0, 15.0]


def test_no_unit_takes_a_task_ahead_while_another_one_has_fewer():
    done = vs.simulate(scenario([(0, 10, 0)] * 7, ahead=2, units=2), engine="reference").tasks
    assert done["unit"].tolist() == [0, 1, 0, 1, 0, 1, 0]
    assert done["granted_us"].tolist() == [0.0] * 6 + [10.0]


def test_a_task_goes_to_the_unit_that_is_idle_first():
    """Unit 1 is idle at 5: what comes at 6 goes there, though unit 0 has a place ahead."""
    case = scenario([(0, 20, 0), (0, 5, 0), (6, 10, 0)], units=2)
    assert column(case, "unit") == [0, 1, 1]
    assert column(case, "init_us") == [0.0, 0.0, 6.0]


def test_no_time_is_counted_twice():
    done = vs.simulate(scenario(FOUR), engine="reference")
    assert done.units["active_us"].tolist() == done.units["allocated_us"].tolist() == [44.0]
    assert done.units["utilization"].tolist() == [1.0]
    assert done.summary["tasks"]["wait_us"]["mean"] == (0 + 14 + 24 + 34) / 4
    assert done.summary["tasks"]["response_us"]["max"] == 14.0


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_a_task_that_waits_ahead_can_be_withdrawn_and_those_behind_it_come_earlier(engine):
    case = scenario(FOUR, ahead=3, withdraw_us=[np.inf, 5.0, np.inf, np.inf])
    done = vs.simulate(case, engine=engine).tasks
    assert done["unit"].tolist() == [0, -1, 0, 0]
    np.testing.assert_array_equal(done["init_us"], [0.0, NAN, 14.0, 24.0])
    np.testing.assert_array_equal(done["finish_us"], [14.0, NAN, 24.0, 34.0])


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_the_next_task_begins_when_the_one_that_computes_is_withdrawn(engine):
    case = scenario(FOUR, ahead=3, withdraw_us=[6.0, np.inf, np.inf, np.inf])
    done = vs.simulate(case, engine=engine)
    np.testing.assert_array_equal(done.tasks["finish_us"], [NAN, 16.0, 26.0, 36.0])
    assert done.segments["outcome"].tolist() == ["withdrawn", "finished", "finished", "finished"]


def test_what_waits_at_the_end_of_a_run_has_not_begun():
    done = vs.simulate(replace(scenario(FOUR, ahead=3), horizon_us=20.0), engine="reference")
    assert done.tasks["unit"].tolist() == [0, 0, -1, -1]
    assert done.units["active_us"].tolist() == [20.0]


def test_many_runs_give_the_numbers_of_each_alone():
    case = scenario(FOUR)
    many = vs.simulate_many(case, seeds=[1, 2], record=["makespan_us"], engine="compiled")
    assert many["makespan_us"].tolist() == [44.0, 44.0]


TWO_A_UNIT = replace(
    scenario(FOUR), datacenter=vs.Datacenter.of([("GPU", 0, 0)], [vs.ProcessorType("GPU", capacity=2.0, ahead=1)])
)
SHARED = replace(
    scenario(FOUR),
    datacenter=vs.Datacenter.of([("GPU", 0, 0)], [vs.ProcessorType("GPU", capacity=2.0, parallelism=1.0, ahead=1)]),
)
WRONG = {
    "parts of a unit": TWO_A_UNIT,
    "share its speed": SHARED,
    "limits": scenario(FOUR, limit_us=[5.0] * 4),
    "outages": replace(scenario(FOUR), outages=[vs.Outage(0, 0, 1.0, 2.0)]),
    "gangs": scenario(FOUR, gang_within=[1] * 4),
    "without end": scenario([(0, np.inf, 0)]),
    "preempts tasks": scenario(FOUR, policy="srtf"),
    "reserves units": scenario(FOUR, policy="easy_backfill"),
    "batch policy": scenario(FOUR, policy="ffd"),
    "plans before the run": scenario(FOUR, policy="optimal"),
}


@pytest.mark.parametrize("words", WRONG)
def test_what_is_not_modelled_is_refused(words):
    with pytest.raises(vs.InputError) as wrong:
        vs.simulate(WRONG[words], engine="reference")
    assert words in str(wrong.value)
    assert len(wrong.value.problems) == 1


@pytest.mark.parametrize("ahead", [-1, 0.5, 1001, True])
def test_ahead_is_a_small_number(ahead):
    with pytest.raises(vs.InputError, match=r"processor_types\.GPU\.ahead: expected a whole number, 0 to 1000"):
        vs.ProcessorType("GPU", ahead=ahead)


def test_older_scenarios_keep_their_ids():
    from vinesim.policies.identity import content_id

    assert content_id(scenario(FOUR, ahead=0)) != content_id(scenario(FOUR, ahead=1))
