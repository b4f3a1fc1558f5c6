"""The warm-up: MSER-5 against its definition, and what a summary leaves out."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vinesim as vs
from vinesim import InputError
from vinesim.metrics.warm_up import BATCH, check_warm_up, kept_jobs, mser5


def slow_mser5(latency_us: list[float]) -> int:
    """White's statistic, cut by cut: the squares round the mean of what is left, over the square of its number."""
    places = [i for i, value in enumerate(latency_us) if np.isfinite(value)]
    n = len(places) // BATCH
    means = [float(np.mean([latency_us[places[b * BATCH + k]] for k in range(BATCH)])) for b in range(n)]
    best, least = 0, np.inf
    for cut in range(n // 2 + 1):
        left = means[cut:]
        if not left:
            break
        error = sum((value - np.mean(left)) ** 2 for value in left) / len(left) ** 2
        if error < least * (1 - 1e-9):
            best, least = cut, error
    return places[best * BATCH] if n >= 2 else 0


def test_mser5_finds_where_a_step_ends():
    noise = np.random.default_rng(1).normal(0, 1, 500)
    assert mser5(noise + np.where(np.arange(500) < 50, 100.0, 0.0)) == 50
    assert mser5(noise + np.where(np.arange(500) < 52, 100.0, 0.0)) == 55  # the batch that it ends in goes too
    assert mser5(noise - 1e9 + np.where(np.arange(500) < 50, -100.0, 0.0)) == 50


def test_mser5_searches_the_first_half_only():
    assert mser5(np.arange(100.0)) == 50  # it would go on to the end
    assert mser5(np.repeat([9.0, 1.0], [80, 20])) == 0  # the step is beyond


def test_mser5_of_few_or_equal_jobs_leaves_all():
    assert mser5(np.array([5.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])) == 0
    assert mser5(np.array([])) == 0
    assert mser5(np.full(100, 3.0)) == 0


def test_mser5_passes_over_unfinished_jobs():
    latency = np.where(np.arange(200) < 40, 100.0, np.random.default_rng(2).normal(0, 1, 200))
    holes = np.insert(latency, [0, 7, 20], np.nan)
    assert mser5(latency) == 40
    assert mser5(holes) == 43


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.one_of(st.integers(0, 50).map(float), st.just(np.nan)), max_size=120))
def test_mser5_is_its_definition(latency_us):
    values = np.array(latency_us)
    kept = values[np.isfinite(values)]
    found, meant = mser5(values), slow_mser5(latency_us)
    if found != meant:  # equal statistics, distinguished by rounding
        assert statistic(kept, np.isfinite(values[:found]).sum()) == pytest.approx(
            statistic(kept, np.isfinite(values[:meant]).sum()), rel=1e-6
        )


def statistic(finished: np.ndarray, cut: int) -> float:
    left = finished[: len(finished) // BATCH * BATCH].reshape(-1, BATCH).mean(axis=1)[cut // BATCH :]
    return float(left.var() / len(left))


def test_rules_by_number():
    latency = np.arange(10.0)
    assert kept_jobs(latency, "none") == slice(0, None)
    assert kept_jobs(latency, {"jobs": 3}) == slice(3, None)
    assert kept_jobs(latency, {"share": 0.25}) == slice(2, None)
    assert kept_jobs(latency, {"jobs": 9}) == slice(9, None)
    with pytest.raises(InputError, match="fewer than the 10 jobs of the workload, found 10 jobs"):
        kept_jobs(latency, {"jobs": 10})


@pytest.mark.parametrize(
    "rule",
    [
        "mser",
        {"share": 1.0},
        {"share": -0.1},
        {"share": float("nan")},
        {"jobs": -1},
        {"jobs": 1.5},
        {"jobs": float("inf")},
        {"jobs": True},
        {"jobs": "3"},
        {"jobs": 1, "share": 0.1},
        {},
        None,
        3,
    ],
)
def test_other_rules_are_refused(rule):
    with pytest.raises(InputError, match="expected none, mser5"):
        check_warm_up(rule)


def one_gpu(n: int = 10) -> vs.Scenario:
    """Jobs of two tasks of 25 us, 10 us apart, on one GPU: job k waits 40 k us."""
    work = vs.Workload(
        np.full(n, 2),
        np.arange(n + 1) * 2,
        np.arange(n) * 10.0,
        np.full(2 * n, 30e6),
        np.zeros(2 * n),
        np.zeros(2 * n),
        np.zeros(2 * n),
        np.full(2 * n, -1),
    )
    return vs.Scenario(vs.Datacenter.of([("GPU", 0, 0)]), work)


def test_a_summary_leaves_the_warm_up_out_of_the_latencies_only():
    whole = vs.simulate(one_gpu(), engine="reference").summary
    cut = vs.simulate(one_gpu(), engine="reference", warm_up={"share": 0.4}).summary
    assert whole["jobs"]["latency_us"]["mean"] == 50 + 40 * 4.5
    assert cut["jobs"]["latency_us"]["mean"] == 50 + 40 * 6.5
    assert cut["tasks"]["latency_us"]["mean"] == 37.5 + 40 * 6.5
    assert cut["tasks"]["response_us"]["mean"] == 25
    assert cut["jobs"].pop("warm_up") == {"rule": {"share": 0.4}, "dropped": 4}
    assert "warm_up" not in whole["jobs"]
    for group, name in (
        *(("jobs", "latency_us"), ("jobs", "wait_us"), ("jobs", "time_to_start_us"), ("jobs", "bounded_slowdown")),
        *(("tasks", "latency_us"), ("tasks", "wait_us")),
    ):
        cut[group][name] = whole[group][name]
    del whole["provenance"], cut["provenance"]
    assert cut == whole


def test_applications_and_labels_leave_out_the_same_jobs():
    case = one_gpu()
    work = replace(
        case.workload,
        application=np.zeros(10, int),
        application_names=("web",),
        deadline_us=case.workload.arrival_us + 200,
    )
    case = replace(case, workload=work)
    whole, cut = (vs.simulate(case, engine="reference", warm_up=rule) for rule in (None, {"share": 0.4}))
    of_run, of_one = cut.summary["jobs"], cut.summary["applications"]["web"]
    assert of_one["latency_us"] == of_run["latency_us"]
    assert of_one["missed"] == whole.summary["applications"]["web"]["missed"] > 0
    before, after = whole.by("application"), cut.by("application")
    names = {"wait_us": "wait_us", "latency_us": "latency_us", "slowdown": "bounded_slowdown"}
    for name, number in names.items():
        assert after[name][0] == pytest.approx(of_run[number]["mean"])
        assert before[name][0] == pytest.approx(whole.summary["jobs"][number]["mean"])
    assert after["wait_us"][0] > before["wait_us"][0]
    assert (after["jobs"][0], after["work"][0]) == (before["jobs"][0], before["work"][0])


def test_a_wrong_rule_is_refused_before_the_run():
    with pytest.raises(InputError, match="warm_up: expected none"):
        vs.simulate(one_gpu(), warm_up="mser")
    with pytest.raises(InputError, match="fewer than the 10 jobs of the workload, found 12 jobs"):
        _ = vs.simulate(one_gpu(), warm_up={"jobs": 12}).summary
