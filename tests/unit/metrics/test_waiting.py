"""Why a task waited: by hand, and against looking at every unit at many instants."""

from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.cli.conftest import vinesim  # noqa: F401
from tests.strategies import Limits, seeded_scenario
from vinesim.formats.explain_record import write_record
from vinesim.formats.result_folder import write_result
from vinesim.metrics.waiting import waiting_of

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
EXCLUSIVE = Limits(units=5, demands="none", sharing=False, horizons=False)
SLOTS = Limits(units=5, slowdown=False, horizons=False)


def recorded(folder, scenario, engine="reference"):
    result = vs.simulate(scenario, engine=engine)
    write_result(folder, result, lambda draft: write_record(draft, scenario, result))
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
    result = recorded(tmp_path / "run", scenario, engine="compiled")
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
    demand = np.zeros(work.n_tasks) if work.demand is None else work.demand
    found = set()
    for unit, room in enumerate(capacity):
        on = (tasks["unit"] == unit) & (tasks["init_us"] < time_us) & (tasks["finish_us"] > time_us)
        on[followers] = False
        on[task] = False
        load = np.where(demand[on] > 0, demand[on], room).sum()
        if load + (demand[task] or room) <= room * (1 + 1e-9):
            found.add(unit)
    return found


@pytest.mark.parametrize("limits", [EXCLUSIVE, SLOTS], ids=["exclusive", "slots"])
def test_openings_are_what_one_sees_at_every_instant(tmp_path, limits):
    compared = waited = 0
    for seed in range(25):
        scenario = replace(seeded_scenario(seed, limits=limits), policy="high", options={})
        scenario = replace(scenario, workload=replace(scenario.workload, requests=None))
        result = recorded(tmp_path / str(seed), scenario)
        tasks = result.tasks
        times = np.unique(np.concatenate([tasks[k] for k in ("arrival_us", "init_us", "finish_us")]))
        for job in range(0, scenario.workload.n_jobs, 3):
            found = waiting_of(tmp_path / str(seed), job)
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
                told = {
                    opening.unit
                    for opening in found.openings
                    if opening.free_us < middle and not (opening.taken_us is not None and opening.taken_us < middle)
                }
                assert told == seen
                if limits is EXCLUSIVE:
                    assert not seen, "HIGH leaves no unit idle on which the task could start"
                compared += 1
    assert waited > 20
    assert compared > 200


def test_a_policy_that_leaves_units_idle_is_seen(tmp_path):
    """PREF waits for the preferred type while others are free."""
    scenario = small_and_large([0.0, 0.0], [0.0, 0.0], [10.0, 10.0], policy="pref")
    work = replace(scenario.workload, preferred_type=np.array([1, 1]), requests=None)
    recorded(tmp_path / "run", replace(scenario, workload=work, options={"mode": "only"}), engine="compiled")
    found = waiting_of(tmp_path / "run", 1)
    small = found.types[0]
    assert (small.free_at_arrival, small.free_unit_us, small.taken_by_older) == (1, 10.0, 0)


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
    import json

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
