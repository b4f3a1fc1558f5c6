"""The NAS jobs of the RBSS paper, estimates with an error, and the numbers that such runs report."""

import numpy as np
import pytest

import vinesim as vs
from vinesim.workloads import rbss_nas
from vinesim.workloads.estimates import mean_times
from vinesim.workloads.registry import generator


def make(seed=0, **options):
    return generator("rbss_nas").generate(options, seed=seed)


def test_the_operations_are_those_that_the_benchmarks_count():
    mega = {f"{name}.{size}": rbss_nas.operations(name, i) / 1e6 for name in rbss_nas.BENCHMARKS
            for i, size in enumerate("SW")}  # fmt: skip
    published = {"BT.S": 228.3, "BT.W": 7719, "CG.S": 66.6, "EP.S": 33.6, "EP.W": 67.1, "LU.S": 102.3, "LU.W": 18061}
    published |= {"SP.S": 96.7, "SP.W": 14174, "CG.W": 421}
    assert mega == pytest.approx(published, rel=2e-3)


def test_the_groups_have_their_jobs_and_requests():
    a, b = make(group="A"), make(group="B")
    assert (a.n_jobs, b.n_jobs) == (76, 28)
    assert {name: set(values) for name, values in a.requests.items()} == {"cores": {6.0}, "sms": {7.0}}
    assert {name: set(values) for name, values in b.requests.items()} == {"cores": {12.0}, "sms": {15.0}}
    assert make(copies=3).n_jobs == 228
    assert (a.arrival_us % 1e6 == 0).all()
    assert np.mean(make(copies=30, mean_s=100.0).arrival_us) == pytest.approx(100e6, rel=0.05)


def test_one_class_is_better_on_a_cpu():
    work = make(fixed_s=0.0, scale=1.0)
    fastest = {t.name: work.times_us[work.job_task_type == i].argmin(axis=1) for i, t in enumerate(work.task_types)}
    on_cpu = {name for name, types in fastest.items() if len(types) and (types < 3).all()}
    assert on_cpu == {"SP.W"}


def test_the_fixed_cost_is_paid_for_each_execution_or_once_a_job():
    """Fixed costs of 32 to 48 s, and at most 12 s of computing: of the 76 jobs, the longest are left out."""
    each, once = (make(scale=1.0, is_fixed_once=is_once).times_us / 1e6 for is_once in (False, True))
    assert 1.0 < each.mean(axis=1).max() / 48 < 3.3
    assert 0.66 < once.mean(axis=1).min() / 48 < once.mean(axis=1).max() / 48 < 1.4
    spread = [times.mean(axis=1).std() / times.mean() for times in (each, once)]
    assert spread[0] > 2 * spread[1]
    without = [make(scale=1.0, fixed_s=0.0, is_fixed_once=is_once).times_us for is_once in (False, True)]
    assert np.array_equal(*without)
    one = [make(scale=1.0, group="B", is_fixed_once=is_once).times_us for is_once in (False, True)]  # executed once
    assert np.array_equal(*one)


def test_the_seed_decides_and_wrong_options_are_named():
    one, again, other = make(1, jitter=0.1), make(1, jitter=0.1), make(2, jitter=0.1)
    for name in ("arrival_us", "times_us", "time_factor"):
        assert np.array_equal(getattr(one, name), getattr(again, name))
        assert not np.array_equal(getattr(one, name), getattr(other, name))
    for options, text in (
        ({"group": "C"}, "group"),
        ({"n_jobs": 1000}, "at most 84"),
        ({"gpu_efficiency": {"FT": 1.0}}, "gpu_efficiency"),
        ({"sd_s": -1.0}, "sd_s"),
        ({"scale": 0.0}, "scale"),
    ):
        with pytest.raises(vs.InputError, match=text):
            make(**options)


def test_estimates_can_be_wrong_by_a_given_measure():
    exact = vs.read_scenario("examples/rbss.yaml", ["workload.options.copies=40"])
    wrong = vs.read_scenario("examples/rbss.yaml", ["workload.options.copies=40", "workload.estimate_error=0.5"])
    true_us = mean_times(exact.workload, exact.datacenter, exact.affinity, exact.overhead_us)
    assert np.array_equal(exact.workload.arrival_us, wrong.workload.arrival_us)
    assert np.std(np.log(wrong.workload.estimate_us / true_us)) == pytest.approx(0.5, rel=0.05)


def test_the_summary_tells_waiting_slowdown_and_the_use_of_resources():
    scenario = vs.read_scenario("examples/rbss.yaml")
    done = vs.simulate(scenario, engine="reference")
    jobs, units = done.jobs, done.units
    assert done.summary["jobs"]["wait_us"]["mean"] == pytest.approx((jobs["start_us"] - jobs["arrival_us"]).mean())
    running = np.maximum(jobs["finish_us"] - jobs["start_us"], 10e6)
    assert done.summary["jobs"]["bounded_slowdown"]["max"] == pytest.approx((jobs["latency_us"] / running).max())
    types = scenario.datacenter.processor_types
    sms = np.array([p.attributes.get("sms", 0.0) for p in types])[units["unit_type"]]
    share = (units["active_us"] * sms).sum() / (sms.sum() * done.summary["makespan_us"])
    assert done.summary["utilization"]["by_resource"]["sms"] == pytest.approx(share)
    assert set(done.summary["utilization"]["by_resource"]) == {"cores", "sms"}
