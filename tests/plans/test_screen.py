"""What is known of a point without a run: bounds by hand, and which arrivals go on."""

import numpy as np
import pytest

from vinesim.formats.plan.file import plan
from vinesim.plans.fluid import least_watts
from vinesim.plans.hardware import HOURS_PER_YEAR, Hardware
from vinesim.plans.screen import OVERLOADED, screened
from vinesim.plans.space import Space
from vinesim.plans.work import Work

UNITS = "datacenter.racks[0].units.CPU"
SCENARIO = {
    "extends": "none",
    "processor_types": [{"name": "CPU", "idle_power": 100, "dynamic_power": 50}],
    "prices": {"CPU": 2000},
    "task_types": ["TASK"],
    "affinity": {"absolute": {"CPU": {"TASK": 1}}},
    "datacenter": {"racks": [{"units": {"CPU": 1}}]},
    "network": "none",
    "workload": {"generator": "identical", "options": {"n_jobs": 20, "task_type": "TASK", "operations": 100}},
    "arrivals": {"iat": 50},
    "policy": "high",
}


def known(scenario=SCENARIO, **more):
    asked = plan({"scenario": scenario, "choose": {UNITS: [1, 2, 3]}, "minimize": "cost.electricity", **more})
    return screened(asked, Space(asked))


@pytest.mark.parametrize("years", [1, 3])
def test_the_bound_on_electricity_is_that_of_idling_over_the_years(years):
    cost = {"years": years, "electricity": {"price_per_kwh": 0.25, "pue": 1.2}}
    a_unit = 0.1 * years * HOURS_PER_YEAR * 1.2 * 0.25
    assert known(cost=cost).bound[:, 0].tolist() == pytest.approx([a_unit, 2 * a_unit, 3 * a_unit])
    total = known(cost=cost, minimize="cost.total").bound[:, 0]
    assert total.tolist() == pytest.approx([n * (2000 + a_unit) for n in (1, 2, 3)])


@pytest.mark.parametrize(("largest", "active_w"), [(24.0, 70.0), (48.0, 70.0), (96.0, 35.0), (192.0, 17.5)])
def test_the_bound_on_the_power_where_units_are_smaller_or_larger_than_those_it_was_found_with(largest, active_w):
    """A task holds a smaller share of a larger unit, and draws less; of a smaller one it draws no less."""
    work = Work(np.ones((1, 1, 1)), np.zeros((1, 1)), np.array([[70.0]]), np.array([48.0]), True)
    one = np.ones((1, 1), np.int64)
    hardware = Hardware(one[0] * 2, one * 2, one * 2 * largest, np.array([largest]), np.array([largest]))
    assert least_watts(work, hardware, np.array([100.0])) == pytest.approx(200 + active_w)


@pytest.mark.parametrize(
    ("workload", "arrivals", "goes_on"),
    [
        (SCENARIO["workload"], {"iat": 50}, True),
        (SCENARIO["workload"], {"poisson": {"mean": 50}}, True),
        ({"file": "jobs.csv"}, {"poisson": {"mean": 50}}, True),
        ({"file": "jobs.csv"}, {"iat": 50}, False),
        ({"file": "jobs.csv"}, None, False),
    ],
)
def test_only_arrivals_that_go_on_overload_a_point(tmp_path, workload, arrivals, goes_on):
    """Tasks of 100 us about every 50 us: one unit is too few for ever, but not for 20 jobs."""
    (tmp_path / "jobs.csv").write_text("arrival_us,operations\n" + "".join(f"{50 * i},100\n" for i in range(20)))
    if "file" in workload:
        workload = {"file": str(tmp_path / "jobs.csv")}
    scenario = {**SCENARIO, "workload": workload, "arrivals": arrivals}
    if arrivals is None:
        del scenario["arrivals"]
    limits = {"jobs.latency_us.max": {"below": 1e6}}
    asked = known(scenario, minimize="cost.purchase", limits=limits)
    assert asked.why.get(0) == (OVERLOADED if goes_on else None)
    longer = known(scenario, minimize="cost.purchase", limits=limits, confirm={"longer": {"seed": 1}})
    assert longer.why[0] == OVERLOADED
    assert not known(scenario, minimize="cost.purchase", limits=limits, screen=False).why


def test_points_that_miss_a_limit_without_a_run_have_one_reason():
    limits = {"cost.purchase": {"below": 3000}}
    assert set(known(minimize="cost.purchase", limits=limits).why.values()) == {"misses cost.purchase below 3,000"}


def test_prices_are_those_of_the_types_that_some_point_has():
    scenario = {**SCENARIO, "processor_types": [{"name": "CPU", "idle_power": 100}, {"name": "GPU"}]}
    scenario |= {"prices": {"CPU": 2000, "GPU": 5}, "affinity": {"absolute": {"CPU": {"TASK": 1}, "GPU": {"TASK": 1}}}}
    assert known(scenario, minimize="cost.purchase").prices == {"CPU": 2000}


@pytest.mark.parametrize(
    ("policy", "distribution", "is_random"),
    [("high", None, False), ("flat", None, True), ("high", "exponential", True), ("high", "constant", False)],
)
def test_runs_are_random_where_the_policy_or_the_failures_are(policy, distribution, is_random):
    """One run is enough where other seeds give the same."""
    times = {"mean": "1 h", "distribution": distribution}
    more = {} if distribution is None else {"failures": [{"until": times, "repair": times}]}
    assert known({**SCENARIO, "policy": policy, **more}).is_random.all() == is_random
