"""Breaking a run down loses nothing: the parts make up the run's own numbers, in memory and from a stored result."""

from datetime import datetime

import numpy as np
import pytest

import vinesim as vs
from tests.unit.formats.test_outcome import MADE
from vinesim.formats.results.tables import open_result
from vinesim.metrics.by import OWN, TABLES, axes, by
from vinesim.metrics.fairness import fairness, jain

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")


def _whole(parts, name, weight):
    """Return the mean over all jobs of what has a mean in each part."""
    known = parts[weight] > 0
    return (parts[name] * parts[weight])[known].sum() / parts[weight].sum()


@pytest.mark.parametrize("axis", OWN)
@pytest.mark.parametrize("name", [name for name in MADE if name not in ("requests", "periods")])
def test_the_parts_make_up_the_run(name, axis):
    result = vs.simulate(MADE[name](), engine="reference")
    summary, parts = result.summary, result.by(axis)
    assert parts["jobs"].sum() == summary["jobs"]["count"]
    assert parts["finished"].sum() == summary["jobs"]["finished"]
    if summary["jobs"]["finished"] == summary["jobs"]["count"]:
        assert _whole(parts, "wait_us", "jobs") == pytest.approx(summary["jobs"]["wait_us"]["mean"])
        assert _whole(parts, "slowdown", "jobs") == pytest.approx(summary["jobs"]["bounded_slowdown"]["mean"])
        assert _whole(parts, "latency_us", "jobs") == pytest.approx(summary["jobs"]["latency_us"]["mean"])
    assert parts["utilization"].sum() == pytest.approx(summary["utilization"]["overall"])
    if "energy" in summary:
        assert parts["energy_j"].sum() == pytest.approx(summary["energy"]["by_state"]["active"])
    assert parts["work"].sum() == pytest.approx(1.0)


def _labelled():
    """The plain case with users and attributes; one job is nobody's."""
    case = MADE["plain"]()
    more = {
        "user": np.array([0, 1, 0, 2], np.int32),
        "user_names": ("ann", "bob", ""),
        "attributes": {"account": np.array([0, 0, -1, 0], np.int32)},
        "attribute_words": {"account": ("x",)},
    }
    columns = {name: getattr(case.workload, name) for name in vars(case.workload)}
    return vs.changed(case, workload=vs.Workload(**{**columns, **more}))


def test_what_the_workload_says_of_jobs_is_an_axis(tmp_path):
    result = vs.simulate(_labelled(), engine="reference")
    found = dict(zip(result.by("user")["user"], result.by("user")["jobs"].tolist(), strict=True))
    assert found == {"ann": 2, "bob": 1, "-": 1}
    assert dict(zip(result.by("account")["account"], result.by("account")["jobs"].tolist(), strict=True)) == {
        "x": 3,
        "-": 1,
    }
    result.save(tmp_path / "out")
    with open_result(tmp_path / "out") as stored:
        tables = {name: stored.table(name) for name in TABLES}
        assert axes(tables) == ["user", "account", *OWN]
        for axis in axes(tables):
            for name, column in by(tables, stored.summary, axis).items():
                np.testing.assert_array_equal(column, result.by(axis)[name])


def test_the_size_of_a_job_counts_all_units_of_its_lead_and_no_companion(tmp_path):
    (tmp_path / "w.csv").write_text("arrival_s,time_s,cores,gpus\n0,1,4,4\n0,1,8,\n0,1,2,1\n0,1,16,3\n")
    (tmp_path / "s.yaml").write_text(
        "extends: none\nprocessor_types: [{name: CPU}, {name: A100}]\nnetwork: none\n"
        "datacenter: {racks: [{nodes: [{units: {CPU: {cores: 64}, A100: 8}}]}]}\n"
        "workload: {file: w.csv}\npolicy: fcfs\n"
    )
    found = vs.simulate(vs.read_scenario(tmp_path / "s.yaml"), engine="reference").by("size")
    assert dict(zip(found["size"], found["jobs"].tolist(), strict=True)) == {"1": 1, "3-4": 2, "5-8": 1}


def test_an_axis_that_a_run_lacks_is_refused():
    with pytest.raises(vs.InputError, match="one of task_type, size, hour"):
        vs.simulate(MADE["plain"](), engine="reference").by("user")


def test_hours_are_those_of_the_clock():
    case = MADE["plain"]()
    dated = vs.changed(case, start_date=datetime(2024, 5, 6, 13, 59, 59, 999_998))
    assert vs.simulate(case, engine="reference").by("hour")["hour"].tolist() == ["00"]
    assert vs.simulate(dated, engine="reference").by("hour")["hour"].tolist() == ["13", "14"]


def test_the_fairness_of_users_is_a_number_of_a_run():
    result = vs.simulate(_labelled(), engine="reference")
    parts = result.by("user")
    means = parts["slowdown"][parts["user"] != "-"]
    found = result.summary["fairness"]
    assert found == {"users": 2, "jain": pytest.approx(jain(means)), "worst_slowdown": pytest.approx(means.max())}
    assert "fairness" not in vs.simulate(MADE["plain"](), engine="reference").summary


def test_jain_is_the_index_of_the_source():
    assert jain(np.array([1.0, 1.0, 1.0])) == 1.0
    assert jain(np.array([1.0, 0.0, 0.0, 0.0])) == 0.25
    assert jain(np.array([[1.0, 3.0], [0.0, 0.0]])).tolist() == [0.8, 1.0]


def test_users_without_a_finished_job_do_not_count():
    slowdown, user = np.array([2.0, np.nan, 4.0, 6.0]), np.array([0, 1, 0, -1])
    assert fairness(slowdown, user) == {"users": 1, "jain": 1.0, "worst_slowdown": 3.0}
    many = fairness(np.array([slowdown, [1.0, 2.0, 1.0, 9.0]]), user)
    assert many["users"].tolist() == [1, 2]
    assert many["worst_slowdown"].tolist() == [3.0, 2.0]
