"""The façade: why runs end, and what a caller sees on the way."""

import numpy as np
import pytest

import vinesim as vs


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
    result = vs.simulate(big, engine=engine, watch=stop)
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
    assert scenario().content_id == scenario().content_id
    assert scenario(seed=1).content_id != scenario().content_id
    assert scenario(policy="flat").content_id != scenario().content_id
    assert scenario(workload=_many(3)).content_id != scenario().content_id


def test_provenance_says_where_a_result_comes_from():
    provenance = vs.simulate(scenario()).provenance
    assert provenance["policy"] == "high"
    assert provenance["options"] == {"in_order": "no"}
    assert provenance["content_id"] == scenario().content_id


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
