"""What a page gets: the numbers of a run, differences as vinesim compare gives them, and curves."""

import json

import numpy as np
import pytest

import vinesim as vs
from tests.explore.conftest import EXAMPLES, GPUS, SMALL, Listener
from vinesim.explore.jobs import Stopped, curve, differences, show
from vinesim.explore.state import Explored
from vinesim.model.errors import InputError
from vinesim.policies.documents import read_scenario

RANDOM = (*SMALL, "arrivals={poisson: {mean: 6 us}}")


def test_the_numbers_are_those_of_the_summary(quickstart):
    found = show(quickstart, {"changes": {GPUS: 5, "arrivals.iat": "5 us"}}, Listener().watch)
    scenario = read_scenario(EXAMPLES / "quickstart.yaml", [*SMALL, f"{GPUS}=5", "arrivals.iat=5"])
    summary = vs.simulate(scenario, engine="reference").summary
    assert found["numbers"]["jobs.latency_us.p99"] == summary["jobs"]["latency_us"]["p99"]
    assert found["numbers"]["energy_j"] == summary["energy_j"]
    assert found["numbers"]["cost.purchase"] == summary["cost"]["purchase"]
    assert found["energy"]["by_type"] == summary["energy"]["by_type"]
    assert found["counts"] == {"jobs": 40, "jobsDone": 40, "tasks": 200, "tasksDone": 200, "units": 25}
    assert found["reason"]["name"] == "ALL_DONE"
    assert found["isCodeReady"] is None  # plain Python is asked for
    assert json.loads(json.dumps(found, allow_nan=False))


@pytest.mark.parametrize("name", ["gpu_cluster", "neurasmus"])
def test_other_kinds_of_scenarios_are_shown(name):
    explored = Explored(EXAMPLES / f"{name}.yaml", (), "reference")
    found = show(explored, {"changes": {}}, Listener().watch)
    assert found["racks"]["level"] == "unit"
    assert found["counts"]["tasksDone"] > 0
    assert len(found["usage"]["groups"]) == len(found["types"]) + 1


def test_a_stopped_run_is_shown_as_far_as_it_came(quickstart):
    listener = Listener(stops_after=1)
    explored = Explored(quickstart.path, ["workload.options.n_jobs=20000"], "reference")
    found = show(explored, {"changes": {}}, listener.watch)
    assert found["reason"]["name"] == "INTERRUPTED"
    assert 0 < found["counts"]["tasksDone"] < found["counts"]["tasks"] == 100_000
    assert listener.progress[0]["of"] == 100_000


def test_differences_are_those_of_compare():
    explored = Explored(EXAMPLES / "quickstart.yaml", RANDOM, "reference")
    variants = [{GPUS: 10}, {}, {GPUS: 10, "policy": "flat"}]
    listener = Listener()
    found = differences(explored, {"variants": variants, "replications": 3}, listener.watch)
    study = {
        "scenario": explored.base.data,
        "axes": {"variant": {"cases": {"now": {GPUS: 10}, "a": {GPUS: 20}, "b": {GPUS: 10, "policy": "flat"}}}},
        "replications": 3,
    }
    compared = vs.compare(vs.sweep(vs.study(study), workers=1), "variant", "jobs.latency_us.mean", baseline="now")
    for row, pair in zip(found["rows"]["jobs.latency_us.mean"], compared.pairs, strict=True):
        expected = (pair.difference.low, pair.difference.estimate, pair.difference.high)
        np.testing.assert_allclose([row["low"], row["estimate"], row["high"]], expected, rtol=1e-9)
        assert row["isSignificant"] == pair.significant
    assert listener.progress[-1] == {"done": 9, "of": 9, "what": "runs"}
    assert found["hasSameJobs"] is False
    assert "deadlines.missed_pct" not in found["rows"]


def test_a_curve_is_reported_point_by_point_and_ends_when_it_is_stopped():
    explored = Explored(EXAMPLES / "quickstart.yaml", RANDOM, "reference")
    asked = {"changes": {}, "key": GPUS, "values": [10, 20, 40], "replications": 3}
    listener = Listener()
    assert curve(explored, asked, listener.watch) == {"n": 3}
    assert [reported["value"] for reported in listener.progress] == [10, 20, 40]
    low, mean, high = listener.progress[0]["point"]["jobs.latency_us.mean"]
    runs = [
        vs.simulate(read_scenario(explored.path, [*RANDOM, f"{GPUS}=10", f"seed={seed}"]), engine="reference")
        for seed in range(3)
    ]
    assert mean == pytest.approx(np.mean([run.summary["jobs"]["latency_us"]["mean"] for run in runs]))
    assert low < mean < high
    listener = Listener(stops_after=1)
    with pytest.raises(Stopped):
        curve(explored, asked, listener.watch)
    assert len(listener.progress) == 1


@pytest.mark.parametrize(
    ("asked", "where"),
    [
        ({"replications": 0, "values": [1]}, "replications"),
        ({"replications": 2, "values": []}, "values"),
        ({"replications": 2, "values": [1] * 101}, "values"),
        ({"replications": 1, "values": ["x"]}, "GPU"),
    ],
)
def test_what_cannot_be_a_curve_is_an_input_error(quickstart, asked, where):
    with pytest.raises(InputError, match=where):
        curve(quickstart, {"changes": {}, "key": GPUS, **asked}, Listener().watch)


def test_variants_that_stall_are_marked():
    """Under pref, tasks that want an FPGA, of which there is none, never start."""
    center = "datacenter={racks: [{units: {CPU_INTEL: 2, GPU: 1}}]}"
    small = (*SMALL, center, "workload.options.preferred=FPGA", "policy=flat")
    explored = Explored(EXAMPLES / "quickstart.yaml", small, "reference")
    found = differences(explored, {"variants": [{}, {"policy": "pref"}], "replications": 2}, Listener().watch)
    assert [row["isStalled"] for row in found["rows"]["utilization.overall"]] == [True]
    same = differences(explored, {"variants": [{}, {}], "replications": 2}, Listener().watch)
    assert not any(row["isStalled"] for rows in same["rows"].values() for row in rows)
    listener = Listener()
    asked = {"changes": {}, "key": "policy", "values": ["flat", "pref"], "replications": 2}
    curve(explored, asked, listener.watch)
    assert [reported["stalled"] for reported in listener.progress] == [0, 2]
