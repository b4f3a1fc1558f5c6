"""Why a task waited: by hand, and against looking at every unit at many instants."""

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.cli.conftest import vinesim  # noqa: F401
from tests.demands import demands_of, taken
from tests.policies.kinds.repack import Repack
from tests.strategies import Limits, seeded_scenario
from vinesim.formats.results.explain_record import write_record
from vinesim.formats.results.folder import write_result
from vinesim.formats.results.parquet import read_table
from vinesim.metrics.waiting import waiting_of, waits_of
from vinesim.policies.registry import resolve

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
EXCLUSIVE = Limits(units=5, demands="none", sharing=False, horizons=False)
SLOTS = Limits(units=5, slowdown=False, horizons=False)


def recorded(folder, scenario, engine="reference"):
    result = vs.simulate(scenario, engine=engine)
    policy = resolve(scenario.policy, scenario.options)
    write_result(folder, result, lambda draft: write_record(draft, scenario, policy=policy))
    return result


def small_and_large(arrivals, cores, operations, policy="high"):
    """One SMALL unit of 6 cores, one LARGE of 12, equally fast, and a SLOW one that runs nothing."""
    types = (
        vs.ProcessorType("SMALL", attributes={"cores": 6.0}),
        vs.ProcessorType("LARGE", attributes={"cores": 12.0}),
        vs.ProcessorType("OTHER"),
    )
    center = vs.Datacenter.of([("SMALL", 0, 0), ("LARGE", 0, 1), ("OTHER", 0, 2)], types)
    n = len(arrivals)
    work = vs.Workload(
        np.zeros(n),
        np.arange(n + 1),
        np.array(arrivals),
        np.array(operations),
        *np.zeros((3, n)),
        np.full(n, -1),
        requests={"cores": np.array(cores)},
        task_types=(vs.TaskType("T"),),
    )
    return vs.Scenario(center, work, policy=policy, affinity=np.array([[1.0], [1.0], [0.0]]))


def test_by_hand(tmp_path):
    """LARGE is taken by jobs 0 and 2 before job 3 gets it; SMALL is free, and too small."""
    arrivals, cores, operations = [0.0, 1.0, 2.0, 3.0], [12.0, 6.0, 10.0, 8.0], [10.0, 4.0, 7.0, 1.0]
    scenario = small_and_large(arrivals, cores, operations, policy="rb_fifo")
    result = recorded(tmp_path / "run", scenario)
    assert result.tasks["init_us"].tolist() == [0.0, 1.0, 10.0, 17.0]
    found = waiting_of(tmp_path / "run", 3)
    small, large, other = found.types
    assert (found.arrival_us, found.start_us, found.waited_us) == (3.0, 17.0, 14.0)
    assert (found.unit, found.unit_type, found.requests) == (1, "LARGE", {"cores": 8.0})
    assert (small.can_run, small.lacks, small.free_at_arrival, small.first_free_us) == (True, ["cores 8 > 6"], 0, 5.0)
    assert small.free_unit_us == 12.0
    assert (large.lacks, large.free_at_arrival, large.taken_by_older, large.taken_by_younger) == ([], 0, 1, 0)
    assert large.free_unit_us == 0.0
    assert (other.can_run, other.units) == (False, 1)
    (first, last) = found.openings
    assert (first.unit, first.free_us, first.freed_by, first.taken_us, first.taken_by, first.by_older) == (
        *(1, 10.0, 0),
        *(10.0, 2, True),
    )
    assert (last.free_us, last.freed_by, last.taken_us) == (17.0, 2, None)
    assert waiting_of(tmp_path / "run", 0).waited_us == 0.0


def looks_free(scenario, tasks, followers, task, time_us):
    """Units with room for the task at a time strictly between events, from the table of tasks alone."""
    center, work = scenario.datacenter, scenario.workload
    order = np.lexsort((center.shelf, center.rack))
    capacity = np.array([p.capacity for p in center.processor_types])[center.unit_type[order]]
    demand = demands_of(work)
    found = set()
    for unit, room in enumerate(capacity):
        on = (tasks["unit"] == unit) & (tasks["init_us"] < time_us) & (tasks["finish_us"] > time_us)
        on[followers] = False
        on[task] = False
        load = sum(taken(demand[t], room) for t in np.flatnonzero(on))
        if load < room * (1 - 1e-9) and load + taken(demand[task], room) <= room * (1 + 1e-9):
            found.add(unit)
    return found


@pytest.mark.parametrize("limits", [EXCLUSIVE, SLOTS], ids=["exclusive", "slots"])
def test_openings_are_what_one_sees_at_every_instant(tmp_path, limits):
    compared = waited = 0
    for seed in range(12):
        scenario = replace(seeded_scenario(seed, limits=limits), policy="high", options={})
        scenario = replace(scenario, workload=replace(scenario.workload, requests=None))
        result = recorded(tmp_path / str(seed), scenario)
        tasks = result.tasks
        times = np.unique(np.concatenate([tasks[k] for k in ("arrival_us", "init_us", "finish_us")]))
        jobs = range(0, scenario.workload.n_jobs, 3)
        for job, found in zip(jobs, waits_of(tmp_path / str(seed), jobs), strict=True):
            last = tasks["init_us"][tasks["job"] == job].max()
            if np.isnan(last):
                assert found.start_us is None
                continue
            assert found.start_us == tasks["init_us"][found.task] == last
            waited += found.waited_us > 0
            usable = {kind.name for kind in found.types if kind.can_run}
            names = [p.name for p in scenario.datacenter.processor_types]
            for middle in ((times[1:] + times[:-1]) / 2)[np.diff(times) > 1e-9]:
                if not found.arrival_us < middle < found.start_us:
                    continue
                seen = looks_free(scenario, tasks, result.outcome.followers, found.task, middle)
                seen = {unit for unit in seen if names[result.units["unit_type"][unit]] in usable}
                reported = {opening.unit for opening in found.openings if opening.free_us < middle < opening.end_us}
                assert reported == seen
                if limits is EXCLUSIVE:
                    assert not seen, "HIGH leaves no unit idle on which the task could start"
                compared += 1
    assert waited > 10
    assert compared > 100


def test_a_policy_that_leaves_units_idle_is_seen(tmp_path):
    """PREF waits for the preferred type while others are free."""
    scenario = small_and_large([0.0, 0.0], [0.0, 0.0], [10.0, 10.0], policy="pref")
    work = replace(scenario.workload, preferred_type=np.array([1, 1]), requests=None)
    recorded(tmp_path / "run", replace(scenario, workload=work, options={"mode": "only"}))
    found = waiting_of(tmp_path / "run", 1)
    small = found.types[0]
    assert (small.free_at_arrival, small.free_unit_us, small.taken_by_older) == (1, 10.0, 0)


def nodes(demand, operations, arrivals=None, capacity=(8.0, 8.0, 2.0), policy="high", **more):
    """Tasks on units of these capacities, each of its own type and equally fast."""
    types = tuple(vs.ProcessorType(f"N{i}", capacity=size) for i, size in enumerate(capacity))
    n = len(demand)
    work = vs.Workload(
        np.zeros(n), np.arange(n + 1), arrivals or np.zeros(n), operations, *np.zeros((3, n)), np.full(n, -1),
        demand=demand, task_types=(vs.TaskType("T"),),
    )  # fmt: skip
    center = vs.Datacenter(np.arange(len(types)), np.zeros(len(types)), np.arange(len(types)), types)
    return vs.Scenario(center, work, policy, affinity=np.ones((len(types), 1)), **more)


def test_room_in_pieces_is_the_cause_and_small_units_are_no_choice(tmp_path):
    """5 of 8 on one, 6 of 8 on the other: 5 are left in all, 3 at most on one, and 2 more that are too small."""
    recorded(tmp_path / "run", nodes([5.0, 6.0, 4.0], [60.0, 90.0, 30.0], [0.0, 0.0, 10.0]))
    found = waiting_of(tmp_path / "run", 2)
    assert (found.start_us, found.unit, found.demand) == (60.0, 0, 4.0)
    assert [(kind.can_run, kind.has_affinity) for kind in found.types] == [(True, True), (True, True), (False, True)]
    lack = found.fragmentation
    assert (lack.time_us, lack.at_us, lack.room, lack.units, lack.largest, lack.needed) == (
        50.0,
        10.0,
        5.0,
        2,
        3.0,
        4.0,
    )
    assert waiting_of(tmp_path / "run", 1).fragmentation is None


def test_a_wait_for_room_that_is_not_there_at_all_is_no_fragmentation(tmp_path):
    recorded(tmp_path / "run", nodes([8.0, 6.0, 4.0], [60.0, 90.0, 30.0], [0.0, 0.0, 10.0]))
    assert waiting_of(tmp_path / "run", 2).fragmentation is None


def test_units_that_are_down_are_not_free(tmp_path):
    """The task runs on unit 0 until that goes down at 4; unit 1 is down until 20, and then has room for it."""
    outages = [vs.Outage(0, 0, 4.0), vs.Outage(0, 1, 0.0, 20.0)]
    case = nodes([vs.WHOLE_UNIT], [10.0], capacity=(8.0, 8.0), outages=outages)
    result = recorded(tmp_path / "run", case)
    assert result.tasks["init_us"].tolist() == [20.0]
    found = waiting_of(tmp_path / "run", 0)
    assert [(run.unit, run.begin_us, run.end_us) for run in found.lost_runs] == [(0, 0.0, 4.0)]
    assert [(kind.down_unit_us, kind.free_unit_us, kind.free_at_arrival) for kind in found.types] == [
        (16.0, 0.0, 0),
        (16.0, 0.0, 0),
    ]
    first, last = found.openings
    assert (first.unit, first.free_us, first.taken_us, first.taken_by, first.by_older) == (0, 0.0, 0.0, 0, None)
    assert (last.unit, last.free_us, last.freed_by, last.taken_us) == (1, 20.0, None, None)


def test_a_unit_that_is_free_while_the_task_runs_elsewhere_has_no_room_when_it_waits_again(tmp_path):
    """Both units are down until 1 and from 3.5 to 4.5; the task runs on unit 0 in between, and unit 1 is free then."""
    outages = [vs.Outage(0, shelf, *times) for shelf in (0, 1) for times in ((0.0, 1.0), (3.5, 4.5))]
    result = recorded(tmp_path / "run", nodes([vs.WHOLE_UNIT], [10.0], capacity=(8.0, 8.0), outages=outages))
    assert result.tasks["init_us"].tolist() == [4.5]
    found = waiting_of(tmp_path / "run", 0)
    assert [(run.begin_us, run.end_us) for run in found.lost_runs if run.end_us > run.begin_us] == [(1.0, 3.5)]
    of_other = [(one.free_us, one.end_us, one.taken_us) for one in found.openings if one.unit == 1]
    assert of_other == [(1.0, 1.0, None), (4.5, 4.5, None)]


def test_a_moved_task_is_reported_where_it_started(tmp_path):
    """0.7 on server 0; 0.6 and 0.35 on server 1, which move to server 0 at 5: a job that comes then starts on 1."""
    demand, operations = [0.7, 0.6, 0.35, 1.0], [4.0, 12.0, 30.0, 3.0]
    case = nodes(demand, operations, [0.0, 0.0, 0.0, 1.0], capacity=(1.0, 1.0), policy=Repack, period_us=5.0)
    result = recorded(tmp_path / "run", case)
    assert result.tasks["unit"].tolist() == [0, 0, 0, 1]
    moved = waiting_of(tmp_path / "run", 1)
    assert (moved.unit, moved.moves, moved.start_us) == (1, 1, 0.0)
    last = waiting_of(tmp_path / "run", 3)
    assert (last.unit, last.start_us, last.moves) == (1, 5.0, 0)
    assert [(o.unit, o.free_us, o.freed_by) for o in last.openings][-1] == (1, 5.0, 2)


def test_the_command(tmp_path, vinesim, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(
        "datacenter: {units: [{type: GPU, rack: 0, shelf: 0}]}\n"
        "workload: {generator: 500jobs, options: {n_jobs: 3}}\narrivals: {iat: 0}\n"
    )
    assert vinesim("run", "s.yaml", "--out", "plain").code == 0
    missing = vinesim("explain", "plain", "--job", 1)
    assert (missing.code, "--explain" in missing.err) == (2, True)
    assert "--out" in vinesim("run", "s.yaml", "--explain").err
    assert vinesim("run", "s.yaml", "--out", "run", "--explain").code == 0
    done = vinesim("explain", "run", "--job", 2, "--rows", 2)
    assert done.code == 0
    assert "Job 2 waited" in done.out
    assert "taken by older jobs" in done.out

    found = json.loads(vinesim("explain", "run", "--job", 2, "--json").out)
    assert found["n_tasks"] == 5
    assert len(found["openings"]) == found["types"][0]["taken_by_older"] + 1
    unknown = vinesim("explain", "run", "--job", 3)
    assert (unknown.code, "0 to 2" in unknown.err) == (2, True)
    (tmp_path / "run" / "explain.json").write_text("{")
    broken = vinesim("explain", "run", "--job", 2)
    assert (broken.code, "Traceback" in broken.err) == (2, False)
    assert vinesim("run", "s.yaml", "--out", "run").code == 0
    assert not (tmp_path / "run" / "explain.json").exists()


def test_jobs_are_found_by_their_own_numbers(tmp_path, vinesim, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs.csv").write_text("job_id,arrival_s,time_s\n7001,0,5\n7002,1,5\n7001,2,5\n")
    (tmp_path / "s.yaml").write_text("datacenter: {racks: [{units: {GPU: 1}}]}\nworkload: {file: jobs.csv}\n")
    assert vinesim("run", "s.yaml", "--out", "run", "--explain").code == 0
    done = vinesim("explain", "run", "--job-id", 7002)
    assert (done.code, done.out.startswith("Job 7002 (--job 1) waited 4.00 s")) == (0, True)
    twice = vinesim("explain", "run", "--job-id", 7001)
    assert re.findall(r"Job 7001 \(--job (\d)\)", twice.out) == ["0", "2"]
    found = json.loads(vinesim("explain", "run", "--job-id", 7001, "--json").out)["jobs"]
    assert [(one["job"], one["job_id"]) for one in found] == [(0, 7001), (2, 7001)]
    assert read_table(tmp_path / "run" / "jobs.parquet")["job_id"].tolist() == [7001, 7002, 7001]
    assert vinesim("report", "run").code == 0
    assert "job 7001 (--job 2)" in (tmp_path / "run" / "report.html").read_text()
    unknown = vinesim("explain", "run", "--job-id", 3)
    assert (unknown.code, "the job_id of a job" in unknown.err) == (2, True)
    both = vinesim("explain", "run", "--job-id", 7001, "--job", 1)
    assert (both.code, "2 of them" in both.err) == (2, True)


def test_numbers_that_count_from_0_are_no_column(tmp_path, vinesim, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs.csv").write_text("job_id,arrival_s,time_s\n0,0,5\n1,1,5\n")
    (tmp_path / "s.yaml").write_text("datacenter: {racks: [{units: {GPU: 1}}]}\nworkload: {file: jobs.csv}\n")
    assert vinesim("run", "s.yaml", "--out", "run", "--explain").code == 0
    assert "job_id" not in read_table(tmp_path / "run" / "jobs.parquet")
    assert vinesim("explain", "run", "--job", 1).out.startswith("Job 1 waited")
    none = vinesim("explain", "run", "--job-id", 1)
    assert (none.code, "Give --job N" in none.err) == (2, True)


def test_the_record_of_another_run_is_refused(tmp_path):
    """Results of versions without a list of checksums have nothing else that says so."""
    recorded(tmp_path / "run", small_and_large([0.0, 1.0, 2.0], [6.0] * 3, [10.0] * 3))
    recorded(tmp_path / "other", small_and_large([0.0], [6.0], [10.0]))
    for name in ("explain.parquet", "explain.json"):
        shutil.copy(tmp_path / "other" / name, tmp_path / "run")
    (tmp_path / "run/SHA256SUMS").unlink()
    with pytest.warns(vs.InputWarning), pytest.raises(vs.InputError, match="a row for each of the run's 3 tasks"):
        waiting_of(tmp_path / "run", 2)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda found: found.update(task_types=["X"]), "explain.json: task_types"),
        (lambda found: found.update(processor_types=found["processor_types"][:1]), "explain.json: processor_types"),
        (lambda found: found.update(affinity=[[1.0]]), "explain.json: affinity"),
        (lambda found: found.update(partitions=[]), "explain.parquet: partition"),
        (lambda found: found.update(users=[]), "explain.parquet: user"),
        (lambda found: found.update(lead_sets=[]), "explain.parquet: lead"),
    ],
)
def test_codes_of_the_record_are_checked_against_what_they_stand_for(tmp_path, change, where):
    from tests.unit.engine.test_partitions import scenario

    jobs = [(0, 10, 3, "ada", "p"), (0, 4, 1, "bob", "p")]
    case = scenario("high", jobs, [vs.Partition("p", [[0, 0]])])
    work = replace(case.workload, lead_types=[0, 0], lead_sets=(("GPU",),))
    recorded(tmp_path / "run", replace(case, workload=work))
    file = tmp_path / "run/explain.json"
    found = json.loads(file.read_text())
    change(found)
    file.write_text(json.dumps(found))
    (tmp_path / "run/SHA256SUMS").unlink()
    with pytest.warns(vs.InputWarning), pytest.raises(vs.InputError) as wrong:
        waiting_of(tmp_path / "run", 1)
    assert any(where in problem.where for problem in wrong.value.problems)
