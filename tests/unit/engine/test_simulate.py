"""The façade: why runs end, and what a caller sees on the way."""

import gc

import numpy as np
import pytest

import vinesim as vs
import vinesim.policies
from vinesim.policies.identity import content_id


def scenario(**changes):
    """Ten jobs of two tasks of 25 us, 10 us apart, on one GPU."""
    n = 10
    work = changes.pop("workload", None) or vs.Workload(
        np.full(n, 2),
        np.arange(n + 1) * 2,
        np.arange(n) * 10.0,
        np.full(2 * n, 30e6),
        np.zeros(2 * n),
        np.zeros(2 * n),
        np.zeros(2 * n),
        np.full(2 * n, -1),
    )
    return vs.Scenario(vs.Datacenter.of([("GPU", 0, 0)]), work, **changes)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_a_horizon_cuts_running_tasks_off(engine):
    result = vs.simulate(scenario(horizon_us=60.0), engine=engine)
    assert result.exit_reason == vs.ExitReason.HORIZON
    tasks = result.tasks
    assert np.isfinite(tasks["finish_us"]).sum() == 2
    assert (tasks["unit"] >= 0).sum() == 3
    assert np.isnan(tasks["finish_us"][2])
    assert tasks["start_us"][2] == 50.0
    assert result.summary["jobs"]["finished"] == 1
    assert result.summary["utilization"]["overall"] == 1.0


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_a_watcher_can_stop_a_run(engine):
    seen = []

    def stop(progress):
        seen.append(progress)
        return True

    big = scenario(workload=_many(50_000))
    result = vs.simulate(big, engine=engine, on_progress=stop)
    assert result.exit_reason == vs.ExitReason.INTERRUPTED
    assert len(seen) == 1
    assert 0 < seen[0].n_done < 50_000
    assert result.summary["tasks"]["finished"] == seen[0].n_done


def _many(n):
    return vs.Workload(
        np.full(n, 2),
        np.arange(n + 1),
        np.arange(n) * 30.0,
        np.full(n, 30e6),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.full(n, -1),
    )


def test_the_content_id_changes_with_what_decides_the_outcome_only():
    assert content_id(scenario()) == content_id(scenario())
    assert content_id(scenario(seed=1)) != content_id(scenario())
    assert content_id(scenario(policy="flat")) != content_id(scenario())
    assert content_id(scenario(workload=_many(3))) != content_id(scenario())


def test_provenance_says_where_a_result_comes_from():
    provenance = vs.simulate(scenario()).provenance
    assert provenance["policy"] == "high"
    assert provenance["options"] == {"in_order": False}
    assert provenance["content_id"] == content_id(scenario())


def test_prices_and_power_become_cost_and_energy():
    power = np.full((6, 7), 100.0)
    types = list(vs.PROCESSOR_TYPES)
    types[2] = vs.ProcessorType("GPU", price=3000.0, idle_power_w=10.0)
    center = vs.Datacenter.of([("GPU", 0, 0), ("GPU", 0, 1)], types)
    result = vs.simulate(vs.Scenario(center, scenario().workload, power_w=power))
    makespan = result.summary["makespan_us"]
    busy = 20 * 25.0
    assert result.summary["cost"]["purchase"] == 6000.0
    assert result.summary["energy_j"] == pytest.approx((busy * 100.0 + (2 * makespan - busy) * 10.0) * 1e-6)


def test_the_content_id_counts_values_and_code_not_spelling(tmp_path, monkeypatch):
    assert content_id(scenario(horizon_us=100)) == content_id(scenario(horizon_us=100.0))
    assert content_id(scenario(seed=np.int64(5))) == content_id(scenario(seed=5))
    assert content_id(scenario(policy=Late)) != content_id(scenario(policy=Later))
    (tmp_path / "a.py").write_text("x = 1")
    monkeypatch.chdir(tmp_path)
    near, far = scenario(policy="a.py"), scenario(policy=str(tmp_path / "a.py"))
    assert content_id(near) == content_id(far)
    before = content_id(near)
    (tmp_path / "a.py").write_text("x = 2")
    assert content_id(near) != before


class Late(vs.policies.OnlinePolicy):
    """A policy."""


class Later(vs.policies.OnlinePolicy):
    """Another."""


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("policy", ["high", "delay"])
def test_a_run_that_is_done_before_the_horizon_is_all_done(engine, policy):
    result = vs.simulate(scenario(horizon_us=600.0, policy=policy), engine=engine)
    assert result.exit_reason == vs.ExitReason.ALL_DONE
    assert result.outcome.end_us == result.summary["makespan_us"]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("data_rack", [0]),
        ("demand", [1.0]),
        ("deadline_us", [1.0]),
        ("preferred_type", [65536] * 20),
        ("data_shelf", [2**32] * 20),
        ("application", [-1] * 10),
        ("operations", ["many"] * 20),
    ],
)
def test_columns_that_do_not_fit_are_refused(column, value):
    work = scenario().workload
    given = {name: getattr(work, name) for name in work.__dataclass_fields__}
    with pytest.raises(vs.InputError, match=f"workload.{column}|number"):
        vs.Workload(**{**given, column: value})


def test_a_wide_datacenter_needs_no_memory_for_its_empty_places():
    center = vs.Datacenter.of([("GPU", 0, 0), ("GPU", 999_999, 2**31 - 2)])
    result = vs.simulate(vs.Scenario(center, scenario().workload))
    assert result.summary["tasks"]["finished"] == 20
    with pytest.raises(vs.InputError, match="n_racks"):
        vs.Datacenter.of([("GPU", 2**31 - 2, 0)])


def test_tasks_that_share_a_unit_share_its_power():
    types = [vs.ProcessorType("S", capacity=4.0, parallelism=2.0)]
    n = 4
    work = vs.Workload(
        np.zeros(n), np.arange(n + 1), np.zeros(n), np.full(n, 100.0), *[np.zeros(n)] * 3, np.full(n, -1), np.ones(n)
    )
    center = vs.Datacenter.of([("S", 0, 0)], types)
    shared = vs.Scenario(center, work, affinity=np.ones((1, 7)), power_w=np.full((1, 7), 100.0))
    result = vs.simulate(shared)
    assert result.summary["makespan_us"] == pytest.approx(200.0)
    assert result.summary["energy_j"] == pytest.approx(100.0 * 200.0 * 1e-6)


@pytest.mark.parametrize("values", [(0.8, 2.4), (0.1, 0.3)])
@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_three_equal_demands_fill_a_unit_of_three_times_that(engine, values):
    demand, capacity = values
    types = [vs.ProcessorType("S", capacity=capacity)]
    work = vs.Workload(
        np.zeros(3), np.arange(4), np.zeros(3), np.ones(3), *[np.zeros(3)] * 3, np.full(3, -1), np.full(3, demand)
    )
    one = vs.Scenario(vs.Datacenter.of([("S", 0, 0)], types), work, affinity=np.ones((1, 7)))
    assert vs.simulate(one, engine=engine).summary["makespan_us"] == 1.0


def two_types(arrival_us, operations, **changes):
    """Jobs of one task for a CPU of speed 1 and a GPU of speed 2, in us."""
    n = len(arrival_us)
    work = vs.Workload(
        np.zeros(n), np.arange(n + 1), arrival_us, operations, *np.zeros((3, n)), np.full(n, -1),
        task_types=(vs.TaskType("T"),),
    )  # fmt: skip
    types = (vs.ProcessorType("CPU"), vs.ProcessorType("GPU"))
    center = vs.Datacenter([0, 1], [0, 0], [0, 1], types)
    return vs.Scenario(center, work, affinity=[[1.0], [2.0]], **changes)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_a_unit_that_becomes_free_as_a_job_arrives_is_free_for_it(engine):
    """The GPU ends at 10, when the second job arrives, and not the CPU, which is free, gets that one."""
    assert vs.simulate(two_types([0.0, 10.0], [20.0, 20.0]), engine=engine).tasks["unit"].tolist() == [1, 1]


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_what_ends_at_the_horizon_has_ended(engine):
    result = vs.simulate(two_types([0.0, 0.0, 10.0], [20.0, 30.0, 20.0], horizon_us=10.0), engine=engine)
    assert result.exit_reason == vs.ExitReason.HORIZON
    assert result.tasks["finish_us"][0] == 10.0
    assert np.isnan(result.tasks["finish_us"][1:]).all()
    assert result.tasks["init_us"].tolist() == [0.0, 0.0, 10.0]


def test_the_name_of_a_file_is_no_scenario():
    with pytest.raises(vs.InputError, match=r"scenario: expected a Scenario, found 'a.yaml'. .*read_scenario"):
        vs.simulate("a.yaml")


def test_what_a_run_made_is_freed_as_soon_as_nobody_has_its_result():
    """A cycle keeps all arrays until Python looks for cycles: a sweep of long runs took three times the memory."""
    case = scenario(policy="high")

    def use():
        result = vs.simulate(case, engine="compiled")
        assert result.summary["utilization"]["active"]["overall"] > 0
        assert len(result.tasks["unit"]) == 20

    use()  # the first time classes may be made, which are cycles
    while gc.collect():  # what other tests compiled goes in several turns: some of it holds more until it is gone
        pass
    gc.disable()
    try:
        use()
        assert gc.collect() == 0
    finally:
        gc.enable()
