"""Numbers given from Python that are none, or of no use: each is an input error that names the argument."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import vinesim as vs
from vinesim.model.application import Application
from vinesim.model.dependencies import wrong_after
from vinesim.model.electricity import Series
from vinesim.model.failure import Failures, Times
from vinesim.policies.preemptive.las import Las
from vinesim.workloads.distributions import Empirical
from vinesim.workloads.request_arrivals import profile_of_counts


def scenario(**parts):
    work = vs.Workload([0], [0, 1], [0.0], [1.0], [0.0], [0], [0], [-1], task_types=(vs.TaskType("T"),))
    return vs.Scenario(vs.Datacenter.of([("CPU", 0, 0)], [vs.ProcessorType("CPU")]), work, affinity=[[1.0]], **parts)


def _raised(problems):
    raise vs.InputError(problems)


ROW, ABOVE, TIME = "a row of type, rack and shelf", "a finite number above 0", "a finite time, 0 or more"
WRONG = [
    (lambda: vs.Datacenter.of([("GPU", 0), 7]),
     f"datacenter.units[0]: expected {ROW}, found ('GPU', 0)", f"datacenter.units[1]: expected {ROW}, found 7"),
    (lambda: vs.Datacenter.of([("GPU", "a", 0)]), f"datacenter.units[0]: expected {ROW}, found ('GPU', 'a', 0)"),
    (lambda: vs.Datacenter.of([(["GPU"], 0, 0)]), f"datacenter.units[0]: expected {ROW}, found (['GPU'], 0, 0)"),
    (lambda: vs.Datacenter.of([("GPU", 0.5, 0)]), "datacenter.rack[0]: expected a whole number"),
    (lambda: vs.Network(inter_rack="fast", hops_intra=True),
     "network.inter_rack: expected a bandwidth above 0, or null for free, found 'fast'",
     "network.hops_intra: expected a finite number, 0 or more, found True"),
    (lambda: vs.ProcessorType("X", capacity="8"), f"processor_types.X.capacity: expected {ABOVE}, found '8'"),
    (lambda: vs.ProcessorType("X", price=[1]),
     "processor_types.X.price: expected a finite number, 0 or more, found [1]"),
    (lambda: vs.ProcessorType("X", price=-10**400), "found a negative number of more than 60 digits"),
    (lambda: vs.ProcessorType("X", capacity=10**5000), f"X.capacity: expected {ABOVE}, found a number of more than 60"),
    (lambda: scenario(horizon_us=10**400, seed=10**400),
     "horizon_us: expected a time above 0, found a number of more than 60 digits",
     "seed: expected an integer from 0 to 2^63 - 1, found a number of more than 60 digits"),
    (lambda: Las.from_options({"quantum_us": 10**400, "levels": 10**5000}),
     "quantum_us: expected a number up to 1.8e+308, found a number of more than 60 digits",
     "levels: expected a whole number, found a number of more than 60 digits"),
    (lambda: vs.ProcessorType("X", rates=(1, 10**400), capacity=2),
     "processor_types.X.rates[1]: expected a number, found a number of more than 60 digits"),
    (lambda: vs.ProcessorType("X", rates={"T": ("fast",)}), "processor_types.X.rates.T[0]: expected a number"),
    (lambda: vs.ProcessorType("X", rates=1), "processor_types.X.rates: expected a list of numbers, found 1"),
    (lambda: vs.Workload([0], [0, 1], [10**400], [1.0], [0.0], [0], [0], [-1]),
     "arrival_us: expected numbers up to 1.8e+308, found a larger one"),
    (lambda: vs.changed(scenario(), affinity=[[10**400]]), "affinity: expected numbers up to 1.8e+308"),
    (lambda: vs.changed(scenario(), overhead_us=[["x"]]), "overhead_us: expected numbers, found list"),
    (lambda: vs.changed(scenario(), consolidated_us=[["x"]]), "consolidated_us: expected numbers, found list"),
    (lambda: vs.mean_interval([1.0, 10**400]), "values: expected numbers up to 1.8e+308"),
    (lambda: vs.simulate_many(scenario(), arrival_us=[[10**400]]), "arrival_us: expected numbers up to 1.8e+308"),
    (lambda: vs.simulate_many(scenario(), seeds=[10**400]), "seeds: expected numbers up to 1.8e+308"),
    (lambda: vs.simulate_many(scenario(), seeds=[1.5]), "seeds[0]: expected a whole number from"),
    (lambda: vs.ProcessorType("X", rates=[1.0, 0.5], capacity="2"), f"X.capacity: expected {ABOVE}, found '2'"),
    (lambda: vs.ProcessorType("X", power_curve_w=["a"] * 11), "X.power_curve_w: expected 11 powers"),
    (lambda: vs.Network(inter_rack=Fraction(-1, 2)), "network.inter_rack: expected a bandwidth "
     "above 0, or null for free, found -1/2"),
    (lambda: Application("a", 1.0, nodes=[(0, 0)], gang_size="2"), "gang_size: expected a whole number, 1 or more, "
     "found '2'"),
    (lambda: Application("a", 1.0, max_consolidated=1.0000001), "found 1.0000001"),
    (lambda: scenario(seed=1.0), "seed: expected an integer from 0 to 2^63 - 1, found 1.0"),
    (lambda: scenario(period_us="x", options={"period_us": 5}), "options.period_us: expected the period as "
     "period_us of the scenario, us, found 5 along with period_us='x'"),
    (lambda: Application("a", "soon", gang_size=1.5),
     f"applications.a.relative_deadline_us: expected {ABOVE}, found 'soon'",
     "applications.a.gang_size: expected a whole number, 1 or more, found 1.5"),
    (lambda: scenario(seed=1.5, horizon_us="late", sampling_us="often", period_us=None),
     "sampling_us: expected a time above 0, or none for off, found 'often'",
     "horizon_us: expected a time above 0, found 'late'",
     "period_us: expected a time above 0, found None",
     "seed: expected an integer from 0 to 2^63 - 1, found 1.5"),
    (lambda: scenario(outages=[vs.Outage(0, 0, "noon"), vs.Outage(0, 0, -1.0)]),
     "outages[0].down: expected a time, us, found 'noon'", f"outages[1].down: expected {TIME}, found -1"),
    (lambda: scenario(failures=[Failures(5, Times("1 h"))]),
     "failures[0].until: expected a distribution, such as Times(mean_us=1e9), found 5",
     f"failures[0].repair.mean: expected {TIME}, found '1 h' us"),
    (lambda: scenario(partitions=[vs.Partition("p", quota={"CPU": "all"})]),
     f"partitions[0].quota.CPU: expected {ABOVE}, found 'all'"),
    (lambda: vs.Workload([0, 0], [0, 2, 1], [0.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0, 0], [0, 0], [-1, -1],
                         task_types=(vs.TaskType("T"),)),
     "workload.job_first: expected increasing numbers from 0 to 2, the number of tasks, found 1 at place 2"),
    (lambda: _raised(wrong_after(np.array([1, 2]), np.array([0, 0]))),
     "workload.after_first: expected rising numbers from 0 to 2, the length of after, found 1 at place 0"),
    (lambda: Series(np.array([0.0, 1.0]), np.array([1.0, np.nan]), 2.0),
     "series: expected finite values, found nan at place 1"),
    (lambda: profile_of_counts(np.array([0.0, 2.0, 1.0]), np.ones(3)),
     "series: expected rising times, found 1.0 at place 2"),
    (lambda: profile_of_counts(np.array([0.0, 1.0]), np.array([-1.0, 1.0])),
     "series: expected counts of 0 or more, found -1.0 at place 0"),
    (lambda: Empirical([1.0, 2.0], [0.0, -3.0]),
     "weights: expected finite numbers of 0 or more, not all 0, found -3.0 at place 1"),
    (lambda: Empirical([1.0, 2.0], [0.0, 0.0]), "not all 0, found all 0"),
    (lambda: vs.Partition("p", nodes=[0, 1, 2]),
     "partitions.p.nodes: expected rows of rack and shelf, found 3 numbers"),
]  # fmt: skip


@pytest.mark.parametrize("units", [
    np.array([["GPU", 1, 0]], dtype=object),
    np.array([("GPU", 1, 0)], [("type", "U9"), ("rack", "i4"), ("shelf", "i4")]),
    [["GPU", "1", "0"]],
    [("GPU", np.int64(1), 0.0)],
])  # fmt: skip
def test_rows_of_units_may_be_of_any_kind(units):
    center = vs.Datacenter.of(units)
    assert (center.count_by_type(), center.rack.tolist(), center.shelf.tolist()) == ({"GPU": 1}, [1], [0])


def test_numbers_may_be_of_any_kind():
    case = scenario(horizon_us=Decimal(3), seed=np.int64(7))
    assert case.horizon_us == 3
    assert vs.Partition("p", quota={"CPU": "3", "GPU": Decimal(2)}).quota == {"CPU": 3.0, "GPU": 2.0}
    assert vs.ProcessorType("X", capacity=np.array(3.0)).capacity == 3
    assert vs.Network(inter_rack=Decimal("1e9"), hop_latency_us=Fraction(1, 2)).tier_bandwidth[2] == 1e9


@pytest.mark.parametrize(("make", "reported"), [(make, reported) for make, *reported in WRONG])
def test_each_is_named_with_what_was_found(make, reported):
    with pytest.raises(vs.InputError) as error:
        make()
    assert [line for line in reported if line not in str(error.value)] == []
