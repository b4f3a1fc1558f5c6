"""What jobs waited for, by hand, and added up over a run."""

import json
from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.cli.conftest import vinesim  # noqa: F401
from tests.strategies import Limits, seeded_scenario
from tests.unit.metrics.test_waiting import recorded, small_and_large
from vinesim.formats.results.explain_reader import read_record
from vinesim.formats.results.tables import open_result
from vinesim.metrics import causes
from vinesim.metrics.causes import causes_of, parts
from vinesim.metrics.gang_shortages import Gang, GangRoom, room_spans
from vinesim.metrics.waiting import slowest_jobs, waiting_of, waits_of
from vinesim.policies.replacing import changed

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")


def parts_of(folder, scenario, job):
    recorded(folder, scenario)
    return [(part.begin_us, part.end_us, part.state) for part in parts(waiting_of(folder, job))]


def two_types(task_types, arrivals, operations, **more):
    """One unit A for tasks of type 0 and one unit B for tasks of type 1, one operation per us."""
    n = len(arrivals)
    center = vs.Datacenter.of([("A", 0, 0), ("B", 0, 1)], (vs.ProcessorType("A"), vs.ProcessorType("B")))
    work = vs.Workload(
        np.array(task_types),
        np.arange(n + 1),
        np.array(arrivals),
        np.array(operations),
        *np.zeros((3, n)),
        np.full(n, -1),
        task_types=(vs.TaskType("S"), vs.TaskType("T")),
    )
    return vs.Scenario(center, work, affinity=np.eye(2), **more)


def test_busy_with_older_jobs(tmp_path):
    scenario = two_types([0, 0, 0], [0.0, 1.0, 2.0], [10.0, 5.0, 1.0], policy="high")
    assert parts_of(tmp_path / "run", scenario, 2) == [(2.0, 15.0, "busy")]


def test_overtaken_by_a_younger_job(tmp_path):
    """The longest job goes first: job 2 takes the unit at 10, where job 1 would have been next."""
    scenario = small_and_large([0.0, 1.0, 2.0], [12.0, 12.0, 12.0], [10.0, 2.0, 7.0], policy="rb_ljf")
    assert parts_of(tmp_path / "run", scenario, 1) == [(1.0, 10.0, "busy"), (10.0, 17.0, "overtaken")]


def test_room_behind_the_head_of_the_queue_of_a_policy_that_starts_in_order(tmp_path):
    scenario = two_types([0, 0, 1], [0.0, 1.0, 2.0], [10.0, 5.0, 1.0], policy="high", options={"in_order": True})
    assert parts_of(tmp_path / "run", scenario, 2) == [(2.0, 10.0, "behind")]


def test_down(tmp_path):
    outage = vs.Outage(rack=0, shelf=0, down_us=1.0, up_us=8.0)
    scenario = two_types([0, 0], [0.0, 2.0], [1.0, 1.0], policy="high", outages=(outage,))
    assert parts_of(tmp_path / "run", scenario, 1) == [(2.0, 8.0, "down")]


def test_nothing_can_run_it(tmp_path):
    scenario = small_and_large([0.0, 1.0], [12.0, 20.0], [10.0, 1.0], policy="rb_fifo")
    assert parts_of(tmp_path / "run", changed(scenario, horizon_us=50.0), 1)[0][2] == "impossible"


PIECES = """
extends: none
processor_types: [{name: NODE, capacity: 8}]
task_types: [TASK]
affinity: {absolute: {NODE: {TASK: 1}}}
network: none
datacenter: {racks: [{units: {NODE: 2}}]}
workload: {file: pieces.csv}
policy: high
"""


def test_scattered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pieces.yaml").write_text(PIECES)
    (tmp_path / "pieces.csv").write_text("arrival_s,demand,time_s\n0,5,60\n0,5,90\n10,4,30\n")
    found = parts_of(tmp_path / "run", vs.read_scenario("pieces.yaml"), 2)
    assert found == [(10e6, 60e6, "scattered")]


def test_all_waiting_has_a_cause_and_adds_up_over_time(tmp_path, monkeypatch):
    compared = 0
    for seed in range(8):
        scenario = seeded_scenario(seed, limits=Limits(units=4, horizons=False))
        folder = tmp_path / str(seed)
        result = recorded(folder, changed(scenario, policy="high", options={}))
        edges = np.linspace(0.0, result.summary["makespan_us"], 8)
        with open_result(folder) as tables:
            found = causes_of(tables, read_record(tables), edges)
        jobs = waits_of(folder, range(scenario.workload.n_jobs))
        waited = sum(job.waited_us for job in jobs)
        if found is None:
            assert waited == 0
            continue
        compared += 1
        assert found.waited_us == pytest.approx(waited)
        assert sum(found.share.values()) == pytest.approx(1.0)
        assert sum(sum(shares.values()) for shares in found.by_type.values()) == pytest.approx(1.0)
        whole = sum(float(jobs @ np.diff(edges)) for jobs in found.over_time.values())
        assert whole == pytest.approx(waited)
        if "busy" in found.share:
            spent = sum(p.end_us - p.begin_us for job in jobs for p in parts(job) if p.state == "busy")
            assert found.share["busy"] == pytest.approx(spent / waited)
    assert compared > 4


def test_a_sample_stands_for_all_waiting(tmp_path, monkeypatch):
    """Half of the waiting is behind the head of the queue; a sample of 10 of 99 jobs finds about as much."""
    n = 100
    scenario = two_types(
        np.arange(n) % 2, np.zeros(n), np.where(np.arange(n) % 2, 1.0, 3.0), policy="high", options={"in_order": True}
    )
    recorded(tmp_path / "run", scenario)
    shares = []
    for most in (1000, 10):
        monkeypatch.setattr(causes, "MAX_EXPLAINED", most)
        with open_result(tmp_path / "run") as tables:
            found = causes_of(tables, read_record(tables), np.array([0.0, 1.0]))
        shares.append(found.share)
        assert found.n_explained == min(most, found.n_waited)
    assert shares[0].keys() == shares[1].keys()
    for cause, share in shares[0].items():
        assert shares[1][cause] == pytest.approx(share, abs=0.15)


def test_one_long_wait_stands_for_as_much_as_many_short_ones(tmp_path, monkeypatch):
    """One job waits 105 us for unit A, 14 jobs together as long for unit B: half of a sample of 10 is the one."""
    types, operations = [0, 0, *[1] * 15], [105.0, 1.0, *[1.0] * 15]
    recorded(tmp_path / "run", two_types(types, np.zeros(17), operations, policy="high"))
    monkeypatch.setattr(causes, "MAX_EXPLAINED", 10)
    edges = np.array([0.0, 200.0])
    with open_result(tmp_path / "run") as tables:
        found = causes_of(tables, read_record(tables), edges)
    assert (found.n_waited, found.waited_us) == (15, 210.0)
    assert {name: sum(shares.values()) for name, shares in found.by_type.items()} == {
        "S": pytest.approx(0.5),
        "T": pytest.approx(0.5),
    }
    assert sum(float(jobs[0]) for jobs in found.over_time.values()) * 200.0 == pytest.approx(210.0)


def test_the_slowest_jobs(tmp_path, vinesim):  # noqa: F811
    scenario = two_types([0, 0, 1, 0], [0.0, 1.0, 2.0, 3.0], [10.0, 5.0, 30.0, 1.0], policy="high")
    result = recorded(tmp_path / "run", scenario)
    assert result.jobs["latency_us"].tolist() == [10.0, 14.0, 30.0, 13.0]
    assert slowest_jobs(tmp_path / "run", 3) == [2, 1, 3]
    done = vinesim("explain", tmp_path / "run", "--slowest", 2)
    assert done.out.index("Job 2 did not wait") < done.out.index("Job 1 waited 9.00 us")
    assert "Job 3" not in done.out
    document = json.loads(vinesim("explain", tmp_path / "run", "--slowest", 2, "--json").out)
    assert [job["job"] for job in document["jobs"]] == [2, 1]
    assert document["jobs"][1]["spans"] == [[1.0, 10.0, "busy"]]
    for words in ((), ("--job", 1, "--slowest", 2)):
        wrong = vinesim("explain", tmp_path / "run", *words)
        assert (wrong.code, "--job N, --job-id N or --slowest N" in wrong.err) == (2, True)


def test_a_job_that_never_finished_is_among_the_slowest(tmp_path):
    scenario = two_types([0, 0, 1], [0.0, 1.0, 2.0], [10.0, 50.0, 5.0], policy="high", horizon_us=20.0)
    recorded(tmp_path / "run", scenario)
    assert slowest_jobs(tmp_path / "run", 2) == [1, 0]


def test_a_gang_waits_for_room_for_all_of_it(tmp_path):
    scenario = two_types([0, 0, 0], [0.0, 1.0, 2.0], [10.0, 5.0, 1.0], policy="high")
    recorded(tmp_path / "run", scenario)
    gang = Gang(within="node", n_tasks=2, per_node=2, is_alike=True)
    found = replace(waiting_of(tmp_path / "run", 2), spans=[], gang=gang)
    assert parts(found) == [(2.0, 15.0, "impossible")]
    room = [GangRoom(2.0, 9.0, 1, "A", [(0, 0, 1)]), GangRoom(9.0, 15.0, 2, "A", [(0, 0, 2)])]
    assert parts(replace(found, spans=room_spans(room, gang))) == [(2.0, 9.0, "gang"), (9.0, 15.0, "idle")]
