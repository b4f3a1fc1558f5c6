"""One meaning of a demand: in Python, files, generators and the scheduler component; and what is refused."""

import math

import numpy as np
import pytest

import vinesim as vs
from tests.demands import taken
from vinesim.state.demand import amount_of, amounts
from vinesim.workloads.registry import generator

CPU = vs.ProcessorType("CPU", capacity=8.0, parallelism=1.0)
GPU = vs.ProcessorType("GPU")


@pytest.mark.parametrize("capacity", [0.5, 1.0, 8.0])
@pytest.mark.parametrize("demand", [0.0, 0.3, 1.0, 20.0, vs.WHOLE_UNIT, vs.ONE_SLOT])
def test_the_rule_is_the_same_for_a_task_and_for_arrays(demand, capacity):
    expected = taken(demand, capacity)
    assert amount_of(demand, capacity) == expected
    assert amounts([demand], [capacity, capacity]).tolist() == [expected, expected]
    assert amounts([[demand], [vs.ONE_SLOT]], [capacity, 4.0]).tolist() == [
        [expected, taken(demand, 4.0)],
        [min(1.0, capacity), 1.0],
    ]


def work(n=1, task_type="SEARCH", **more):
    return vs.Workload(
        np.zeros(n),
        np.arange(n + 1),
        np.zeros(n),
        np.full(n, 7.4),
        *np.zeros((3, n)),
        np.full(n, -1),
        task_types=(vs.TaskType(task_type),),
        **more,
    )


def run(workload, kinds=(CPU,), affinity=((1.0,),)):
    center = vs.Datacenter.of([(kind.name, 0, shelf) for shelf, kind in enumerate(kinds)], kinds)
    return vs.simulate(vs.Scenario(center, workload, affinity=affinity), engine="reference")


SHARED = """
extends: none
processor_types: [{name: CPU, capacity: 8, parallelism: 1}]
task_types: [SEARCH]
affinity: {absolute: {CPU: {SEARCH: 1}}}
datacenter: {racks: [{units: {CPU: 1}}]}
network: none
"""


def test_an_absent_demand_is_one_slot_from_every_source(tmp_path):
    """Alone on a CPU that shares its speed among up to 8, a request takes its own time, not 8 times that."""
    (tmp_path / "w.csv").write_text("arrival_us,task_type,operations\n0,SEARCH,7.4\n")
    (tmp_path / "csv.yaml").write_text(SHARED + "workload: {file: w.csv}\npolicy: high\n")
    (tmp_path / "generated.yaml").write_text(
        SHARED
        + "policy: high\nworkload:\n  generator: requests\n  options: {rates: {SEARCH: 1}, duration_us: 3 s, spikes: 0,"
        " noise: 0, process: batch_poisson, size_low: {SEARCH: 7.4}, size_high: {SEARCH: 7.4}}\n"
    )
    scenarios = [vs.read_scenario(tmp_path / name) for name in ("csv.yaml", "generated.yaml")]
    generated = scenarios[1].workload
    assert [one.workload.demand for one in scenarios] == [None, None]
    for one in scenarios:
        tasks = vs.simulate(one, engine="reference").tasks
        assert (tasks["finish_us"] - tasks["init_us"])[0] == pytest.approx(7.4)
        assert tasks["amount"].tolist() == [1.0] * one.workload.n_tasks
    assert generated.n_tasks > 0
    for given, held in ((None, 1.0), ([vs.ONE_SLOT], 1.0), ([vs.WHOLE_UNIT], 8.0), ([0.0], 0.0), ([2.5], 2.5)):
        result = run(work(demand=given))
        assert result.tasks["finish_us"] == pytest.approx(7.4 * max(1.0, held))
        assert result.tasks["amount"].tolist() == [held]
        assert result.units["utilization"][0] == pytest.approx(held / 8)
        assert result.units["active"].tolist() == [1.0]


def test_the_component_takes_what_a_run_takes():
    center, types = vs.Datacenter.of([("CPU", 0, 0)], (CPU,)), [vs.TaskType("A"), vs.TaskType("B")]
    scheduler = vs.Scheduler(center, "fcfs", affinity=[[1.0, 1.0]], task_types=types)
    first = scheduler.register("A", 5e3, 1.0)
    second = scheduler.register("B", 5e3, 1.0, demand=vs.WHOLE_UNIT)
    scheduler.new_request(first, 0.0)
    grant = scheduler.can_issue(0.0)
    assert scheduler.load() == {0: 1.0}
    scheduler.complete(grant.id, 1.0)
    scheduler.new_request(second, 1.0)
    assert scheduler.can_issue(1.0)
    assert scheduler.load() == {0: 8.0}
    listed = work(application=[0], application_names=("SEARCH",))
    scenario = vs.Scenario(
        vs.Datacenter.of([("CPU", 0, 0)], (CPU,)), listed, "fcfs", affinity=[[1.0]],
        applications=(vs.model.application.Application("SEARCH", 5e3, average_load=1.0),),
    )  # fmt: skip
    assert math.isnan(vs.Scheduler.of(scenario)._decider.registered[0].demand)


def test_whole_units_alone_reach_the_engine_as_such():
    """Nothing is paid for demands where every task takes all of any unit."""
    for kinds, demand, is_shared in (
        ((GPU,), None, False),
        ((GPU,), [1.0], False),
        ((GPU,), [0.5], True),
        ((CPU,), [vs.WHOLE_UNIT], True),  # it shares its speed
        ((vs.ProcessorType("S", capacity=4.0),), [vs.WHOLE_UNIT], False),
        ((vs.ProcessorType("S", capacity=4.0), GPU), [4.0], True),
        ((vs.ProcessorType("S", capacity=4.0), GPU), None, True),
    ):
        result = run(work(demand=demand), kinds, [[1.0]] * len(kinds))
        assert result.outcome.shares_units == is_shared
        assert ("amount" in result.tasks) == is_shared


def test_no_demand_at_all_is_none():
    assert work(demand=[vs.ONE_SLOT]).demand is None


@pytest.mark.parametrize("demand", [-1.0, -math.inf])
def test_a_demand_below_nothing_is_refused(demand):
    with pytest.raises(vs.InputError, match=r"workload.demand\[0\]: expected 0 or more, infinite .* or NaN"):
        work(demand=[demand])


def test_a_demand_must_fit_a_unit_that_can_run_the_task():
    kinds, affinity = (vs.ProcessorType("BIG", capacity=8.0), vs.ProcessorType("SMALL", capacity=2.0)), [[0.0], [1.0]]
    with pytest.raises(
        vs.InputError, match=r"demand\[1\]: expected at most the capacity of the largest unit that can run it \(2\)"
    ):
        run(work(2, demand=[2.0, 3.0]), kinds, affinity)
    assert run(work(2, demand=[2.0, vs.WHOLE_UNIT]), kinds, affinity).exit_reason is vs.ExitReason.ALL_DONE


def test_a_demand_of_nothing_waits_for_a_unit_with_some_room():
    result = run(work(3, demand=[1.0, 0.0, 0.0]), (GPU,), [[1.0]])
    assert result.tasks["init_us"].tolist() == [0.0, 7.4, 7.4]
    assert result.units["active_us"].tolist() == [14.8]
    assert result.units["allocated_us"].tolist() == [7.4]


def test_batches_may_demand_nothing():
    options = {"demand_min": 0, "demand_max": 1, "n_batches": 2, "tasks_per_batch": 50}
    made = generator_of(options)
    assert set(made.demand.tolist()) == {0.0, 1.0}
    with pytest.raises(vs.InputError, match="demand_min"):
        generator_of({**options, "demand_min": -1})


def generator_of(options):
    from vinesim.model.catalog import SERVER_TASK_TYPES, SERVER_TYPES

    return generator("batches").generate(options, task_types=SERVER_TASK_TYPES, processor_types=SERVER_TYPES)
