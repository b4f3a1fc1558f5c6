"""What applications got, the error of predictions, and the lower bound on misses."""

import numpy as np
import pytest

import vinesim as vs
from tests.requests_scenarios import request_scenario
from vinesim.metrics.deadline_bound import least_missed
from vinesim.metrics.prediction import prediction_errors
from vinesim.metrics.tables import Tables


@pytest.mark.parametrize("name", ["symphony", "edf_drop", "fcfs"])
def test_the_table_is_the_jobs_counted(name):
    dropped = 0
    for seed in range(40):
        scenario = request_scenario(seed, name)
        result = vs.simulate(scenario)
        table, jobs = result.applications, result.jobs
        for i, code in enumerate(table["application"]):
            mine = jobs["application"] == code
            missed = ~(jobs["finish_us"][mine] <= jobs["deadline_us"][mine])
            assert table["requests"][i] == mine.sum()
            assert table["missed"][i] == missed.sum()
            numbers = result.summary["applications"][str(table["name"][i])]
            assert numbers["missed_pct"] == pytest.approx(100 * missed.mean())
            never = [
                job for job in np.flatnonzero(mine) if (result.tasks["unit"][result.tasks["job"] == job] < 0).all()
            ]
            assert table["dropped"][i] == len(never)
            dropped += len(never)
        shares = 1 - table["missed_pct"] / 100
        jain = 1.0 if not shares.any() else shares.sum() ** 2 / (len(shares) * (shares**2).sum())
        assert result.summary["applications"]["mean"]["jain"] == pytest.approx(jain)
        assert result.summary["applications"]["mean"]["missed_pct"] == pytest.approx(table["missed_pct"].mean())
    assert (dropped > 0) == (name == "edf_drop")


def test_jobs_without_a_deadline_miss_none():
    """Of two with a deadline one is late; of two without, one never ends: it is cut off."""
    work = vs.Workload(
        np.zeros(4, int),
        np.arange(5),
        np.arange(4.0),
        np.array([2.0, 1.0, 1.0, 100.0]),
        *np.zeros((3, 4)),
        np.full(4, -1),
        application=np.zeros(4, int),
        deadline_us=np.array([10.0, 2.5, np.inf, np.inf]),
        task_types=(vs.TaskType("T"),),
    )
    center = vs.Datacenter([0], [0], [0], (vs.ProcessorType("GPU"),))
    result = vs.simulate(vs.Scenario(center, work, affinity=[[1.0]], horizon_us=50.0), engine="reference")
    assert result.summary["deadlines"] == {"missed": 1, "missed_pct": 50.0}
    assert result.applications["missed"].tolist() == [1]


def test_minutes_may_be_as_late_as_any_number():
    """Two requests in the first minute, one of them missed; one in a minute far away; one beyond all whole numbers."""
    work = vs.Workload(
        np.zeros(4, int),
        np.arange(5),
        np.array([0.0, 1e6, 1e14, 1e25]),
        np.array([50e6, 50e6, 50e6, 1e15]),
        *np.zeros((3, 4)),
        np.full(4, -1),
        application=np.zeros(4, int),
        deadline_us=np.array([60e6, 60e6, 2e14, 1e26]),
        task_types=(vs.TaskType("T"),),
    )
    scenario = vs.Scenario(vs.Datacenter([0], [0], [0], (vs.ProcessorType("GPU"),)), work, affinity=[[1.0]])
    table = vs.simulate(scenario, engine="reference").applications
    assert table["missed"].tolist() == [1]
    assert table["missed_pct_worst_minute"].tolist() == [50.0]
    assert table["missed_pct_minutes"].tolist() == [pytest.approx(50.0 / 3)]


def test_without_applications_there_is_no_table():
    scenario = request_scenario(0, "fcfs")
    work = vs.Workload(**{**vars(scenario.workload), "application": None, "deadline_us": None})
    result = vs.simulate(vs.changed(scenario, workload=work, applications=()))
    assert result.applications is None
    assert "applications" not in result.summary


def test_predictions_become_true_when_times_are_linear_and_known():
    """Exclusive units, no noise, sizes that differ: after a few completions the line is the law itself."""
    rng = np.random.default_rng(0)
    n = 400
    work = vs.Workload(
        np.zeros(n, int),
        np.arange(n + 1),
        np.cumsum(rng.exponential(12.0, n)),
        rng.integers(1, 9, n).astype(float),
        *np.zeros((3, n)),
        np.full(n, -1),
        application=np.zeros(n, int),
        deadline_us=np.full(n, 1e9),
        task_types=(vs.TaskType("T"),),
    )
    center = vs.Datacenter([0, 0], [0, 0], [0, 0], (vs.ProcessorType("GPU"),))
    scenario = vs.Scenario(center, work, "symphony", affinity=[[0.5]], overhead_us=[[3.0]])
    result = vs.simulate(scenario)
    errors = prediction_errors(Tables(scenario, result.outcome))
    assert errors["predicted_us"][0] == 0.0
    late = errors["start_us"] > errors["start_us"][20]
    assert abs(errors["predicted_us"] / errors["actual_us"] - 1)[late].max() < 1e-6


@pytest.mark.parametrize("name", ["symphony", "edf_drop", "deadline_consolidation", "least_laxity", "fcfs"])
def test_no_policy_misses_fewer_than_the_bound(name):
    positive = 0
    for seed in range(150):
        scenario = request_scenario(seed, name, gangs=False)
        bound = least_missed(scenario, (5.0, 20.0, 60.0))
        positive += bound["missed"] > 0
        assert vs.simulate(scenario).summary["deadlines"]["missed"] >= bound["missed"]
    assert positive > 10


@pytest.mark.parametrize(("demand", "crowded"), [(None, 8), (0.5, 5), (0.0, 0), (vs.WHOLE_UNIT, 8)])
def test_the_bound_counts_what_does_not_fit(demand, crowded):
    """Ten requests of 4 us at once on a unit, all due after 10 us: two fit, of those that take half of it five."""
    n = 10
    work = vs.Workload(
        np.zeros(n, int),
        np.arange(n + 1),
        np.zeros(n),
        np.full(n, 4.0),
        *np.zeros((3, n)),
        np.full(n, -1),
        demand=None if demand is None else np.full(n, demand),
        deadline_us=np.full(n, 10.0),
        task_types=(vs.TaskType("T"),),
    )
    center = vs.Datacenter([0], [0], [0], (vs.ProcessorType("GPU"),))
    scenario = vs.Scenario(center, work, "fcfs", affinity=[[1.0]])
    assert least_missed(scenario, (10.0,)) == {"alone": 0, "crowded": crowded, "missed": crowded}
    assert vs.simulate(scenario, engine="reference").summary["deadlines"]["missed"] >= crowded
